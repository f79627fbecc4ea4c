package io.holdfast.aop;

import java.time.Duration;
import java.util.Map;
import java.util.function.Consumer;
import java.util.stream.Stream;

import io.holdfast.LockRequest;
import io.holdfast.annotation.DistributedLock;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * The times that {@link DistributedLock @DistributedLock} asks for.
 */
class LockTimesTests {

	private static final Map<String, Object> PROPERTIES = Map.of("wait", "2m", "lease", "", "max", "1h", "min", "PT5S");

	static Stream<Arguments> times() {
		LockRequest request = LockRequest.of("t").name("t");
		return Stream.of(asks("defaults", LeaseTimes::defaults, request),
				asks("simple", LeaseTimes::simple,
						request.waitTime(Duration.ofMillis(500)).leaseTime(Duration.ofSeconds(10))),
				asks("ISO", LeaseTimes::iso,
						request.waitTime(Duration.ofSeconds(10)).leaseTime(Duration.ofMillis(100))),
				asks("composite", LeaseTimes::composite,
						request.waitTime(Duration.ofSeconds(90)).leaseTime(Duration.ofDays(365))),
				asks("once", LeaseTimes::once, request.waitTime(Duration.ZERO)),
				asks("once, with unit", LeaseTimes::onceWithUnit, request.waitTime(Duration.ZERO)),
				asks("forever", LeaseTimes::forever, request.waitForever()),
				asks("placeholders", LeaseTimes::placeholders,
						request.waitTime(Duration.ofMinutes(2))
							.maxHold(Duration.ofHours(1))
							.minHold(Duration.ofSeconds(5))),
				asks("without renewal", LeaseTimes::withoutRenewal, request.autoRenew(false)),
				asks("longest hold", LeaseTimes::maxHold, request.maxHold(Duration.ofMillis(100))),
				asks("shortest hold", LeaseTimes::minHold, request.minHold(Duration.ofDays(365))),
				asks("loss margin", LeaseTimes::lossMargin, request.lossMargin(Duration.ofSeconds(5))),
				asks("longest loss margin", LeaseTimes::longestLossMargin,
						request.leaseTime(Duration.ofSeconds(30)).lossMargin(Duration.ofSeconds(10))),
				asks("no shortest hold", LeaseTimes::noMinHold, request.minHold(Duration.ZERO)),
				asks("both holds", LeaseTimes::bothHolds,
						request.minHold(Duration.ofMinutes(1)).maxHold(Duration.ofMinutes(1))),
				asks("shortest hold without renewal", LeaseTimes::minHoldWithoutRenewal,
						request.minHold(Duration.ofMinutes(1)).leaseTime(Duration.ofMinutes(1)).autoRenew(false)));
	}

	private static Arguments asks(String what, Consumer<LeaseTimes> call, LockRequest request) {
		return Arguments.argumentSet(what, call, request);
	}

	@ParameterizedTest
	@MethodSource("times")
	@DisplayName("What is declared is in the request, what is not is left to the service")
	void request(Consumer<LeaseTimes> call, LockRequest expected) {
		try (LockedContext context = LockedContext.with(PROPERTIES, LeaseTimes.class)) {
			call.accept(context.bean(LeaseTimes.class));
			assertThat(context.locks().requests()).containsExactly(expected);
		}
	}

	static class LeaseTimes {

		@DistributedLock(name = "t")
		void defaults() {
		}

		@DistributedLock(name = "t", lossMargin = "${min}")
		void lossMargin() {
		}

		@DistributedLock(name = "t", lossMargin = "10s", leaseTime = "30s")
		void longestLossMargin() {
		}

		@DistributedLock(name = "t", waitTime = "500ms", leaseTime = "10s")
		void simple() {
		}

		@DistributedLock(name = "t", waitTime = "PT10S", leaseTime = "PT0.1S")
		void iso() {
		}

		@DistributedLock(name = "t", waitTime = "1m30s", leaseTime = "365d")
		void composite() {
		}

		@DistributedLock(name = "t", waitTime = "0")
		void once() {
		}

		@DistributedLock(name = "t", waitTime = "0s")
		void onceWithUnit() {
		}

		@DistributedLock(name = "t", waitTime = "-1")
		void forever() {
		}

		@DistributedLock(name = "t", waitTime = "${wait}", leaseTime = "${lease}", maxHold = "${max}",
				minHold = "${min}")
		void placeholders() {
		}

		@DistributedLock(name = "t", autoRenew = false)
		void withoutRenewal() {
		}

		@DistributedLock(name = "t", maxHold = "100ms")
		void maxHold() {
		}

		@DistributedLock(name = "t", minHold = "365d")
		void minHold() {
		}

		@DistributedLock(name = "t", minHold = "0")
		void noMinHold() {
		}

		@DistributedLock(name = "t", minHold = "1m", maxHold = "60s")
		void bothHolds() {
		}

		@DistributedLock(name = "t", minHold = "1m", leaseTime = "1m", autoRenew = false)
		void minHoldWithoutRenewal() {
		}

	}

}
