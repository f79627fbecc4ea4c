package io.holdfast.engine;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collections;
import java.util.Comparator;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.LongStream;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import io.holdfast.engine.Simulation.Outcome;
import io.holdfast.engine.store.Resource.Kind;
import io.holdfast.testing.Slow;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.EnumSource.Mode;
import org.slf4j.LoggerFactory;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Histories of the engine in virtual time, each from a seed. A failing history is
 * shortened and printed. {@code docs/internals/development.md} tells how to repeat a
 * history, and how to run more.
 */
@Timeout(value = 1, unit = TimeUnit.DAYS)
class EngineSimulationTests {

	private static final int QUICK = 3_000;

	private static final Logger LOGGER = (Logger) LoggerFactory.getLogger("io.holdfast.engine");

	/** Log of failures inside events and callbacks. */
	private static final ListAppender<ILoggingEvent> ERRORS = new ListAppender<>();

	@BeforeAll
	static void listen() {
		// Thousands of leases are lost here, each with a warning.
		LOGGER.setLevel(Level.ERROR);
		LOGGER.addAppender(ERRORS);
		ERRORS.start();
	}

	@AfterAll
	static void listenNoMore() {
		LOGGER.setLevel(null);
		LOGGER.detachAppender(ERRORS);
	}

	private static Outcome run(Plan plan, Mutant mutant, boolean tracing) {
		ERRORS.list.clear();
		Outcome outcome = Simulation.run(plan, mutant, tracing);
		if (ERRORS.list.isEmpty()) {
			return outcome;
		}
		String first = ERRORS.list.get(0).getFormattedMessage();
		return new Outcome(List.of("logged as an error: " + first), outcome.trace(), 0, 0, 0, Map.of());
	}

	@Test
	@DisplayName("All properties hold under late, lost and repeated messages, stops, kills and lost data")
	void histories() throws IOException {
		String file = System.getProperty("holdfast.test.plan");
		if (file != null) {
			judge(Plan.parse(Files.readString(Path.of(file))));
			return;
		}
		Long seed = Long.getLong("holdfast.test.seed");
		if (seed != null) {
			judge(Plan.of(seed));
			return;
		}
		histories(Long.getLong("holdfast.test.first", 0), Integer.getInteger("holdfast.test.histories", QUICK));
	}

	@Slow
	@Test
	@DisplayName("All properties hold in many more histories")
	void moreHistories() {
		histories(QUICK, 100_000 - QUICK);
	}

	private static void histories(long first, int count) {
		long[] counts = new long[3];
		Map<Kind, Integer> handOvers = new EnumMap<>(Kind.class);
		LongStream.range(first, first + count).forEach((each) -> {
			Outcome outcome = judge(Plan.of(each));
			counts[0] += outcome.granted();
			counts[1] += outcome.refused();
			counts[2] += outcome.lost();
			outcome.handOvers().forEach((kind, times) -> handOvers.merge(kind, times, Integer::sum));
		});
		// Histories without these events would prove little.
		assertThat(counts[0]).as("grants").isGreaterThan(2L * count);
		assertThat(counts[1]).as("refusals").isGreaterThan(count);
		assertThat(counts[2]).as("losses").isGreaterThan(count / 10);
		assertThat(handOvers.keySet()).as("kinds of hand-overs").containsExactly(Kind.values());
		assertThat(handOvers.values()).as("hand-overs").allMatch((times) -> times > count / 100);
	}

	private static Outcome judge(Plan plan) {
		Outcome outcome = run(plan, Mutant.NONE, false);
		if (!outcome.violations().isEmpty()) {
			throw new AssertionError(report(plan, Mutant.NONE));
		}
		return outcome;
	}

	/** Return the property of the first violation. */
	private static String kind(Outcome outcome) {
		return outcome.violations().isEmpty() ? "" : outcome.violations().get(0).substring(0, 11);
	}

	private static Plan shrink(Plan plan, Mutant mutant) {
		String kind = kind(run(plan, mutant, false));
		return Shrinker.shrink(plan, (shorter) -> kind(run(shorter, mutant, false)).equals(kind));
	}

	private static String report(Plan plan, Mutant mutant) {
		Plan shortest = shrink(plan, mutant);
		Outcome outcome = run(shortest, mutant, true);
		return "With seed " + plan.setup().seed() + ":\n" + String.join("\n", outcome.violations()) + "\n\nThe plan:\n"
				+ shortest + "\nWhat happened:\n" + String.join("\n", outcome.trace());
	}

	@Slow
	@ParameterizedTest
	@EnumSource(mode = Mode.EXCLUDE, names = "NONE")
	@DisplayName("Each mutant is found, and shortened to a few steps that fail again")
	void mutants(Mutant mutant) {
		List<Long> seeds = LongStream.range(0, 5000)
			// Fail-overs make histories long, and no mutant needs a fail-over.
			.filter((each) -> Plan.of(each).steps().stream().noneMatch(Step.FailOver.class::isInstance))
			.filter((each) -> !run(Plan.of(each), mutant, false).violations().isEmpty())
			.limit(3)
			.boxed()
			.toList();
		assertThat(seeds).as("%s is found", mutant).isNotEmpty();
		// The shortened plans differ in their number of steps.
		List<Plan> plans = seeds.stream().map((seed) -> shrink(Plan.of(seed), mutant)).toList();
		Plan shortest = Collections.min(plans, Comparator.comparing((plan) -> plan.steps().size()));
		assertThat(shortest.steps()).as("%s", shortest).hasSizeLessThanOrEqualTo(8);
		assertThat(run(shortest, Mutant.NONE, false).violations()).isEmpty();
		Plan read = Plan.parse(shortest.toString());
		assertThat(read).isEqualTo(shortest);
		assertThat(run(read, mutant, false).violations()).isNotEmpty();
	}

	@Test
	@DisplayName("The delays of consecutive late commands add up, and excuse a refused request")
	void latenessAddsUp() {
		String steps = """
				Setup[seed=1, instances=1, keys=1, jitter=false, handOvers=0]
				Use[user=0, instance=0, gap=2, api=TRY_ASYNC, mode=EXCLUSIVE, key=0, permits=1, fair=true, waiting=%d, \
				lease=300, margin=0, renewal=true, minHold=0, hold=10, cancel=-1, extra=NONE, extraAt=0]
				Command[instance=0, number=0, fate=LATE, millis=400]
				Command[instance=0, number=1, fate=REPLY_LATE, millis=400]
				""";
		String failed = "Command[instance=0, number=2, fate=REPLY_FAILED, millis=1]";
		assertThat(judge(Plan.parse(steps.formatted(750))).refused()).isEqualTo(1);
		assertThat(judge(Plan.parse(steps.formatted(1200))).granted()).isEqualTo(1);
		assertThat(judge(Plan.parse(steps.formatted(1200) + failed)).refused()).isEqualTo(1);
	}

	@Test
	@DisplayName("A plan determines its history")
	void repeatable() {
		for (long seed = 0; seed < 200; seed++) {
			assertThat(trace(Plan.parse(Plan.of(seed).toString()))).isEqualTo(trace(Plan.of(seed)));
		}
	}

	/** Return the trace without fencing tokens, which grow with the time of day. */
	private static List<String> trace(Plan plan) {
		return run(plan, Mutant.NONE, true).trace()
			.stream()
			.map((line) -> line.replaceAll("fence=\\d+", "fence"))
			.toList();
	}

}
