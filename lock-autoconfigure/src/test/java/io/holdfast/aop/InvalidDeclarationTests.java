package io.holdfast.aop;

import java.lang.invoke.MethodHandles;
import java.lang.reflect.Proxy;
import java.lang.reflect.Type;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.IntSupplier;
import java.util.stream.Stream;

import io.holdfast.LockNotAcquiredException;
import io.holdfast.PermitNotAcquiredException;
import io.holdfast.annotation.DistributedLock;
import io.holdfast.annotation.OnStoreFailure;
import io.holdfast.annotation.OnTimeout;
import io.holdfast.annotation.Semaphore;
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

import org.springframework.aop.framework.ProxyFactory;
import org.springframework.beans.factory.config.BeanPostProcessor;
import org.springframework.beans.factory.support.RootBeanDefinition;
import org.springframework.context.support.PropertySourcesPlaceholderConfigurer;
import org.springframework.core.Ordered;
import org.springframework.core.ResolvableType;

import static io.holdfast.aop.DeclaredType.refused;
import static org.assertj.core.api.Assertions.assertThat;

/**
 * Declarations that stop the start of an application.
 */
class InvalidDeclarationTests extends LockedTestCase {

	private static final Map<String, Object> PROPERTIES = Map.of("long", "2h", "short", "5s", "text", "ages", "brief",
			"99ms", "many", "many", "blank", " ", "zero", "0");

	static Stream<Arguments> textsAndMethods() {
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
				refused(DistributedLock.class, "name", "${blank}", "is blank", "leave the attribute out"),
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

	static Stream<Arguments> times() {
		return Stream.of(
				refused(DistributedLock.class, "waitTime", "ten seconds", "is not a duration", "0 to try once"),
				refused(DistributedLock.class, "waitTime", "10", "has no unit", "10s"),
				refused(DistributedLock.class, "waitTime", "-2s", "is negative", "-1 to wait without limit"),
				refused(DistributedLock.class, "leaseTime", "99ms", "is out of bounds", "default"),
				refused(DistributedLock.class, "leaseTime", "${brief}", "(99ms) is out of bounds", "default"),
				refused(DistributedLock.class, "maxHold", "${text}", "(ages) is not a duration", "10s"),
				refused(DistributedLock.class, "maxHold", "99ms", "is out of bounds", "at least 100ms"),
				refused(DistributedLock.class, "minHold", "366d", "is out of bounds", "up to 365d"),
				refused(DistributedLock.class, "lossMargin", "200d", "is out of bounds", "a third of the lease time"),
				refused(DistributedLock.class, "lossMargin", "${short}",
						"(5s) is more than a third of leaseTime = \"14s\"", "Lower lossMargin, or raise leaseTime",
						"leaseTime", "14s"),
				refused(DistributedLock.class, "lossMargin", "5s", "is more than a third of maxHold = \"14s\"",
						"Lower lossMargin, or raise maxHold", "maxHold", "14s"),
				refused(DistributedLock.class, "maxHold", "5m", "has no effect, because autoRenew is false",
						"Leave one of them out", "autoRenew", false),
				refused(DistributedLock.class, "maxHold", "${short}", "(5s) is shorter than leaseTime (PT6S)",
						"Lower leaseTime, or raise maxHold", "leaseTime", "6s"),
				refused(DistributedLock.class, "minHold", "${long}", "(2h) is longer than maxHold (PT1H)",
						"Lower minHold, or raise maxHold", "maxHold", "1h"),
				refused(DistributedLock.class, "minHold", "1m",
						"is longer than leaseTime (PT30S), with which the lease ends, because autoRenew is false",
						"raise leaseTime", "leaseTime", "30s", "autoRenew", false),
				refused(Semaphore.class, "minHold", "2s", "is longer than maxHold (PT1S)",
						"Lower minHold, or raise maxHold", "limit", 10, "maxHold", "1s"));
	}

	static Stream<Arguments> semaphores() {
		return Stream.of(
				Arguments.of(DeclaredType.selling(void.class, Semaphore.class).make(), "sell(String)",
						"has neither limit nor limitString", "limit = 10"),
				refused(Semaphore.class, "limit", 10, "and limitString = \"20\" are both given", "Leave one",
						"limitString", "20"),
				refused(Semaphore.class, "limit", 0, "is not from 1 to 1000000000", "how many permits there are"),
				refused(Semaphore.class, "limit", 1_000_000_001, "is not from 1 to 1000000000", "how many permits"),
				refused(Semaphore.class, "limitString", "many", "is not a whole number from 1", "10"),
				refused(Semaphore.class, "limitString", "10000000000", "from 1 to 1000000000", "10"),
				refused(Semaphore.class, "limitString", "${zero}", "(0) is not a whole number", "10"),
				refused(Semaphore.class, "limitString", "${blank}", "is not a whole number", "10"),
				refused(Semaphore.class, "limitString", "${many}", "(many) is not a whole number", "10"),
				refused(Semaphore.class, "limitString", "#{5 * 2}", "is not evaluated here", "${"),
				refused(Semaphore.class, "permits", 0, "is not at least 1", "how many permits a call needs", "limit",
						10),
				refused(Semaphore.class, "permits", 11, "is more than the limit of 10", "Raise the limit",
						"limitString", "10"));
	}

	static Stream<Arguments> waysOut() {
		Type strings = ResolvableType.forClassWithGenerics(List.class, String.class).getType();
		Type integers = ResolvableType.forClassWithGenerics(List.class, Integer.class).getType();
		return Stream.of(
				refused(DistributedLock.class, "fallback", "other", "is no method of the class",
						"Write a method other(String, int) or other(String, int, LockNotAcquiredException)"),
				fallback(lock(String.class).other(String.class, Integer.class), "has other parameters: other(Integer)",
						"Write a method other(String)"),
				fallback(lock(String.class).other(String.class), "has other parameters: other()",
						"Write a method other(String)"),
				fallback(lock(String.class).other(String.class, String.class, PermitNotAcquiredException.class),
						"has other parameters: other(String, PermitNotAcquiredException)",
						"other(String, LockNotAcquiredException) into the class; a NotAcquiredException serves locks and permits"),
				fallback(lock(String.class).other(String.class, String.class, Object.class),
						"has other parameters: other(String, Object)", "LockNotAcquiredException)"),
				fallback(lock(String.class).other(String.class, LockNotAcquiredException.class, String.class),
						"has other parameters: other(LockNotAcquiredException, String)",
						"other(String, LockNotAcquiredException)"),
				fallback(
						lock(String.class).other(String.class, String.class)
							.other(String.class, String.class, RuntimeException.class),
						"is ambiguous: 2 methods fit", "Leave one of them"),
				Arguments.of(DeclaredType.selling(String.class, DistributedLock.class, "fallback", "sell").make(),
						"sell(String): fallback = \"sell\"", "is no method of the class but itself",
						"sell(String, LockNotAcquiredException)"),
				otherResult(String.class, Integer.class, "java.lang.Integer", "java.lang.String"),
				otherResult(String.class, void.class, "void", "java.lang.String"),
				otherResult(void.class, String.class, "java.lang.String", "void"),
				otherResult(int.class, Integer.class, "java.lang.Integer", "int"),
				otherResult(strings, integers, "java.util.List<java.lang.Integer>", "java.util.List<java.lang.String>"),
				fallback(lock(void.class, "onTimeout", OnTimeout.SKIP).other(void.class, String.class),
						"and onTimeout = SKIP are both given", "Leave one of them out"),
				refused(DistributedLock.class, "fallback", " ", "is blank", "leave the attribute out"),
				refused(DistributedLock.class, "fallback", "${no.such.property}", "cannot be resolved",
						"Set the property"),
				skipped(DeclaredType.selling(int.class, DistributedLock.class, "onTimeout", OnTimeout.SKIP),
						"is not possible, because the method returns int, which has no empty value", "name a fallback"),
				fallback(permit(String.class).other(String.class, String.class, LockNotAcquiredException.class),
						"has other parameters: other(String, LockNotAcquiredException)",
						"other(String, PermitNotAcquiredException)"),
				refused(DistributedLock.class, "onStoreFailure", OnStoreFailure.PROCEED,
						"is not possible, as a method never runs without its lock", "Write FALLBACK"),
				refused(Semaphore.class, "onStoreFailure", OnStoreFailure.FALLBACK, "has no fallback",
						"by the attribute fallback", "limit", 1),
				fallback(
						lock(void.class, "onStoreFailure", OnStoreFailure.FALLBACK).other(void.class, String.class,
								LockNotAcquiredException.class),
						"has other parameters: other(String, LockNotAcquiredException)",
						"Write a method other(String) or other(String, HoldfastException) into the class; "
								+ "with onStoreFailure = FALLBACK it serves failures of Redis, too"),
				refused(DistributedLock.class, "fallback", "other()", "is no name of a method",
						"Write the name of a method of the class, without class, brackets or signs"));
	}

	private static DeclaredType lock(Type result) {
		return DeclaredType.selling(result, DistributedLock.class, "fallback", "other");
	}

	private static DeclaredType lock(Type result, String attribute, Enum<?> value) {
		return DeclaredType.selling(result, DistributedLock.class, "fallback", "other", attribute, value);
	}

	private static DeclaredType permit(Type result) {
		return DeclaredType.selling(result, Semaphore.class, "limit", 1, "fallback", "other");
	}

	private static Arguments fallback(DeclaredType type, String problem, String cure) {
		return Arguments.of(type.make(), "sell(String): fallback = \"other\"", problem, cure);
	}

	private static Arguments otherResult(Type result, Type other, String returned, String expected) {
		return fallback(lock(result).other(other, String.class),
				"returns " + returned + ", but the method returns " + expected,
				"Have other(String) return " + expected);
	}

	private static Arguments skipped(DeclaredType type, String problem, String cure) {
		return Arguments.of(type.make(), "sell(String): onTimeout = SKIP", problem, cure);
	}

	@ParameterizedTest
	@MethodSource({ "textsAndMethods", "times", "semaphores", "waysOut" })
	@DisplayName("The start fails, and the message names place, value, problem and cure")
	void invalid(Class<?> type, String value, String problem, String cure) {
		boolean semaphore = Stream.of(type.getDeclaredMethods())
			.anyMatch((method) -> method.isAnnotationPresent(Semaphore.class));
		InvalidDeclarationException refusal = refusal(PROPERTIES, type);
		assertThat(refusal)
			.hasMessageStartingWith((semaphore ? "@Semaphore" : "@DistributedLock") + " on " + type.getName() + ".")
			.hasMessageEndingWith(refusal.getCure() + ".");
		assertThat(refusal.getProblem()).contains(value, problem);
		assertThat(refusal.getCure()).contains(cure);
	}

	@Test
	@DisplayName("A valid semaphore does not hide an invalid lock on the same method")
	void validSemaphoreWithInvalidLock() {
		assertThat(refusal(BadLock.class)).hasMessageStartingWith("@DistributedLock on " + BadLock.class.getName())
			.hasMessageContaining("waitTime = \"soon\"");
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
		assertThat(refusal(type)).hasMessageContaining("#sku")
			.hasMessageContaining("compile with -parameters (in Kotlin: -java-parameters, or add kotlin-reflect)");
	}

	@Test
	@DisplayName("Without a value, a placeholder is refused also by an application that refuses unknown placeholders")
	void strictPlaceholders() {
		register("placeholders", PropertySourcesPlaceholderConfigurer.class, PropertySourcesPlaceholderConfigurer::new);
		assertThat(refusal(Placeholder.class)).hasMessageContaining("cannot be resolved");
		start(Map.of("no.such.property", "a"), Placeholder.class);
	}

	@Test
	@DisplayName("A '#' from a placeholder is refused in a name, and evaluated in an expression without parameters")
	void hashInName() {
		assertThat(refusal(Map.of("no.such.property", "stock:#sku"), Placeholder.class))
			.hasMessageContaining("has a '#'");
		start(Map.of("shop", "eu"), BeanExpression.class).sell("a");
		assertThat(this.locks.keys()).containsExactly("stock-eu:a");
	}

	@Test
	@DisplayName("Final methods are accepted behind a proxy of the interface")
	void finalMethodBehindInterface() {
		startByInterface(FinalImplementation.class, FinalOfType.class);
		bean(Runnable.class).run();
		bean(IntSupplier.class).getAsInt();
		assertThat(this.locks.keys()).containsExactly("final", "type");
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
		assertThat(refusal(type)).hasMessageContaining("InOtherPackage.sell(String)")
			.hasMessageContaining("is package-private, and the bean's proxy is in another package than "
					+ PackagePrivate.class.getName())
			.hasMessageContaining("Make the method public or protected");
		start(PackagePrivate.class);
	}

	@Test
	@DisplayName("Final methods that a type only inherits are accepted")
	void inheritedFinalMethod() {
		InheritsFinal bean = start(InheritsFinal.class);
		bean.sell("a");
		assertThat(bean.provided()).isEqualTo("provided");
		assertThat(this.locks.keys()).containsExactly("type");
	}

	@Test
	@DisplayName("A proxy that takes no more advice and hides its class does not hide the annotation")
	void frozenProxy() {
		assertThat(refusal(Freezer.class, FinalImplementation.class)).hasMessageContaining("frozen or opaque");
	}

	@Test
	@DisplayName("Nor does a proxy of another library")
	void foreignProxy() {
		assertThat(refusal(ForeignProxies.class, FinalImplementation.class))
			.hasMessageContaining("run() has no effect, because the bean's proxy hides its class")
			.hasMessageContaining("not of Spring")
			.hasMessageContaining("annotate its interface");
	}

	@Test
	@DisplayName("A proxy of another library may be an inner bean, which the container knows by no name")
	void innerProxy() {
		Runnable proxy = (Runnable) new ForeignProxies().postProcessAfterInitialization(new FinalImplementation(), "");
		register("outer", AtomicReference.class, AtomicReference::new, (definition) -> definition.getPropertyValues()
			.add("plain", new RootBeanDefinition(Runnable.class, () -> proxy)));
		start();
		assertThat(bean(AtomicReference.class).getPlain()).isSameAs(proxy);
	}

	@Test
	@DisplayName("Ahead-of-time processing sees the proxy's class, without the properties of the run")
	void aheadOfTime() {
		LeaseBeanPostProcessor processor = new LeaseBeanPostProcessor(() -> null, () -> null);
		assertThat(processor.determineBeanType(Placeholder.class, "bean")).isNotEqualTo(Placeholder.class)
			.isAssignableTo(Placeholder.class);
		assertThat(processor.determineBeanType(ProvidesFinal.class, "bean")).isEqualTo(ProvidesFinal.class);
	}

	static class BadLock {

		@Semaphore(limit = 10)
		@DistributedLock(waitTime = "soon")
		void call(String name) {
		}

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

	@DistributedLock(name = "type")
	static class FinalOfType implements IntSupplier {

		@Override
		public final int getAsInt() {
			return 0;
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
	static class ForeignProxies implements BeanPostProcessor, Ordered {

		@Override
		public Object postProcessAfterInitialization(Object bean, String beanName) {
			return !(bean instanceof FinalImplementation) ? bean
					: Proxy.newProxyInstance(bean.getClass().getClassLoader(), new Class<?>[] { Runnable.class },
							(proxy, method, arguments) -> method.invoke(bean, arguments));
		}

		@Override
		public int getOrder() {
			return 0;
		}

	}

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
