package io.holdfast.aop;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import java.util.List;
import java.util.function.Supplier;

import io.holdfast.annotation.DistributedLock;
import jakarta.annotation.PostConstruct;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

import org.springframework.beans.factory.InitializingBean;
import org.springframework.context.annotation.Bean;
import org.springframework.context.event.EventListener;
import org.springframework.integration.annotation.InboundChannelAdapter;
import org.springframework.integration.annotation.Transformer;
import org.springframework.messaging.handler.annotation.MessageMapping;
import org.springframework.scheduling.annotation.Scheduled;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Annotated types without a guarded method, or whose called methods are not guarded.
 */
class TypeWithoutEffectTests extends LockedTestCase {

	@ParameterizedTest
	@ValueSource(classes = { NotPublic.class, OnlyCallbacks.class, OnlyBeans.class, Template.class,
			TemplateByInterface.class })
	@DisplayName("An annotated type without a method to guard is refused")
	void nothingToGuard(Class<?> type) {
		assertThat(refusal(type)).hasMessageContaining("@DistributedLock on " + type.getName())
			.hasMessageContaining(
					"has no effect, because it applies to public methods that the bean's proxy can advise")
			.hasMessageContaining("Make the method that does the work public, or annotate that method");
	}

	@ParameterizedTest
	@ValueSource(classes = { PackagePrivateListener.class, ProtectedJob.class, ComposedListener.class,
			InheritedListener.class, ProtectedSource.class, PackagePrivateStep.class })
	@DisplayName("A listener or job that is not public is refused in an annotated type")
	void listener(Class<?> type) {
		assertThat(refusal(type)).hasMessageContaining(" on " + type.getName())
			.hasMessageMatching(".* has no effect on (on|tick)\\(.*\\), which is called by @(EventListener|Scheduled|"
					+ "Incoming|InboundChannelAdapter|Transformer), because the method is not public\\. .*")
			.hasMessageContaining("Make the method public, or annotate the methods instead of the type");
	}

	@Test
	@DisplayName("Annotated types with guarded methods are accepted")
	void guarded() {
		start(TemplateWithWork.class, AnnotatedListener.class, EachAnnotated.class, Inheriting.class,
				OfUnannotated.class)
			.sell();
		bean(AnnotatedListener.class).on("event");
		bean(EachAnnotated.class).work();
		bean(Inheriting.class).sell();
		bean(OfUnannotated.class).sell();
		assertThat(this.locks.keys()).containsExactly("template", "method", "each", "inheriting", "unannotated");
	}

	@Test
	@DisplayName("Methods of an annotated interface are guarded, even if the target does not implement the interface")
	void declared() {
		register("repository", DeclaringOrders.class, () -> repository(DeclaringOrders.class, new SimpleCrud()));
		register("remote", DeclaringOrders.class, () -> client(DeclaringOrders.class));
		register("part", WithPart.class, () -> repository(WithPart.class, new SimpleCrud()));
		register("unnamed", UnnamedOrders.class, () -> repository(UnnamedOrders.class, new SimpleCrud()));
		start();
		bean("repository", DeclaringOrders.class).save("a");
		bean("remote", DeclaringOrders.class).save("a");
		bean("repository", DeclaringOrders.class).find("a");
		bean(WithPart.class).find("a");
		bean(WithPart.class).save("a");
		bean(UnnamedOrders.class).find("a");
		assertThat(this.locks.keys()).containsExactly("declaring", "declaring", "declaring", "part",
				UnnamedOrders.class.getName() + ".find");
	}

	static List<Supplier<InheritingOrders>> proxies() {
		return List.of(() -> repository(InheritingOrders.class, new SimpleCrud()),
				() -> client(InheritingOrders.class));
	}

	@ParameterizedTest
	@MethodSource("proxies")
	@DisplayName("An annotated interface that only a proxy implements is refused if it inherits methods")
	void inherited(Supplier<InheritingOrders> proxy) {
		register("orders", InheritingOrders.class, proxy);
		assertThat(refusal()).hasMessageContaining("@DistributedLock on " + InheritingOrders.class.getName())
			.hasMessageContaining("has no effect on save(Object), which is inherited from " + Crud.class.getName())
			.hasMessageContaining("Declare the method in InheritingOrders, too");
	}

	interface Crud<T> {

		T save(T value);

	}

	@DistributedLock(name = "declaring")
	interface DeclaringOrders extends Crud<String> {

		@Override
		String save(String value);

		String find(String id);

	}

	interface UnnamedOrders extends Crud<String> {

		@DistributedLock
		String find(String id);

	}

	@DistributedLock(name = "inheriting")
	interface InheritingOrders extends Crud<String> {

		String find(String id);

	}

	@DistributedLock(name = "part")
	interface Part {

		String find(String id);

	}

	interface WithPart extends Crud<String>, Part {

	}

	/** As the target of repositories. */
	static class SimpleCrud implements Crud<String> {

		@Override
		public String save(String value) {
			return value;
		}

	}

	abstract static class Base {

		public final void run() {
			work();
		}

		abstract void work();

	}

	@DistributedLock
	static class Template extends Base {

		@Override
		void work() {
		}

	}

	@DistributedLock
	interface Locked {

	}

	static class TemplateByInterface extends Base implements Locked {

		@Override
		void work() {
		}

	}

	@DistributedLock(name = "template")
	static class TemplateWithWork extends Base {

		@Override
		void work() {
		}

		public void sell() {
		}

	}

	@DistributedLock
	static class NotPublic {

		void work() {
		}

		private void more() {
		}

		public static void create() {
		}

	}

	@DistributedLock
	static class OnlyCallbacks implements InitializingBean {

		@PostConstruct
		public void init() {
		}

		@Override
		public void afterPropertiesSet() {
		}

	}

	@DistributedLock
	static class OnlyBeans {

		@Bean
		public String name() {
			return "name";
		}

	}

	static class Working {

		public void work() {
		}

	}

	@DistributedLock
	static class PackagePrivateListener extends Working {

		@EventListener
		void on(String event) {
		}

	}

	@DistributedLock
	static class ProtectedJob extends Working {

		@Scheduled(fixedDelay = 1)
		@Scheduled(fixedDelay = 2)
		protected void tick() {
		}

	}

	/** As the listeners of Kafka, Rabbit and JMS. */
	@MessageMapping
	@Target(ElementType.METHOD)
	@Retention(RetentionPolicy.RUNTIME)
	@interface Incoming {

	}

	@DistributedLock
	static class ComposedListener extends Working {

		@Incoming
		void on(String event) {
		}

	}

	static class InheritedListener extends PackagePrivateListener {

	}

	@DistributedLock
	static class ProtectedSource extends Working {

		@InboundChannelAdapter("stock")
		protected String tick() {
			return "";
		}

	}

	@DistributedLock
	static class PackagePrivateStep extends Working {

		@Transformer(inputChannel = "stock")
		String on(String message) {
			return message;
		}

	}

	@DistributedLock(name = "type")
	static class AnnotatedListener {

		@EventListener
		@DistributedLock(name = "method")
		void on(String event) {
		}

	}

	@DistributedLock(name = "unused")
	static class EachAnnotated {

		@DistributedLock(name = "each")
		void work() {
		}

	}

	static class Unannotated {

		public void sell() {
		}

		@EventListener
		void on(Integer event) {
		}

	}

	@DistributedLock(name = "inheriting")
	static class Inheriting extends Unannotated {

	}

	@DistributedLock(name = "unannotated")
	static class OfUnannotated extends Unannotated {

		void more() {
		}

	}

}
