package io.holdfast.chaos;

import java.time.Duration;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import io.holdfast.testing.Slow;
import io.holdfast.testing.TestRedis;
import io.holdfast.testing.WithRedis;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.slf4j.LoggerFactory;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * A short run of random faults on real processes. {@link ChaosRunTests} is the long form.
 */
@WithRedis
@Slow
class ChaosTests {

	/** {@code -Dholdfast.test.seed} of the tests' JVM selects other faults. */
	private static final long SEED = Long.getLong("holdfast.test.seed", 2);

	@Test
	@DisplayName("Three JVMs violate no property under faults")
	void round(TestRedis redis) throws Exception {
		Logger root = (Logger) LoggerFactory.getLogger(Logger.ROOT_LOGGER_NAME);
		Level level = root.getLevel();
		Figures figures = new Figures();
		assertThat(new Round(SEED, Duration.ofSeconds(20)).run(Servers.Pair.start(redis), figures)).as("seed %d", SEED)
			.isEmpty();
		System.out.println(figures);
		assertThat(figures.granted()).isGreaterThan(100);
		if (Round.passes(SEED) > 0) {
			assertThat(figures.passedOn()).isPositive();
		}
		assertThat(root.getLevel()).as("log level of the following tests").isEqualTo(level);
	}

}
