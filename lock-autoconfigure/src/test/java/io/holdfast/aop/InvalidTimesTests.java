package io.holdfast.aop;

import java.util.Map;
import java.util.stream.Stream;

import io.holdfast.annotation.DistributedLock;
import io.holdfast.annotation.Semaphore;
import io.holdfast.aop.method.InvalidDeclarationException;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Times that keep an application from starting, of locks and of semaphores.
 */
class InvalidTimesTests {

	private static final Map<String, Object> PROPERTIES = Map.of("long", "2h", "short", "5s", "text", "ages", "brief",
			"99ms");

	static Stream<Arguments> invalid() {
		return Stream.of(
				Arguments.of(WrongWait.class, "waitTime = \"ten seconds\"", "is not a duration", "0 to try once"),
				Arguments.of(WaitWithoutUnit.class, "waitTime = \"10\"", "has no unit", "10s"),
				Arguments.of(NegativeWait.class, "waitTime = \"-2s\"", "is negative", "-1 to wait without limit"),
				Arguments.of(WrongLease.class, "leaseTime = \"1 parsec\"", "is not a duration", "10s"),
				Arguments.of(ShortLease.class, "leaseTime = \"99ms\"", "is out of bounds", "default"),
				Arguments.of(ResolvedLease.class, "leaseTime = \"${brief}\"", "(99ms) is out of bounds", "default"),
				Arguments.of(LongLease.class, "leaseTime = \"366d\"", "is out of bounds", "default"),
				Arguments.of(EndlessLease.class, "leaseTime = \"-1\"", "is negative", "10s"),
				Arguments.of(ZeroLease.class, "leaseTime = \"0\"", "is out of bounds", "default"),
				Arguments.of(WrongMaxHold.class, "maxHold = \"${text}\"", "(ages) is not a duration", "10s"),
				Arguments.of(ShortMaxHold.class, "maxHold = \"99ms\"", "is out of bounds", "at least 100ms"),
				Arguments.of(EndlessMaxHold.class, "maxHold = \"-1\"", "is negative", "10s"),
				Arguments.of(WrongMinHold.class, "minHold = \"once\"", "is not a duration", "10s"),
				Arguments.of(LongMinHold.class, "minHold = \"366d\"", "is out of bounds", "up to 365d"),
				Arguments.of(NegativeMinHold.class, "minHold = \"-1s\"", "is negative", "10s"),
				Arguments.of(MaxHoldWithoutRenewal.class, "maxHold = \"5m\"",
						"has no effect, because autoRenew = false", "Leave one of them out"),
				Arguments.of(MaxBelowLease.class, "maxHold = \"${short}\"", "(5s) is shorter than leaseTime = \"6s\"",
						"Lower leaseTime, or raise maxHold"),
				Arguments.of(MinAboveMax.class, "minHold = \"${long}\"", "(2h) is longer than maxHold = \"1h\"",
						"Lower minHold, or raise maxHold"),
				Arguments.of(MinAboveLease.class, "minHold = \"1m\"",
						"is longer than leaseTime = \"30s\", with which the lease ends, because autoRenew = false",
						"raise leaseTime"));
	}

	@ParameterizedTest
	@MethodSource("invalid")
	@DisplayName("The start fails, and the message names place, value, problem and cure")
	void lock(Class<?> type, String value, String problem, String cure) {
		InvalidDeclarationException failure = LockedContext.failure(PROPERTIES, type);
		assertThat(failure).hasMessageStartingWith("@DistributedLock on " + type.getName() + ".sell(String): " + value);
		assertThat(failure.getProblem()).contains(value, problem);
		assertThat(failure.getCure()).contains(cure);
	}

	static Stream<Arguments> invalidForSemaphore() {
		return Stream.of(Arguments.of(SemaphoreWait.class, "waitTime = \"soon\"", "is not a duration"),
				Arguments.of(SemaphoreLease.class, "leaseTime = \"99ms\"", "is out of bounds"),
				Arguments.of(SemaphoreMaxHold.class, "maxHold = \"10\"", "has no unit"),
				Arguments.of(SemaphoreMinHold.class, "minHold = \"${text}\"", "(ages) is not a duration"),
				Arguments.of(SemaphoreMinAboveMax.class, "minHold = \"2s\"", "is longer than maxHold = \"1s\""),
				Arguments.of(SemaphoreWithoutRenewal.class, "maxHold = \"1s\"", "has no effect"));
	}

	@ParameterizedTest
	@MethodSource("invalidForSemaphore")
	@DisplayName("Those of semaphores are checked in the same way")
	void semaphore(Class<?> type, String value, String problem) {
		assertThat(LockedContext.failure(PROPERTIES, type))
			.hasMessageStartingWith("@Semaphore on " + type.getName() + ".call(): " + value)
			.hasMessageContaining(problem);
	}

	static class ResolvedLease {

		@DistributedLock(leaseTime = "${brief}")
		void sell(String sku) {
		}

	}

	static class WrongWait {

		@DistributedLock(waitTime = "ten seconds")
		void sell(String sku) {
		}

	}

	static class WaitWithoutUnit {

		@DistributedLock(waitTime = "10")
		void sell(String sku) {
		}

	}

	static class NegativeWait {

		@DistributedLock(waitTime = "-2s")
		void sell(String sku) {
		}

	}

	static class WrongLease {

		@DistributedLock(leaseTime = "1 parsec")
		void sell(String sku) {
		}

	}

	static class ShortLease {

		@DistributedLock(leaseTime = "99ms")
		void sell(String sku) {
		}

	}

	static class LongLease {

		@DistributedLock(leaseTime = "366d")
		void sell(String sku) {
		}

	}

	static class EndlessLease {

		@DistributedLock(leaseTime = "-1")
		void sell(String sku) {
		}

	}

	static class ZeroLease {

		@DistributedLock(leaseTime = "0")
		void sell(String sku) {
		}

	}

	static class WrongMaxHold {

		@DistributedLock(maxHold = "${text}")
		void sell(String sku) {
		}

	}

	static class ShortMaxHold {

		@DistributedLock(maxHold = "99ms")
		void sell(String sku) {
		}

	}

	static class EndlessMaxHold {

		@DistributedLock(maxHold = "-1")
		void sell(String sku) {
		}

	}

	static class WrongMinHold {

		@DistributedLock(minHold = "once")
		void sell(String sku) {
		}

	}

	static class LongMinHold {

		@DistributedLock(minHold = "366d")
		void sell(String sku) {
		}

	}

	static class NegativeMinHold {

		@DistributedLock(minHold = "-1s")
		void sell(String sku) {
		}

	}

	static class MaxHoldWithoutRenewal {

		@DistributedLock(maxHold = "5m", autoRenew = false)
		void sell(String sku) {
		}

	}

	static class MaxBelowLease {

		@DistributedLock(leaseTime = "6s", maxHold = "${short}")
		void sell(String sku) {
		}

	}

	static class MinAboveMax {

		@DistributedLock(minHold = "${long}", maxHold = "1h")
		void sell(String sku) {
		}

	}

	static class MinAboveLease {

		@DistributedLock(minHold = "1m", leaseTime = "30s", autoRenew = false)
		void sell(String sku) {
		}

	}

	static class SemaphoreWait {

		@Semaphore(limit = 10, waitTime = "soon")
		void call() {
		}

	}

	static class SemaphoreLease {

		@Semaphore(limit = 10, leaseTime = "99ms")
		void call() {
		}

	}

	static class SemaphoreMaxHold {

		@Semaphore(limit = 10, maxHold = "10")
		void call() {
		}

	}

	static class SemaphoreMinHold {

		@Semaphore(limit = 10, minHold = "${text}")
		void call() {
		}

	}

	static class SemaphoreMinAboveMax {

		@Semaphore(limit = 10, minHold = "2s", maxHold = "1s")
		void call() {
		}

	}

	static class SemaphoreWithoutRenewal {

		@Semaphore(limit = 10, maxHold = "1s", autoRenew = false)
		void call() {
		}

	}

}
