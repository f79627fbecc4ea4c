package io.holdfast.aop;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

import io.holdfast.LockRequest;
import io.holdfast.annotation.DistributedLock;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Times in the requests of {@link DistributedLock @DistributedLock}.
 */
class LockTimesTests {

	private static final Map<String, Object> PROPERTIES = Map.of("wait", "2m", "lease", "", "max", "1h", "min", "PT5S");

	static Stream<Arguments> times() {
		LockRequest request = LockRequest.of("t").name("t");
		return Stream.of(asks(request), asks(request.waitTime(Duration.ZERO), "waitTime", "0"),
				asks(request.waitTime(Duration.ZERO), "waitTime", "0s"), asks(request.waitForever(), "waitTime", "-1"),
				asks(request.waitTime(Duration.ofSeconds(90)).leaseTime(Duration.ofMillis(100)), "waitTime", "1m30s",
						"leaseTime", "PT0.1S"),
				asks(request.waitTime(Duration.ofMinutes(2))
					.maxHold(Duration.ofHours(1))
					.minHold(Duration.ofSeconds(5)), "waitTime", "${wait}", "leaseTime", "${lease}", "maxHold",
						"${max}", "minHold", "${min}"),
				asks(request.autoRenew(false), "autoRenew", false),
				asks(request.lossMargin(Duration.ofSeconds(5)), "lossMargin", "${min}"),
				asks(request.minHold(Duration.ZERO), "minHold", "0"),
				asks(request.leaseTime(Duration.ofSeconds(30)).lossMargin(Duration.ofSeconds(10)), "lossMargin", "10s",
						"leaseTime", "30s"),
				asks(request.minHold(Duration.ofMinutes(1)).maxHold(Duration.ofMinutes(1)), "minHold", "1m", "maxHold",
						"60s"),
				asks(request.minHold(Duration.ofMinutes(1)).leaseTime(Duration.ofMinutes(1)).autoRenew(false),
						"minHold", "1m", "leaseTime", "1m", "autoRenew", false));
	}

	private static Arguments asks(LockRequest request, Object... attributes) {
		return Arguments.argumentSet(List.of(attributes).toString(), request, attributes);
	}

	@ParameterizedTest
	@MethodSource("times")
	@DisplayName("Declared times are in the request; the service decides undeclared times")
	void request(LockRequest expected, Object[] attributes) {
		Class<?> type = DeclaredType.with(DistributedLock.class,
				Stream.concat(Stream.of("name", "t"), Stream.of(attributes)).toArray());
		try (LockedContext context = LockedContext.with(PROPERTIES, type)) {
			DeclaredType.sell(context.bean(type));
			assertThat(context.locks().requests()).containsExactly(expected);
		}
	}

}
