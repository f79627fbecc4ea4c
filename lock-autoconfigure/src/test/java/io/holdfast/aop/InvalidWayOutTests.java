package io.holdfast.aop;

import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

import io.holdfast.LockNotAcquiredException;
import io.holdfast.PermitNotAcquiredException;
import io.holdfast.annotation.DistributedLock;
import io.holdfast.annotation.OnStoreFailure;
import io.holdfast.annotation.OnTimeout;
import io.holdfast.annotation.Semaphore;
import io.holdfast.aop.method.InvalidDeclarationException;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

import static io.holdfast.aop.DeclaredType.refused;
import static org.assertj.core.api.Assertions.assertThat;

/**
 * Ways out that keep an application from starting.
 */
class InvalidWayOutTests {

	static Stream<Arguments> invalid() {
		return Stream.of(
				refused(DistributedLock.class, "fallback", "other", "is no method of the class",
						"Write a method other(String, int) or other(String, int, LockNotAcquiredException)"),
				Arguments.of(OtherParameters.class, "fallback = \"other\"", "has other parameters: other(Integer)",
						"Write a method other(String)"),
				Arguments.of(FewerParameters.class, "fallback = \"other\"", "has other parameters: other()",
						"Write a method other(String)"),
				Arguments.of(ForeignException.class, "fallback = \"other\"",
						"has other parameters: other(String, PermitNotAcquiredException)", "LockNotAcquiredException)"),
				Arguments.of(NoException.class, "fallback = \"other\"", "has other parameters: other(String, Object)",
						"LockNotAcquiredException)"),
				Arguments.of(ExceptionFirst.class, "fallback = \"other\"",
						"has other parameters: other(LockNotAcquiredException, String)",
						"other(String, LockNotAcquiredException)"),
				Arguments.of(Ambiguous.class, "fallback = \"other\"", "is ambiguous: 2 methods fit",
						"Leave one of them"),
				Arguments.of(Itself.class, "fallback = \"sell\"", "is no method of the class but itself",
						"sell(String, LockNotAcquiredException)"),
				Arguments.of(OtherResult.class, "fallback = \"other\"",
						"returns java.lang.Integer, but the method returns java.lang.String",
						"Have both return the same"),
				Arguments.of(WiderResult.class, "fallback = \"other\"",
						"returns java.lang.Object, but the method returns java.lang.String",
						"Have both return the same"),
				Arguments.of(NoResult.class, "fallback = \"other\"",
						"returns void, but the method returns java.lang.String", "Have both return the same"),
				Arguments.of(NeedlessResult.class, "fallback = \"other\"",
						"returns java.lang.String, but the method returns void", "Have both return the same"),
				Arguments.of(NullablePrimitive.class, "fallback = \"other\"",
						"returns java.lang.Integer, but the method returns int", "Have both return the same"),
				Arguments.of(NarrowPrimitive.class, "fallback = \"other\"", "returns int, but the method returns long",
						"Have both return the same"),
				Arguments.of(OtherElements.class, "fallback = \"other\"",
						"returns java.util.List<java.lang.Integer>, but the method returns java.util.List<java.lang.String>",
						"Have both return the same"),
				Arguments.of(AndSkip.class, "fallback = \"other\"", "and onTimeout = SKIP are both given",
						"Leave one of them out"),
				refused(DistributedLock.class, "fallback", " ", "is blank", "leave the attribute out"),
				refused(DistributedLock.class, "fallback", "${no.such.property}", "cannot be resolved",
						"Set the property"),
				Arguments.of(SkipInt.class, "onTimeout = SKIP",
						"is not possible, because the method returns int, which has no empty value", "name a fallback"),
				Arguments.of(SkipBoolean.class, "onTimeout = SKIP", "returns boolean", "Optional"),
				Arguments.of(PermitException.class, "fallback = \"other\"",
						"has other parameters: other(String, LockNotAcquiredException)",
						"other(String, PermitNotAcquiredException)"),
				refused(Semaphore.class, "fallback", "other", "is no method of the class",
						"Write a method other(String, int)", "limit", 1),
				Arguments.of(PermitAndSkip.class, "fallback = \"other\"", "and onTimeout = SKIP", "Leave one"),
				Arguments.of(PermitSkipLong.class, "onTimeout = SKIP", "returns long", "Optional"),
				refused(DistributedLock.class, "onStoreFailure", OnStoreFailure.PROCEED,
						"is not possible, as a method never runs without its lock", "Write FALLBACK"),
				refused(Semaphore.class, "onStoreFailure", OnStoreFailure.FALLBACK, "has no fallback",
						"by the attribute fallback", "limit", 1),
				Arguments.of(NarrowForStoreFailure.class, "fallback = \"other\"",
						"has other parameters: other(String, LockNotAcquiredException)",
						"Write a method other(String) or other(String, HoldfastException)"));
	}

	@ParameterizedTest
	@MethodSource("invalid")
	@DisplayName("The start fails, and the message names place, value, problem and cure")
	void invalidDeclarations(Class<?> type, String value, String problem, String cure) {
		InvalidDeclarationException failure = LockedContext.failure(Map.of(), type);
		assertThat(failure.getProblem()).contains(" on " + type.getName() + ".sell(String", "): " + value, problem);
		assertThat(failure.getCure()).contains(cure);
	}

	static class NarrowForStoreFailure {

		@DistributedLock(onStoreFailure = OnStoreFailure.FALLBACK, fallback = "other")
		public void sell(String sku) {
		}

		void other(String sku, LockNotAcquiredException failure) {
		}

	}

	static class OtherParameters {

		@DistributedLock(fallback = "other")
		String sell(String sku) {
			return sku;
		}

		String other(Integer sku) {
			return "";
		}

	}

	static class FewerParameters {

		@DistributedLock(fallback = "other")
		String sell(String sku) {
			return sku;
		}

		String other() {
			return "";
		}

	}

	static class ForeignException {

		@DistributedLock(fallback = "other")
		String sell(String sku) {
			return sku;
		}

		String other(String sku, PermitNotAcquiredException ex) {
			return "";
		}

	}

	static class NoException {

		@DistributedLock(fallback = "other")
		String sell(String sku) {
			return sku;
		}

		String other(String sku, Object ex) {
			return "";
		}

	}

	static class ExceptionFirst {

		@DistributedLock(fallback = "other")
		String sell(String sku) {
			return sku;
		}

		String other(LockNotAcquiredException ex, String sku) {
			return "";
		}

	}

	static class Ambiguous {

		@DistributedLock(fallback = "other")
		String sell(String sku) {
			return sku;
		}

		String other(String sku) {
			return "";
		}

		String other(String sku, RuntimeException ex) {
			return "";
		}

	}

	static class Itself {

		@DistributedLock(fallback = "sell")
		String sell(String sku) {
			return sku;
		}

	}

	static class OtherResult {

		@DistributedLock(fallback = "other")
		String sell(String sku) {
			return sku;
		}

		Integer other(String sku) {
			return 1;
		}

	}

	static class WiderResult {

		@DistributedLock(fallback = "other")
		String sell(String sku) {
			return sku;
		}

		Object other(String sku) {
			return 1;
		}

	}

	static class NoResult {

		@DistributedLock(fallback = "other")
		String sell(String sku) {
			return sku;
		}

		void other(String sku) {
		}

	}

	static class NeedlessResult {

		@DistributedLock(fallback = "other")
		void sell(String sku) {
		}

		String other(String sku) {
			return "";
		}

	}

	static class NullablePrimitive {

		@DistributedLock(fallback = "other")
		int sell(String sku) {
			return 1;
		}

		Integer other(String sku) {
			return 1;
		}

	}

	static class NarrowPrimitive {

		@DistributedLock(fallback = "other")
		long sell(String sku) {
			return 1;
		}

		int other(String sku) {
			return 1;
		}

	}

	static class OtherElements {

		@DistributedLock(fallback = "other")
		List<String> sell(String sku) {
			return List.of();
		}

		List<Integer> other(String sku) {
			return List.of();
		}

	}

	static class AndSkip {

		@DistributedLock(fallback = "other", onTimeout = OnTimeout.SKIP)
		void sell(String sku) {
		}

		void other(String sku) {
		}

	}

	static class SkipInt {

		@DistributedLock(onTimeout = OnTimeout.SKIP)
		int sell(String sku) {
			return 1;
		}

	}

	static class SkipBoolean {

		@DistributedLock(onTimeout = OnTimeout.SKIP)
		boolean sell(String sku) {
			return true;
		}

	}

	static class PermitException {

		@Semaphore(limit = 1, fallback = "other")
		String sell(String sku) {
			return sku;
		}

		String other(String sku, LockNotAcquiredException ex) {
			return "";
		}

	}

	static class PermitAndSkip {

		@Semaphore(limit = 1, fallback = "other", onTimeout = OnTimeout.SKIP)
		void sell(String sku) {
		}

		void other(String sku) {
		}

	}

	static class PermitSkipLong {

		@Semaphore(limit = 1, onTimeout = OnTimeout.SKIP)
		long sell(String sku) {
			return 1;
		}

	}

}
