package io.holdfast.chaos;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

import io.holdfast.testing.TestRedis;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * The long form of {@link ChaosTests}, in consecutive rounds. System properties of the
 * tests' JVM: {@code -Dholdfast.test.chaos-time} is the whole time, for example {@code
 * PT8H}, an hour by default; {@code -Dholdfast.test.seed} is the first seed; odd seeds
 * use Sentinel. The figures go to {@code target/chaos/figures.txt}.
 */
@Tag("chaos")
@Timeout(value = 1, unit = TimeUnit.DAYS)
class ChaosRunTests {

	private static final Duration TIME = Duration.parse(System.getProperty("holdfast.test.chaos-time", "PT1H"));

	@Test
	@DisplayName("Three JVMs violate no property under faults for a long time")
	void rounds() throws Exception {
		long seed = Long.getLong("holdfast.test.seed", System.currentTimeMillis());
		Figures figures = new Figures();
		List<String> violations = new ArrayList<>();
		for (long end = System.nanoTime() + TIME.toNanos(); System.nanoTime() < end; seed++) {
			long current = seed;
			try (TestRedis redis = TestRedis.open()) {
				Servers servers = (seed % 2 == 0) ? Servers.Pair.start(redis) : Servers.Replicated.start(redis);
				new Round(seed, Duration.ofSeconds(60)).run(servers, figures)
					.forEach((violation) -> violations.add("seed " + current + ": " + violation));
			}
			print(current, violations, figures);
		}
		assertThat(violations).isEmpty();
	}

	private static void print(long seed, List<String> violations, Figures figures) throws IOException {
		String text = figures + "seed of the last round " + seed + "\n" + String.join("\n", violations);
		System.out.println(text);
		Path file = Path.of("target", "chaos", "figures.txt");
		Files.createDirectories(file.getParent());
		Files.writeString(file, text);
	}

}
