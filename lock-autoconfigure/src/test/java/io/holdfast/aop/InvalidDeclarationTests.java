package io.holdfast.aop;

import java.lang.invoke.MethodHandles;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Future;
import java.util.stream.Stream;

import io.holdfast.annotation.DistributedLock;
import io.holdfast.testing.TestTransactions;
import net.bytebuddy.ByteBuddy;
import net.bytebuddy.description.annotation.AnnotationDescription;
import net.bytebuddy.description.modifier.MethodManifestation;
import net.bytebuddy.description.modifier.ModifierContributor;
import net.bytebuddy.description.modifier.Ownership;
import net.bytebuddy.description.modifier.Visibility;
import net.bytebuddy.dynamic.loading.ClassLoadingStrategy;
import net.bytebuddy.implementation.StubMethod;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import reactor.core.publisher.ConnectableFlux;
import reactor.core.publisher.Flux;

import org.springframework.aop.framework.ProxyFactory;
import org.springframework.beans.factory.BeanCreationException;
import org.springframework.beans.factory.config.BeanPostProcessor;
import org.springframework.core.Ordered;

import static io.holdfast.aop.DeclaredType.refused;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/**
 * Declarations that stop the start of an application.
 */
class InvalidDeclarationTests {

	static Stream<Arguments> invalid() {
		return Stream.of(
				refused(DistributedLock.class, "key", "'stock:' + ", "is no valid expression",
						"Write for example #sku"),
				refused(DistributedLock.class, "key", "#{#sku}", "#{...}", "leave #{ and } out"),
				refused(DistributedLock.class, "key", "'a' + #skuu.length", "#skuu", "parameters are #sku, #count"),
				refused(DistributedLock.class, "key", "'a' + (#sku = 'b')", "changes something: #sku='b'",
						"only reads"),
				refused(DistributedLock.class, "condition", "#count++ > 1", "changes something: #count++", "only reads",
						"key", "#sku"),
				refused(DistributedLock.class, "condition", "#count >", "is no valid expression",
						"Write for example #sku != null"),
				refused(DistributedLock.class, "condition", "!(count > 1)", "has an unknown name: count", "quotes"),
				refused(DistributedLock.class, "condition", "#{#count > 0}", "has #{...} around an expression",
						"leave #{ and } out"),
				Arguments.of(NoParameter.class, "key = \"#sku\"", "#sku", "has no parameters"),
				Arguments.of(ParameterRoot.class, "key = \"#root\"", "#root, which is the call itself",
						"parameters are #p0 for root, #count"),
				refused(DistributedLock.class, "key", "'a' + #this", "#this, which is the call itself", "#sku, #count"),
				refused(DistributedLock.class, "key", "#root.sku", "unknown name: sku", "#sku, #count"),
				refused(DistributedLock.class, "key", "stock", "unknown name: stock", "put text into quotes"),
				refused(DistributedLock.class, "key", "'a' + #sku.bytes.size + #sku.code",
						"unknown name: code, which is no property of java.lang.String", "existing public property"),
				refused(DistributedLock.class, "condition", "#count.value > 1",
						"unknown name: value, which is no property of int", "existing public property", "key", "#sku"),
				refused(DistributedLock.class, "name", " ", "is blank", "leave the attribute out"),
				Arguments.of(DeclaredType.with(DistributedLock.class, "name", "a\u0007"), "name = ",
						"control character", "Write another name"),
				refused(DistributedLock.class, "name", "#sku", "has a '#'", "Write key = \"#sku\""),
				refused(DistributedLock.class, "name", "stock:#{#sku}", "all calls would share one key",
						"beside or instead of the name"),
				Arguments.of(Placeholder.class, "name = \"${no.such.property}\"", "cannot be resolved",
						"Set the property"),
				refused(DistributedLock.class, "key", "'${no.such.property}'", "cannot be resolved", "default"),
				modified(Visibility.PRIVATE, "is private", "public method"),
				modified(Ownership.STATIC, "is static", "public method"),
				modified(MethodManifestation.FINAL, "is final", "non-final"),
				Arguments.of(FinalMethodOfType.class, "sell(String) (declared by", "is final", "non-final"),
				Arguments.of(FinalClass.class, "sell(String)", "cannot be proxied", "class non-final"),
				Arguments.of(FinalRecord.class, "sell(String)", "cannot be proxied",
						"implement an interface and set spring.aop.proxy-target-class=false"),
				Arguments.of(returning(Future.class), "sell(String)", "returns java.util.concurrent.Future",
						"Return the result"),
				Arguments.of(returning(OwnFuture.class), "sell(String)", "$OwnFuture", "a CompletableFuture"),
				Arguments.of(returning(ConnectableFlux.class), "sell(String)", "reactor.core.publisher.ConnectableFlux",
						"Mono or Flux"),
				Arguments.of(ReturnsGeneric.class, "run()", "returns java.util.concurrent.Future",
						"Return the result"));
	}

	private static Class<?> returning(Class<?> result) {
		return DeclaredType.selling(result, DistributedLock.class).make();
	}

	private static Arguments modified(ModifierContributor.ForMethod modifier, String problem, String cure) {
		return Arguments.of(DeclaredType.selling(modifier, void.class, DistributedLock.class).make(), "sell(String)",
				problem, cure);
	}

	@ParameterizedTest
	@MethodSource("invalid")
	@DisplayName("The start fails, and the message names place, value, problem and cure")
	void invalidDeclarations(Class<?> type, String value, String problem, String cure) {
		InvalidDeclarationException failure = LockedContext.failure(Map.of(), type);
		assertThat(failure).hasMessageStartingWith("@DistributedLock on " + type.getName() + ".")
			.hasMessageContaining(value)
			.hasMessageContaining(problem)
			.hasMessageContaining(cure);
		assertThat(failure.getProblem()).contains(value, problem);
		assertThat(failure.getCure()).contains(cure);
	}

	@Test
	@DisplayName("Without names of parameters, the message names -parameters")
	void namesNotCompiledIn() {
		Class<?> type = new ByteBuddy().subclass(Object.class)
			.name(getClass().getName() + "$WithoutNames")
			.defineMethod("sell", void.class, Visibility.PUBLIC)
			.withParameters(String.class)
			.intercept(StubMethod.INSTANCE)
			.annotateMethod(
					AnnotationDescription.Builder.ofType(DistributedLock.class).define("key", "'a' + #sku").build())
			.make()
			.load(getClass().getClassLoader(), ClassLoadingStrategy.UsingLookup.of(MethodHandles.lookup()))
			.getLoaded();
		assertThat(LockedContext.failure(Map.of(), type)).hasMessageContaining("#sku")
			.hasMessageContaining("compile with -parameters (in Kotlin: -java-parameters, or add kotlin-reflect)");
	}

	@Test
	void strictPlaceholders() {
		assertThatExceptionOfType(BeanCreationException.class)
			.isThrownBy(() -> LockedContext.strict(Map.of(), Placeholder.class))
			.withCauseInstanceOf(InvalidDeclarationException.class)
			.withMessageContaining("cannot be resolved");
		LockedContext.strict(Map.of("no.such.property", "a"), Placeholder.class).close();
	}

	@Test
	@DisplayName("A '#' from a placeholder is refused in a name, and evaluated in an expression without parameters")
	void hashInName() {
		assertThat(LockedContext.failure(Map.of("no.such.property", "stock:#sku"), Placeholder.class))
			.hasMessageContaining("has a '#'");
		try (LockedContext context = LockedContext.withClassProxies(Map.of("shop", "eu"), BeanExpression.class)) {
			context.bean(BeanExpression.class).sell("a");
			assertThat(context.locks().keys()).containsExactly("stock-eu:a");
		}
	}

	@Test
	@DisplayName("The message shows the value of a placeholder beside it")
	void valueOfPlaceholder() {
		assertThatExceptionOfType(BeanCreationException.class)
			.isThrownBy(() -> LockedContext.with(Map.of("wait", "long"),
					DeclaredType.with(DistributedLock.class, "waitTime", "${wait}")))
			.withMessageContaining("waitTime = \"${wait}\" (long) is not a duration");
		assertThatExceptionOfType(BeanCreationException.class)
			.isThrownBy(() -> LockedContext.with(Map.of("wait", ""),
					DeclaredType.with(DistributedLock.class, "name", "${wait}")))
			.withMessageContaining("name = \"${wait}\" is blank");
	}

	@Test
	@DisplayName("Final methods are accepted behind a proxy of the interface")
	void finalMethodBehindInterface() {
		try (LockedContext context = LockedContext.of(FinalImplementation.class)) {
			context.bean(Runnable.class).run();
			assertThat(context.locks().keys()).containsExactly("final");
		}
	}

	@Test
	@DisplayName("A package-private method of another package is refused, as the proxy cannot override it")
	void packagePrivateInOtherPackage() throws IllegalAccessException {
		Class<?> neighbour = TestTransactions.class;
		Class<?> type = new ByteBuddy().subclass(PackagePrivate.class)
			.name(neighbour.getPackageName() + ".InOtherPackage")
			.make()
			.load(neighbour.getClassLoader(),
					ClassLoadingStrategy.UsingLookup
						.of(MethodHandles.privateLookupIn(neighbour, MethodHandles.lookup())))
			.getLoaded();
		assertThat(LockedContext.failure(Map.of(), type)).hasMessageContaining("InOtherPackage.sell(String)")
			.hasMessageContaining("is package-private, and the bean's proxy is in another package than "
					+ PackagePrivate.class.getName())
			.hasMessageContaining("Make the method public or protected");
		LockedContext.withClassProxies(PackagePrivate.class).close();
	}

	@Test
	@DisplayName("Final methods that a type only inherits are accepted")
	void inheritedFinalMethod() {
		try (LockedContext context = LockedContext.of(InheritsFinal.class)) {
			InheritsFinal bean = context.bean(InheritsFinal.class);
			bean.sell("a");
			assertThat(bean.provided()).isEqualTo("provided");
			assertThat(context.locks().keys()).containsExactly("type");
		}
	}

	@Test
	@DisplayName("A proxy that takes no more advice and hides its class does not hide the annotation")
	void frozenProxy() {
		assertThat(LockedContext.failure(Map.of(), Freezer.class, FinalImplementation.class))
			.hasMessageContaining("frozen or opaque");
	}

	@Test
	@DisplayName("Ahead-of-time processing sees the proxy's class, without the properties of the run")
	void aheadOfTime() {
		LeaseBeanPostProcessor processor = new LeaseBeanPostProcessor(() -> null, () -> null);
		assertThat(processor.determineBeanType(Placeholder.class, "bean")).isNotEqualTo(Placeholder.class)
			.isAssignableTo(Placeholder.class);
		assertThat(processor.determineBeanType(ProvidesFinal.class, "bean")).isEqualTo(ProvidesFinal.class);
	}

	static class NoParameter {

		@DistributedLock(key = "#sku")
		void sell() {
		}

	}

	static class ParameterRoot {

		@DistributedLock(key = "#root")
		void index(String root, int count) {
		}

	}

	static class BeanExpression {

		@DistributedLock(name = "stock-#{environment['shop']}", key = "#sku")
		void sell(String sku) {
		}

	}

	static class Placeholder {

		@DistributedLock(name = "${no.such.property}")
		void sell(String sku) {
		}

	}

	@DistributedLock(name = "type")
	static class FinalMethodOfType {

		public final void sell(String sku) {
		}

	}

	record FinalRecord() {

		@DistributedLock
		void sell(String sku) {
		}

	}

	static final class FinalClass {

		@DistributedLock
		void sell(String sku) {
		}

	}

	static class OwnFuture extends CompletableFuture<String> {

	}

	abstract static class Generic<T> {

		@DistributedLock
		T run() {
			throw new UnsupportedOperationException();
		}

	}

	static class ReturnsGeneric extends Generic<Future<String>> {

	}

	public static class PackagePrivate {

		public PackagePrivate() {
		}

		@DistributedLock(key = "#p0")
		void sell(String sku) {
		}

	}

	static class FinalImplementation implements Runnable {

		@Override
		@DistributedLock(name = "final")
		public final void run() {
		}

	}

	static class ProvidesFinal {

		public final String provided() {
			return "provided";
		}

	}

	@DistributedLock(name = "type")
	static class InheritsFinal extends ProvidesFinal {

		public void sell(String sku) {
		}

	}

	/**
	 * Wraps beans into proxies that take no more advice, before the post-processor of the
	 * locks.
	 */
	static class Freezer implements BeanPostProcessor, Ordered {

		@Override
		public Object postProcessAfterInitialization(Object bean, String beanName) {
			if (!(bean instanceof FinalImplementation)) {
				return bean;
			}
			ProxyFactory factory = new ProxyFactory(bean);
			factory.setFrozen(true);
			return factory.getProxy();
		}

		@Override
		public int getOrder() {
			return 0;
		}

	}

}
