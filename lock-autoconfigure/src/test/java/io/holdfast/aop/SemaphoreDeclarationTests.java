package io.holdfast.aop;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import java.time.Duration;
import java.util.Map;
import java.util.function.Consumer;
import java.util.stream.Stream;

import io.holdfast.SemaphoreRequest;
import io.holdfast.annotation.Fairness;
import io.holdfast.annotation.Semaphore;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

import org.springframework.aop.support.AopUtils;
import org.springframework.core.annotation.AliasFor;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

/**
 * Where {@link Semaphore @Semaphore} is found, and what its attributes ask for.
 */
class SemaphoreDeclarationTests {

	private static final Map<String, Object> PROPERTIES = Map.of("limit", "7", "wait", "2m", "lease", "", "name",
			"berlin");

	static Stream<Arguments> attributes() {
		SemaphoreRequest request = limited(10);
		return Stream.of(asks("defaults", AnnotationValues::defaults, request),
				asks("largest limit", AnnotationValues::largestLimit, limited(1_000_000_000)),
				asks("limitString", AnnotationValues::limitString, limited(20)),
				asks("limitString of a property", AnnotationValues::limitOfProperty, limited(7)),
				asks("permits", AnnotationValues::permits, request.permits(10)),
				asks("times", AnnotationValues::times,
						request.waitTime(Duration.ofSeconds(90)).leaseTime(Duration.ofMillis(100))),
				asks("one attempt", AnnotationValues::once, request.waitTime(Duration.ZERO)),
				asks("endless wait", AnnotationValues::forever, request.waitForever()),
				asks("longest and shortest hold", AnnotationValues::holds,
						request.maxHold(Duration.ofMinutes(5)).minHold(Duration.ofSeconds(10))),
				asks("no renewal", AnnotationValues::withoutRenewal, request.autoRenew(false)),
				asks("fair", AnnotationValues::fair, request.fair(true)),
				asks("not fair", AnnotationValues::unfair, request.fair(false)),
				asks("properties", AnnotationValues::properties,
						SemaphoreRequest.of("berlin:berlin", 7)
							.name("berlin")
							.waitTime(Duration.ofMinutes(2))
							.maxHold(Duration.ofMinutes(2))
							.minHold(Duration.ofMinutes(2))
							.fair(false)));
	}

	private static SemaphoreRequest limited(int limit) {
		return SemaphoreRequest.of("s", limit).name("s");
	}

	private static Arguments asks(String what, Consumer<AnnotationValues> call, SemaphoreRequest request) {
		return Arguments.argumentSet(what, call, request);
	}

	@ParameterizedTest
	@MethodSource("attributes")
	@DisplayName("What is declared is in the request, what is not is left to the service")
	void request(Consumer<AnnotationValues> call, SemaphoreRequest expected) {
		try (LockedContext context = LockedContext.with(PROPERTIES, AnnotationValues.class)) {
			call.accept(context.bean(AnnotationValues.class));
			assertThat(context.semaphores().requests()).containsExactly(expected);
		}
	}

	@Test
	@DisplayName("The key is the expression's value, the name, name:value, or the class and method")
	void keys() {
		try (LockedContext context = LockedContext.of(Keys.class)) {
			Keys keys = context.bean(Keys.class);
			keys.byKey("acme");
			keys.byName("acme");
			keys.byBoth("acme");
			keys.byNeither("acme");
			assertThat(context.semaphores().keys()).containsExactly("tenant:acme", "mail", "mail:acme",
					Keys.class.getName() + ".byNeither");
		}
	}

	@Test
	@DisplayName("A call that yields no key, or one that is refused, is told so and does not run")
	void noKey() {
		try (LockedContext context = LockedContext.of(Keys.class)) {
			Keys keys = context.bean(Keys.class);
			String place = "@Semaphore on " + Keys.class.getName() + ".byBoth(String): key = \"#tenant\" yields ";
			assertThatIllegalArgumentException().isThrownBy(() -> keys.byBoth(null))
				.withMessageStartingWith(place + "no key: its value is null");
			assertThatIllegalArgumentException().isThrownBy(() -> keys.byBoth("a\u0007"))
				.withMessageStartingWith(place)
				.withMessageContaining("The semaphore's key has a control character");
			assertThat(context.semaphores().requests()).isEmpty();
		}
	}

	@Test
	@DisplayName("A type's annotation is for its public methods, each with a semaphore of its own; a method's comes first")
	void typeAndMethod() {
		try (LockedContext context = LockedContext.of(OnType.class)) {
			OnType bean = context.bean(OnType.class);
			bean.one();
			bean.inherited();
			bean.own();
			bean.notPublic();
			assertThat(bean.toString()).isEqualTo("on type");
			assertThat(context.semaphores().requests()).containsExactly(named(OnType.class.getName() + ".one", 3),
					named(OnType.class.getName() + ".inherited", 3), named("own", 1));
		}
	}

	private static SemaphoreRequest named(String name, int limit) {
		return SemaphoreRequest.of(name, limit).name(name);
	}

	@Test
	void interfaces() {
		try (LockedContext context = LockedContext.of(Client.class)) {
			Geocoder bean = context.bean(Geocoder.class);
			assertThat(AopUtils.isJdkDynamicProxy(bean)).isTrue();
			bean.locate("a");
			bean.declaredByBoth();
			assertThat(context.semaphores().requests()).containsExactly(
					SemaphoreRequest.of("geo:a", 4).name(Client.class.getName() + ".locate"), named("class", 2));
		}
	}

	@Test
	@DisplayName("A generic method that a class inherits, called by either signature")
	void inheritedGenerics() {
		try (LockedContext context = LockedContext.withClassProxies(Mails.class)) {
			Sender<String> sender = context.bean(Mails.class);
			sender.send("a");
			context.bean(Mails.class).send("b");
			assertThat(context.semaphores().keys()).containsExactly("to:a", "to:b");
		}
	}

	@Test
	@DisplayName("A meta-annotation has attributes for those of the semaphore, also for the text of a limit")
	void metaAnnotation() {
		try (LockedContext context = LockedContext.with(PROPERTIES, Composed.class)) {
			Composed bean = context.bean(Composed.class);
			bean.usual("a");
			bean.changed("b");
			assertThat(context.semaphores().requests()).containsExactly(
					SemaphoreRequest.of("partner:a", 10)
						.name(Composed.class.getName() + ".usual")
						.waitTime(Duration.ofSeconds(1))
						.fair(true),
					SemaphoreRequest.of("partner:b", 7)
						.name(Composed.class.getName() + ".changed")
						.waitTime(Duration.ofSeconds(1))
						.permits(5)
						.fair(false));
		}
	}

	static class AnnotationValues {

		@Semaphore(name = "s", limit = 10)
		void defaults() {
		}

		@Semaphore(name = "s", limit = 1_000_000_000)
		void largestLimit() {
		}

		@Semaphore(name = "s", limitString = " 20 ")
		void limitString() {
		}

		@Semaphore(name = "s", limitString = "${limit}")
		void limitOfProperty() {
		}

		@Semaphore(name = "s", limit = 10, permits = 10)
		void permits() {
		}

		@Semaphore(name = "s", limit = 10, waitTime = "1m30s", leaseTime = "PT0.1S")
		void times() {
		}

		@Semaphore(name = "s", limit = 10, waitTime = "0")
		void once() {
		}

		@Semaphore(name = "s", limit = 10, waitTime = "-1")
		void forever() {
		}

		@Semaphore(name = "s", limit = 10, autoRenew = false)
		void withoutRenewal() {
		}

		@Semaphore(name = "s", limit = 10, fairness = Fairness.FAIR)
		void fair() {
		}

		@Semaphore(name = "s", limit = 10, fairness = Fairness.UNFAIR)
		void unfair() {
		}

		@Semaphore(name = "${name}", key = "'${name}'", limitString = "${limit}", waitTime = "${wait}",
				leaseTime = "${lease}", fairness = Fairness.UNFAIR, maxHold = "${wait}", minHold = "${wait}")
		void properties() {
		}

		@Semaphore(name = "s", limit = 10, maxHold = "5m", minHold = "10s")
		void holds() {
		}

	}

	static class Keys {

		@Semaphore(key = "'tenant:' + #tenant", limit = 1)
		void byKey(String tenant) {
		}

		@Semaphore(name = "mail", limit = 1)
		void byName(String tenant) {
		}

		@Semaphore(name = "mail", key = "#tenant", limit = 1)
		void byBoth(String tenant) {
		}

		@Semaphore(limit = 1)
		void byNeither(String tenant) {
		}

	}

	static class Base {

		public void inherited() {
		}

	}

	@Semaphore(limit = 3)
	static class OnType extends Base {

		public void one() {
		}

		@Semaphore(name = "own", limit = 1)
		public void own() {
		}

		void notPublic() {
		}

		@Override
		public String toString() {
			return "on type";
		}

	}

	interface Geocoder {

		@Semaphore(key = "'geo:' + #address", limit = 4)
		void locate(String address);

		@Semaphore(name = "interface", limit = 4)
		void declaredByBoth();

	}

	static class Client implements Geocoder {

		@Override
		public void locate(String otherName) {
		}

		@Override
		@Semaphore(name = "class", limit = 2)
		public void declaredByBoth() {
		}

	}

	abstract static class Sender<T> {

		@Semaphore(key = "'to:' + #address", limit = 5)
		void send(T address) {
		}

	}

	static class Mails extends Sender<String> {

		@Override
		void send(String recipient) {
		}

	}

	@Target(ElementType.METHOD)
	@Retention(RetentionPolicy.RUNTIME)
	@Semaphore(key = "'partner:' + #name", waitTime = "1s")
	@interface PartnerLimit {

		@AliasFor(annotation = Semaphore.class, attribute = "limitString")
		String value() default "10";

		@AliasFor(annotation = Semaphore.class, attribute = "permits")
		int weight() default 1;

		@AliasFor(annotation = Semaphore.class, attribute = "fairness")
		Fairness fairness() default Fairness.FAIR;

	}

	static class Composed {

		@PartnerLimit
		void usual(String name) {
		}

		@PartnerLimit(value = "${limit}", weight = 5, fairness = Fairness.UNFAIR)
		void changed(String name) {
		}

	}

}
