package io.holdfast.aop;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import java.util.Map;

import io.holdfast.annotation.DistributedLock;
import jakarta.annotation.PostConstruct;
import org.aopalliance.intercept.MethodInterceptor;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import org.springframework.aop.framework.ProxyFactory;
import org.springframework.beans.factory.InitializingBean;
import org.springframework.context.annotation.Bean;
import org.springframework.context.event.EventListener;
import org.springframework.messaging.handler.annotation.MessageMapping;
import org.springframework.scheduling.annotation.Scheduled;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Annotated types without a guarded method, or whose called methods are not guarded.
 */
class TypeWithoutEffectTests {

	@ParameterizedTest
	@ValueSource(classes = { NotPublic.class, OnlyCallbacks.class, OnlyBeans.class, Template.class,
			TemplateByInterface.class })
	@DisplayName("An annotated type without a method to guard is refused")
	void nothingToGuard(Class<?> type) {
		assertThat(LockedContext.failure(Map.of(), type)).hasMessageContaining("@DistributedLock on " + type.getName())
			.hasMessageContaining(
					"has no effect, because it applies to public methods that the bean's proxy can advise")
			.hasMessageContaining("Make the method that does the work public, or annotate that method");
	}

	@ParameterizedTest
	@ValueSource(classes = { PackagePrivateListener.class, ProtectedJob.class, ComposedListener.class,
			InheritedListener.class })
	@DisplayName("A listener or job that is not public is refused in an annotated type")
	void listener(Class<?> type) {
		assertThat(LockedContext.failure(Map.of(), type)).hasMessageContaining(" on " + type.getName())
			.hasMessageMatching(".* has no effect on (on|tick)\\(.*\\), which is called by @(EventListener|Scheduled|"
					+ "Incoming), because the method is not public\\. .*")
			.hasMessageContaining("Make the method public, or annotate the methods instead of the type");
	}

	@Test
	@DisplayName("Annotated types with guarded methods are accepted")
	void guarded() {
		try (LockedContext context = LockedContext.withClassProxies(TemplateWithWork.class, AnnotatedListener.class,
				EachAnnotated.class, Inheriting.class, OfUnannotated.class)) {
			context.bean(TemplateWithWork.class).sell();
			context.bean(AnnotatedListener.class).on("event");
			context.bean(EachAnnotated.class).work();
			context.bean(Inheriting.class).sell();
			context.bean(OfUnannotated.class).sell();
			assertThat(context.locks().keys()).containsExactly("template", "method", "each", "inheriting",
					"unannotated");
		}
	}

	@Test
	@DisplayName("The JDK's proxy guards final methods of an interface as well")
	void finalMethodOfInterface() {
		try (LockedContext context = LockedContext.of(FinalByInterface.class)) {
			context.bean(Work.class).run();
			assertThat(context.locks().keys()).containsExactly("final");
		}
	}

	@Test
	@DisplayName("Methods of an annotated interface are guarded, even if the target does not implement the interface")
	void declared() {
		try (LockedContext context = LockedContext.withClassProxies(OfDeclaring.class, OfPart.class, OfUnnamed.class)) {
			context.bean("repository", DeclaringOrders.class).save("a");
			context.bean("remote", DeclaringOrders.class).save("a");
			context.bean("repository", DeclaringOrders.class).find("a");
			context.bean(WithPart.class).find("a");
			context.bean(WithPart.class).save("a");
			context.bean(UnnamedOrders.class).find("a");
			assertThat(context.locks().keys()).containsExactly("declaring", "declaring", "declaring", "part",
					UnnamedOrders.class.getName() + ".find");
		}
	}

	@ParameterizedTest
	@ValueSource(classes = { OfInheritingRepository.class, OfInheritingClient.class })
	@DisplayName("An annotated interface that only a proxy implements is refused if it inherits methods")
	void inherited(Class<?> type) {
		assertThat(LockedContext.failure(Map.of(), type))
			.hasMessageContaining("@DistributedLock on " + InheritingOrders.class.getName())
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

	private static <T> T repository(Class<T> type) {
		ProxyFactory factory = new ProxyFactory();
		factory.setTarget(new SimpleCrud());
		factory.setInterfaces(type);
		factory.addAdvice((MethodInterceptor) (invocation) -> "done");
		return type.cast(factory.getProxy());
	}

	private static <T> T remote(Class<T> type) {
		return ProxyFactory.getProxy(type, (MethodInterceptor) (invocation) -> "done");
	}

	static class OfUnnamed {

		@Bean
		UnnamedOrders unnamed() {
			return TypeWithoutEffectTests.repository(UnnamedOrders.class);
		}

	}

	static class OfInheritingRepository {

		@Bean
		InheritingOrders orders() {
			return TypeWithoutEffectTests.repository(InheritingOrders.class);
		}

	}

	static class OfInheritingClient {

		@Bean
		InheritingOrders orders() {
			return TypeWithoutEffectTests.remote(InheritingOrders.class);
		}

	}

	static class OfDeclaring {

		@Bean
		DeclaringOrders repository() {
			return TypeWithoutEffectTests.repository(DeclaringOrders.class);
		}

		@Bean
		DeclaringOrders remote() {
			return TypeWithoutEffectTests.remote(DeclaringOrders.class);
		}

	}

	static class OfPart {

		@Bean
		WithPart orders() {
			return repository(WithPart.class);
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

	@DistributedLock
	static class PackagePrivateListener {

		@EventListener
		void on(String event) {
		}

		public void work() {
		}

	}

	@DistributedLock
	static class ProtectedJob {

		@Scheduled(fixedDelay = 1)
		@Scheduled(fixedDelay = 2)
		protected void tick() {
		}

		public void work() {
		}

	}

	/** As the listeners of Kafka, Rabbit and JMS. */
	@MessageMapping
	@Target(ElementType.METHOD)
	@Retention(RetentionPolicy.RUNTIME)
	@interface Incoming {

	}

	@DistributedLock
	static class ComposedListener {

		@Incoming
		void on(String event) {
		}

		public void work() {
		}

	}

	static class InheritedListener extends PackagePrivateListener {

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

	interface Work {

		void run();

	}

	@DistributedLock(name = "final")
	static class FinalByInterface implements Work {

		@Override
		public final void run() {
		}

	}

}
