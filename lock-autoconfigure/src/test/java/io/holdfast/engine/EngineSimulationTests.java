package io.holdfast.engine;

import java.util.stream.LongStream;

import io.holdfast.engine.SimulatedUser.Workload;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import org.springframework.boot.logging.LogLevel;
import org.springframework.boot.logging.LoggingSystem;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Histories of the engine in virtual time. A failure names its seed and prints what
 * happened; {@code -Dholdfast.test.seed=N} runs that one alone, with
 * {@code -Dholdfast.test.histories=N} there are more.
 */
class EngineSimulationTests {

	private static final int HISTORIES = Integer.getInteger("holdfast.test.histories", 2000);

	/** Lost leases are logged; here they are lost by the thousand. */
	private static final LoggingSystem LOGGING = LoggingSystem.get(EngineSimulationTests.class.getClassLoader());

	@BeforeAll
	static void beQuiet() {
		LOGGING.setLogLevel("io.holdfast.engine", LogLevel.OFF);
	}

	@AfterAll
	static void beLoudAgain() {
		LOGGING.setLogLevel("io.holdfast.engine", null);
	}

	@ParameterizedTest
	@EnumSource
	void withoutFaultsEverythingIsGrantedInTurnAndNothingIsLost(Workload workload) {
		seeds(HISTORIES / 4).forEach((seed) -> {
			Simulation simulation = history(seed, Faults.none(), workload);
			assertThat(simulation.granted).isPositive();
		});
	}

	@ParameterizedTest
	@EnumSource
	void underFaultsNoMoreHoldThanMayAndNothingStays(Workload workload) {
		int[] counts = new int[3];
		seeds(HISTORIES).forEach((seed) -> {
			Simulation simulation = history(seed, Faults.all(), workload);
			counts[0] += simulation.granted;
			counts[1] += simulation.timedOut;
			counts[2] += simulation.lost;
		});
		// The histories are worth something only if all of it happens in them.
		assertThat(seeds(HISTORIES).count() == 1 || counts[0] > HISTORIES).as("grants: %d", counts[0]).isTrue();
		assertThat(seeds(HISTORIES).count() == 1 || counts[1] > HISTORIES).as("time-outs: %d", counts[1]).isTrue();
		assertThat(seeds(HISTORIES).count() == 1 || counts[2] > HISTORIES / 10).as("losses: %d", counts[2]).isTrue();
	}

	@ParameterizedTest
	@EnumSource
	void underFaultsWithoutOrderNoMoreHoldThanMayAndNothingStays(Workload workload) {
		seeds(HISTORIES).forEach((seed) -> history(seed, Faults.allUnordered(), workload));
	}

	@Test
	void underFaultsAndChangingLimitsNoMoreHoldThanMayAndNothingStays() {
		seeds(HISTORIES).forEach((seed) -> history(seed, Faults.allAndAnOperator(), Workload.SEMAPHORES));
	}

	@ParameterizedTest
	@EnumSource
	void underFaultsAndWithoutConfirmationsNoMoreHoldThanMayAndNothingStays(Workload workload) {
		seeds(HISTORIES).forEach((seed) -> history(seed, Faults.allAndConfirmations(), workload));
	}

	private static LongStream seeds(int count) {
		Long seed = Long.getLong("holdfast.test.seed");
		return (seed != null) ? LongStream.of(seed) : LongStream.range(0, count);
	}

	private static Simulation history(long seed, Faults faults, Workload workload) {
		Simulation simulation = new Simulation(seed, faults, workload, 2);
		try {
			simulation.run(3, 8, 6);
		}
		catch (AssertionError | RuntimeException ex) {
			throw new AssertionError("seed " + seed + ": " + ex.getMessage(), ex);
		}
		return simulation;
	}

}
