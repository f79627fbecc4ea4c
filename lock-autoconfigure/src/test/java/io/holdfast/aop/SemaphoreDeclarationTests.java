package io.holdfast.aop;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

import io.holdfast.SemaphoreRequest;
import io.holdfast.annotation.Fairness;
import io.holdfast.annotation.Semaphore;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Requests of {@link Semaphore @Semaphore}.
 */
class SemaphoreDeclarationTests {

	private static final Map<String, Object> PROPERTIES = Map.of("limit", "7", "wait", "2m", "name", "berlin");

	static Stream<Arguments> attributes() {
		SemaphoreRequest request = limited(10);
		return Stream.of(asks(request, "limit", 10), asks(limited(1_000_000_000), "limit", 1_000_000_000),
				asks(limited(20), "limitString", " 20 "), asks(request.permits(10), "limit", 10, "permits", 10),
				asks(request.fair(true), "limit", 10, "fairness", Fairness.FAIR),
				asks(request.fair(false), "limit", 10, "fairness", Fairness.UNFAIR),
				asks(SemaphoreRequest.of("berlin:berlin", 7)
					.name("berlin")
					.waitTime(Duration.ofMinutes(2))
					.minHold(Duration.ofMinutes(2)), "name", "${name}", "key", "'${name}'", "limitString", "${limit}",
						"waitTime", "${wait}", "minHold", "${wait}"));
	}

	private static SemaphoreRequest limited(int limit) {
		return SemaphoreRequest.of("s", limit).name("s");
	}

	private static Arguments asks(SemaphoreRequest request, Object... attributes) {
		return Arguments.argumentSet(List.of(attributes).toString(), request, attributes);
	}

	@ParameterizedTest
	@MethodSource("attributes")
	@DisplayName("Declared values are in the request; the service decides undeclared values")
	void request(SemaphoreRequest expected, Object[] attributes) {
		boolean named = List.of(attributes).contains("name");
		Class<?> type = DeclaredType.with(Semaphore.class,
				Stream.concat(named ? Stream.of() : Stream.of("name", "s"), Stream.of(attributes)).toArray());
		try (LockedContext context = LockedContext.with(PROPERTIES, type)) {
			DeclaredType.sell(context.bean(type));
			assertThat(context.semaphores().requests()).containsExactly(expected);
		}
	}

}
