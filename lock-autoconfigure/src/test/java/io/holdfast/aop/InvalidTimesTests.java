package io.holdfast.aop;

import java.util.Map;
import java.util.stream.Stream;

import io.holdfast.annotation.DistributedLock;
import io.holdfast.annotation.Semaphore;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

import static io.holdfast.aop.DeclaredType.refused;
import static org.assertj.core.api.Assertions.assertThat;

/**
 * Times of locks and semaphores that stop the start of an application.
 */
class InvalidTimesTests {

	private static final Map<String, Object> PROPERTIES = Map.of("long", "2h", "short", "5s", "text", "ages", "brief",
			"99ms");

	static Stream<Arguments> invalid() {
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

	@ParameterizedTest
	@MethodSource("invalid")
	@DisplayName("The start fails, and the message names place, value, problem and cure")
	void times(Class<?> type, String value, String problem, String cure) {
		InvalidDeclarationException failure = LockedContext.failure(PROPERTIES, type);
		String annotation = type.getDeclaredMethods()[0].getAnnotations()[0].annotationType().getSimpleName();
		assertThat(failure)
			.hasMessageStartingWith("@" + annotation + " on " + type.getName() + ".sell(String, int): " + value);
		assertThat(failure.getProblem()).contains(value, problem);
		assertThat(failure.getCure()).contains(cure);
	}

}
