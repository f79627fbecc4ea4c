package io.holdfast.aop;

import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.stream.Stream;

import io.holdfast.LockNotAcquiredException;
import io.holdfast.NotAcquiredException.Reason;
import io.holdfast.PermitNotAcquiredException;
import io.holdfast.annotation.DistributedLock;
import io.holdfast.annotation.Semaphore;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/**
 * Fallbacks: methods that run in place of a method without its lock or permits.
 */
class FallbackHandlerTests extends LockedTestCase {

	private final Shop shop = start(Map.of("fallback", "busy"), Shop.class);

	@BeforeEach
	void prepare() {
		this.locks.busy();
		this.semaphores.busy();
	}

	static Stream<Arguments> calls() {
		return Stream.of(calls("same parameters", (shop) -> shop.plain("a", 2), "busy with 2 a"),
				calls("the lock's exception", (shop) -> shop.withLockException("a"), "a: TIMED_OUT"),
				calls("anything that can be thrown", (shop) -> shop.withThrowable("a"), "a: LockNotAcquiredException"),
				calls("the permit's exception", (shop) -> shop.withPermitException("a"), "a: 1 permits"),
				calls("an overload of the same name", (shop) -> shop.overloaded("a"), "overload for a"),
				calls("a property's name", (shop) -> shop.byProperty("a", 1), "busy with 1 a"),
				calls("protected and inherited", (shop) -> shop.usesInherited("a"), "inherited a by the shop"),
				calls("an interface's default method", (shop) -> shop.usesDefault("a"), "default a by the shop"),
				calls("overridden", (shop) -> shop.usesOverridden("a"), "overridden a"),
				calls("hidden", (shop) -> shop.usesHidden("a"), "own a"),
				calls("covariant", (shop) -> String.valueOf(shop.covariant()), "covariant"),
				calls("boxed", (shop) -> String.valueOf(shop.boxed()), "-1"),
				calls("primitive", (shop) -> String.valueOf(shop.primitive()), "-2"),
				calls("raw", (shop) -> String.valueOf(shop.list(List.of("a"))), "[a, raw]"),
				calls("generic method", (shop) -> String.valueOf(shop.<Integer>generic(7)), "7"));
	}

	private static Arguments calls(String name, Function<Shop, String> call, String result) {
		return Arguments.argumentSet(name, call, result);
	}

	@ParameterizedTest
	@MethodSource("calls")
	@DisplayName("The fallback gets the arguments and, if declared, the exception, and returns the result")
	void fallback(Function<Shop, String> call, String result) {
		assertThat(call.apply(this.shop)).isEqualTo(result);
		assertThat(this.locks.events()).isEmpty();
	}

	@Test
	@DisplayName("A method without result has a fallback without result")
	void withoutResult() {
		this.shop.run();
		assertEvents("instead of run");
	}

	@Test
	@DisplayName("The caller gets an exception of the fallback unchanged")
	void throwing() {
		IOException failure = new IOException("from the fallback");
		assertThatExceptionOfType(IOException.class).isThrownBy(() -> this.shop.throwing(failure)).isSameAs(failure);
		PermitNotAcquiredException nested = new PermitNotAcquiredException("k", 1, 1, Reason.TIMED_OUT, Duration.ZERO,
				null);
		assertThatExceptionOfType(PermitNotAcquiredException.class).isThrownBy(() -> this.shop.throwing(nested))
			.isSameAs(nested);
	}

	interface Greeting {

		default String greet(String text) {
			return "default " + text + " by " + this;
		}

	}

	static class Base extends Recorded {

		protected String inherited(String text) {
			return "inherited " + text + " by " + this;
		}

		String overridden(String text) {
			return "base " + text;
		}

		@SuppressWarnings("unused")
		private String hidden(String text) {
			return "base " + text;
		}

	}

	static class Shop extends Base implements Greeting {

		@DistributedLock(fallback = "busy")
		String plain(String text, int count) {
			return ran(text);
		}

		@DistributedLock(fallback = "${fallback}")
		String byProperty(String text, int count) {
			return ran(text);
		}

		private String busy(String text, int count) {
			return "busy with " + count + " " + text;
		}

		@DistributedLock(fallback = "lockFailed")
		String withLockException(String text) {
			return ran(text);
		}

		private String lockFailed(String text, LockNotAcquiredException ex) {
			return text + ": " + ex.getReason();
		}

		@DistributedLock(fallback = "thrown")
		String withThrowable(String text) {
			return ran(text);
		}

		private String thrown(String text, Throwable ex) {
			return text + ": " + ex.getClass().getSimpleName();
		}

		@Semaphore(limit = 1, fallback = "permitFailed")
		String withPermitException(String text) {
			return ran(text);
		}

		private String permitFailed(String text, PermitNotAcquiredException ex) {
			return text + ": " + ex.getPermits() + " permits";
		}

		@DistributedLock(fallback = "overloaded")
		String overloaded(String text) {
			return ran(text);
		}

		String overloaded(String text, LockNotAcquiredException ex) {
			return "overload for " + text;
		}

		@DistributedLock(fallback = "inherited")
		String usesInherited(String text) {
			return ran(text);
		}

		@DistributedLock(fallback = "greet")
		String usesDefault(String text) {
			return ran(text);
		}

		@DistributedLock(fallback = "overridden")
		String usesOverridden(String text) {
			return ran(text);
		}

		@Override
		String overridden(String text) {
			return "overridden " + text;
		}

		@DistributedLock(fallback = "hidden")
		String usesHidden(String text) {
			return ran(text);
		}

		private String hidden(String text) {
			return "own " + text;
		}

		@DistributedLock(fallback = "builder")
		@Nullable CharSequence covariant() {
			return ran("body");
		}

		private StringBuilder builder() {
			return new StringBuilder("covariant");
		}

		@DistributedLock(fallback = "minusOne")
		@Nullable Integer boxed() {
			return ran(1);
		}

		private int minusOne() {
			return -1;
		}

		@DistributedLock(fallback = "minusTwo")
		long primitive() {
			return ran(1L);
		}

		private long minusTwo() {
			return -2;
		}

		@DistributedLock(fallback = "rawList")
		List<String> list(List<String> values) {
			return ran(values);
		}

		@SuppressWarnings("rawtypes")
		private List rawList(List values) {
			return List.of(values.get(0), "raw");
		}

		@DistributedLock(fallback = "identity")
		<T extends Number> T generic(T value) {
			throw new AssertionError("Not locked");
		}

		private <N extends Number> N identity(N value) {
			return value;
		}

		@DistributedLock(fallback = "noRun")
		void run() {
			ran("");
		}

		private void noRun() {
			this.recorder.record("instead of run");
		}

		@DistributedLock(fallback = "rethrow")
		void throwing(Exception failure) throws Exception {
			ran("");
		}

		private void rethrow(Exception failure) throws Exception {
			throw failure;
		}

		@Override
		public String toString() {
			return "the shop";
		}

	}

}
