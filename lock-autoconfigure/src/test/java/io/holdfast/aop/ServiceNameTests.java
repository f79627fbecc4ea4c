package io.holdfast.aop;

import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;

import io.holdfast.LockService;
import io.holdfast.annotation.DistributedLock;
import io.holdfast.annotation.Semaphore;
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
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Lazy;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/**
 * Selection of the service for a lock or permits.
 */
class ServiceNameTests {

	private static final Map<String, Object> PROPERTIES = Map.of("service", "other");

	@Test
	@DisplayName("A call uses the named bean, and the primary bean without a name")
	void named() {
		try (LockedContext context = LockedContext.with(PROPERTIES, Shop.class, Others.class)) {
			Shop shop = context.bean(Shop.class);
			shop.unnamed();
			shop.named();
			shop.byProperty();
			shop.unnamed();
			assertThat(context.locks().keys()).containsExactly("unnamed", "unnamed");
			assertThat(context.bean("other", RecordingLocks.class).keys()).containsExactly("named", "property");
			shop.limited();
			assertThat(context.semaphores().keys()).isEmpty();
			assertThat(context.bean("more", RecordingSemaphores.class).keys()).containsExactly("limited");
		}
	}

	@Test
	@DisplayName("A lazy bean, or the product of a factory bean, is created at the first call that needs it")
	void lookedUpLate() {
		try (LockedContext context = LockedContext.of(LazyShop.class, LazyOthers.class)) {
			LazyShop shop = context.bean(LazyShop.class);
			LazyOthers others = context.bean(LazyOthers.class);
			assertThat(others.created).hasValue(0);
			shop.lazy();
			shop.lazy();
			assertThat(others.created).hasValue(1);
			shop.produced();
			assertThat(others.created).hasValue(2);
			assertThat(context.bean("product", RecordingLocks.class).keys()).containsExactly("produced");
		}
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
		assertThatExceptionOfType(InvalidDeclarationException.class)
			.isThrownBy(() -> LockedContext.of(type, Others.class, Text.class))
			.withMessageStartingWith("@")
			.withMessageContaining(" on " + type.getName() + ".sell(String, int): " + value + " " + problem)
			.satisfies((ex) -> assertThat(ex.getCure()).contains(cure, "leave it out"));
	}

	@Test
	@DisplayName("A lazy bean is checked at its creation")
	void lazyBean() {
		try (LockedContext context = LockedContext.of(LazyMissing.class)) {
			assertThatExceptionOfType(BeanCreationException.class).isThrownBy(() -> context.bean(LazyMissing.class))
				.withCauseInstanceOf(InvalidDeclarationException.class)
				.withMessageContaining("service = \"none\" is the name of no bean");
		}
	}

	@Test
	@DisplayName("A bean with the wrong type is refused at the first call, if its type is unknown before its creation")
	void hiddenType() {
		try (LockedContext context = LockedContext.of(Hiding.class, HiddenShop.class)) {
			HiddenShop shop = context.bean(HiddenShop.class);
			shop.good();
			assertThatExceptionOfType(BeanNotOfRequiredTypeException.class).isThrownBy(shop::bad)
				.withMessageContainingAll("hiddenText", "LockService", "java.lang.String");
		}
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

	@Configuration(proxyBeanMethods = false)
	static class Others {

		@Bean
		RecordingLocks other() {
			return new RecordingLocks();
		}

		@Bean
		RecordingSemaphores more(RecordingLocks recorder) {
			return new RecordingSemaphores(recorder);
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class Text {

		@Bean
		String text() {
			return "text";
		}

	}

	static class LazyShop {

		@DistributedLock(name = "lazy", service = "other")
		void lazy() {
		}

		@DistributedLock(name = "produced", service = "product")
		void produced() {
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class LazyOthers {

		final AtomicInteger created = new AtomicInteger();

		@Bean
		@Lazy
		LockService other() {
			this.created.incrementAndGet();
			return new RecordingLocks();
		}

		@Bean
		@Lazy
		FactoryBean<?> product() {
			return new FactoryBean<LockService>() {

				@Override
				public LockService getObject() {
					LazyOthers.this.created.incrementAndGet();
					return new RecordingLocks();
				}

				@Override
				public Class<?> getObjectType() {
					return LockService.class;
				}

			};
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

	@Configuration(proxyBeanMethods = false)
	static class Hiding {

		@Bean
		@Lazy
		Object hiddenText() {
			return "text";
		}

		@Bean
		@Lazy
		Object hiddenLocks() {
			return new RecordingLocks();
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
