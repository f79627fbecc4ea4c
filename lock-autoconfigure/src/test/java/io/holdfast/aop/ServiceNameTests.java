package io.holdfast.aop;

import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;

import io.holdfast.LockService;
import io.holdfast.annotation.DistributedLock;
import io.holdfast.annotation.Semaphore;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

import org.springframework.beans.factory.BeanCreationException;
import org.springframework.beans.factory.BeanNotOfRequiredTypeException;
import org.springframework.beans.factory.FactoryBean;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.context.annotation.Lazy;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/**
 * Selection of the service for a lock or permits.
 */
class ServiceNameTests extends LockedTestCase {

	@BeforeEach
	void registerOther() {
		register("other", RecordingLocks.class, RecordingLocks::new);
	}

	@Test
	@DisplayName("A call uses the named bean, and the primary bean without a name")
	void named() {
		register("more", RecordingSemaphores.class, () -> new RecordingSemaphores(new RecordingLocks()));
		Shop shop = start(Map.of("service", "other"), Shop.class);
		shop.unnamed();
		shop.named();
		shop.byProperty();
		shop.unnamed();
		assertThat(this.locks.keys()).containsExactly("unnamed", "unnamed");
		assertThat(bean("other", RecordingLocks.class).keys()).containsExactly("named", "property");
		shop.limited();
		assertThat(this.semaphores.keys()).isEmpty();
		assertThat(bean("more", RecordingSemaphores.class).keys()).containsExactly("limited");
	}

	@Test
	@DisplayName("A lazy bean, or the product of a factory bean, is created at the first call that needs it")
	void lookedUpLate() {
		AtomicInteger created = new AtomicInteger();
		register("lazy", LockService.class, () -> {
			created.incrementAndGet();
			return new RecordingLocks();
		}, (definition) -> definition.setLazyInit(true));
		register("product", RecordingLocksFactory.class, () -> new RecordingLocksFactory(created),
				(definition) -> definition.setLazyInit(true));
		LazyShop shop = start(LazyShop.class);
		assertThat(created).hasValue(0);
		shop.lazy();
		shop.lazy();
		assertThat(created).hasValue(1);
		shop.produced();
		assertThat(created).hasValue(2);
		assertThat(bean("product", RecordingLocks.class).keys()).containsExactly("produced");
	}

	@Test
	@DisplayName("The name may mean a bean of a parent context, or a bean registered during the start")
	void ofParentOrRegisteredLate() {
		try (AnnotationConfigApplicationContext parent = new AnnotationConfigApplicationContext();
				AnnotationConfigApplicationContext child = new AnnotationConfigApplicationContext()) {
			parent.registerBean("other", RecordingLocks.class);
			parent.refresh();
			child.setParent(parent);
			child.registerBean(LeaseBeanPostProcessor.class, () -> new LeaseBeanPostProcessor(() -> null, () -> null));
			child.register(Registering.class, Named.class, NamedLate.class);
			child.refresh();
			child.getBean(Named.class).call();
			child.getBean(NamedLate.class).call();
			assertThat(parent.getBean(RecordingLocks.class).keys()).containsExactly("named");
			assertThat(child.getBean("late", RecordingLocks.class).keys()).containsExactly("late");
		}
	}

	static Stream<Arguments> invalid() {
		return Stream.of(Arguments.of(locked("none"), "service = \"none\"", "is the name of no bean", "a LockService"),
				Arguments.of(locked("text"), "service = \"text\"",
						"is the name of a bean of type java.lang.String, which is no LockService", "a LockService"),
				Arguments.of(DeclaredType.with(Semaphore.class, "limit", 1, "service", "other"), "service = \"other\"",
						"is the name of a bean of type " + RecordingLocks.class.getName()
								+ ", which is no SemaphoreService",
						"a SemaphoreService"));
	}

	private static Class<?> locked(String service) {
		return DeclaredType.with(DistributedLock.class, "service", service);
	}

	@ParameterizedTest
	@MethodSource("invalid")
	@DisplayName("A name without a matching bean stops the start of the application")
	void invalidDeclarations(Class<?> type, String value, String problem, String cure) {
		register("text", String.class, () -> "text");
		assertThatExceptionOfType(InvalidDeclarationException.class).isThrownBy(() -> start(type))
			.withMessageStartingWith("@")
			.withMessageContaining(" on " + type.getName() + ".sell(String, int): " + value + " " + problem)
			.satisfies((ex) -> assertThat(ex.getCure()).contains(cure, "leave it out"));
	}

	@Test
	@DisplayName("A lazy bean is checked at its creation")
	void lazyBean() {
		startByInterface(LazyMissing.class);
		assertThatExceptionOfType(BeanCreationException.class).isThrownBy(() -> bean(LazyMissing.class))
			.withCauseInstanceOf(InvalidDeclarationException.class)
			.withMessageContaining("service = \"none\" is the name of no bean");
	}

	@Test
	@DisplayName("A bean with the wrong type is refused at the first call, if its type is unknown before its creation")
	void hiddenType() {
		register("hiddenText", Object.class, () -> "text", (definition) -> definition.setLazyInit(true));
		register("hiddenLocks", Object.class, RecordingLocks::new, (definition) -> definition.setLazyInit(true));
		HiddenShop shop = start(HiddenShop.class);
		shop.good();
		assertThatExceptionOfType(BeanNotOfRequiredTypeException.class).isThrownBy(shop::bad)
			.withMessageContainingAll("hiddenText", "LockService", "java.lang.String");
	}

	static class Shop {

		@DistributedLock(name = "unnamed")
		void unnamed() {
		}

		@DistributedLock(name = "named", service = "other")
		void named() {
		}

		@DistributedLock(name = "property", service = "${service}")
		void byProperty() {
		}

		@Semaphore(name = "limited", limit = 1, service = "more")
		void limited() {
		}

	}

	static class LazyShop {

		@DistributedLock(name = "lazy", service = "lazy")
		void lazy() {
		}

		@DistributedLock(name = "produced", service = "product")
		void produced() {
		}

	}

	private record RecordingLocksFactory(AtomicInteger created) implements FactoryBean<LockService> {

		@Override
		public LockService getObject() {
			this.created.incrementAndGet();
			return new RecordingLocks();
		}

		@Override
		public Class<?> getObjectType() {
			return LockService.class;
		}

	}

	/** Registers a bean late in the start. */
	static class Registering {

		Registering(NamedLate first, ConfigurableListableBeanFactory beans) {
			beans.registerSingleton("late", new RecordingLocks());
		}

	}

	static class Named {

		@DistributedLock(name = "named", service = "other")
		void call() {
		}

	}

	static class NamedLate {

		@DistributedLock(name = "late", service = "late")
		void call() {
		}

	}

	@Lazy
	static class LazyMissing {

		@DistributedLock(service = "none")
		void call() {
		}

	}

	static class HiddenShop {

		@DistributedLock(service = "hiddenLocks")
		void good() {
		}

		@DistributedLock(service = "hiddenText")
		void bad() {
		}

	}

}
