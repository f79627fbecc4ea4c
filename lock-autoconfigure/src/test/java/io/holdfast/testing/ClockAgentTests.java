package io.holdfast.testing;

import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.util.Date;
import java.util.List;
import java.util.function.LongSupplier;
import java.util.stream.Stream;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import static org.assertj.core.api.Assertions.assertThat;

class ClockAgentTests {

	private static final Duration LONG = ChildProcess.PATIENCE;

	@ParameterizedTest(name = "{0} minutes")
	@ValueSource(ints = { -10, 10 })
	@DisplayName("A child JVM sees a wrong time of day, in whatever way it asks, and the right time that passes")
	void shifted(int minutes) {
		long nanos = System.nanoTime();
		long millis = System.currentTimeMillis();
		List<Long> shown;
		try (ChildJvm child = ChildJvm.start(List.of(ClockAgent.option(Duration.ofMinutes(minutes))), Watch.class)) {
			shown = Stream.of(child.awaitLine("shown", LONG).split(" ")).skip(1).map(Long::parseLong).toList();
		}
		long expected = millis + Duration.ofMinutes(minutes).toMillis();
		assertThat(shown).hasSize(7);
		assertThat(shown.subList(0, 6))
			.allSatisfy((time) -> assertThat(time).isBetween(expected, expected + System.currentTimeMillis() - millis));
		assertThat(shown.get(6)).as("monotonic time").isBetween(nanos, System.nanoTime());
	}

	static final class Watch {

		private Watch() {
		}

		public static void main(String[] args) {
			LongSupplier reference = System::currentTimeMillis;
			System.out.printf("shown %d %d %d %d %d %d %d%n", System.currentTimeMillis(), reference.getAsLong(),
					Instant.now().toEpochMilli(), Clock.systemUTC().millis(), Clock.systemDefaultZone().millis(),
					new Date().getTime(), System.nanoTime());
		}

	}

}
