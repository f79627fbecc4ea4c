package io.holdfast.aop;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

import io.holdfast.LockRequest;
import io.holdfast.SemaphoreRequest;
import io.holdfast.annotation.DistributedLock;
import io.holdfast.annotation.Fairness;
import io.holdfast.annotation.Semaphore;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Requests of {@link DistributedLock @DistributedLock} and {@link Semaphore @Semaphore}.
 */
class DeclaredRequestTests extends LockedTestCase {

	private static final Map<String, Object> PROPERTIES = Map.of("wait", "2m", "lease", "", "max", "1h", "min", "PT5S",
			"limit", "7", "name", "berlin");

	static Stream<Arguments> locks() {
		LockRequest request = LockRequest.of("t").name("t");
		return Stream.of(asks(request, "name", "t"),
				asks(request.waitTime(Duration.ZERO), "name", "t", "waitTime", "0"),
				asks(request.waitTime(Duration.ZERO), "name", "t", "waitTime", "0s"),
				asks(request.waitForever(), "name", "t", "waitTime", "-1"),
				asks(request.waitTime(Duration.ofSeconds(90)).leaseTime(Duration.ofMillis(100)), "name", "t",
						"waitTime", "1m30s", "leaseTime", "PT0.1S"),
				asks(request.waitTime(Duration.ofMinutes(2))
					.maxHold(Duration.ofHours(1))
					.minHold(Duration.ofSeconds(5)), "name", "t", "waitTime", "${wait}", "leaseTime", "${lease}",
						"maxHold", "${max}", "minHold", "${min}"),
				asks(request.autoRenew(false), "name", "t", "autoRenew", false),
				asks(request.lossMargin(Duration.ofSeconds(5)), "name", "t", "lossMargin", "${min}"),
				asks(request.minHold(Duration.ZERO), "name", "t", "minHold", "0"),
				asks(request.leaseTime(Duration.ofSeconds(30)).lossMargin(Duration.ofSeconds(10)), "name", "t",
						"lossMargin", "10s", "leaseTime", "30s"),
				asks(request.minHold(Duration.ofMinutes(1)).maxHold(Duration.ofMinutes(1)), "name", "t", "minHold",
						"1m", "maxHold", "60s"),
				asks(request.minHold(Duration.ofMinutes(1)).leaseTime(Duration.ofMinutes(1)).autoRenew(false), "name",
						"t", "minHold", "1m", "leaseTime", "1m", "autoRenew", false));
	}

	static Stream<Arguments> semaphores() {
		SemaphoreRequest request = limited(10);
		return Stream.of(asks(request, "name", "s", "limit", 10),
				asks(limited(1_000_000_000), "name", "s", "limit", 1_000_000_000),
				asks(limited(20), "name", "s", "limitString", " 20 "),
				asks(request.permits(10), "name", "s", "limit", 10, "permits", 10),
				asks(request.fair(true), "name", "s", "limit", 10, "fairness", Fairness.FAIR),
				asks(request.fair(false), "name", "s", "limit", 10, "fairness", Fairness.UNFAIR),
				asks(SemaphoreRequest.of("berlin:berlin", 7)
					.name("berlin")
					.waitTime(Duration.ofMinutes(2))
					.minHold(Duration.ofMinutes(2)), "name", "${name}", "key", "'${name}'", "limitString", "${limit}",
						"waitTime", "${wait}", "minHold", "${wait}"));
	}

	private static SemaphoreRequest limited(int limit) {
		return SemaphoreRequest.of("s", limit).name("s");
	}

	private static Arguments asks(Object request, Object... attributes) {
		return Arguments.argumentSet(List.of(attributes).toString(), request, attributes);
	}

	@ParameterizedTest
	@MethodSource("locks")
	@DisplayName("Declared values are in the request for a lock; the service decides undeclared values")
	void lock(LockRequest expected, Object[] attributes) {
		DeclaredType.sell(start(PROPERTIES, DeclaredType.with(DistributedLock.class, attributes)));
		assertThat(this.locks.requests()).containsExactly(expected);
	}

	@ParameterizedTest
	@MethodSource("semaphores")
	@DisplayName("Declared values are in the request for permits; the service decides undeclared values")
	void semaphore(SemaphoreRequest expected, Object[] attributes) {
		DeclaredType.sell(start(PROPERTIES, DeclaredType.with(Semaphore.class, attributes)));
		assertThat(this.semaphores.requests()).containsExactly(expected);
	}

}
