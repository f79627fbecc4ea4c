package io.holdfast.fleet;

import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;

/**
 * Tests with instances in JVMs of their own that are killed or frozen.
 */
abstract class WorkerFaultTestCase extends FleetTestCase {

	static final Duration LEASE = Duration.ofMillis(1200);

	/** Redis counts milliseconds by its own clock. */
	static final Duration CLOCK = Duration.ofMillis(20);

	/** Frozen and thawed. */
	static Worker steady;

	/** To be killed. */
	static final Deque<Worker> mortals = new ArrayDeque<>();

	@BeforeAll
	static void startWorkers() {
		steady = fleet.startWorker();
		for (int i = 0; i < 3; i++) {
			mortals.push(fleet.startWorker());
		}
		steady.awaitReady();
		mortals.forEach(Worker::awaitReady);
	}

	@AfterAll
	static void forgetWorkers() {
		mortals.clear();
	}

}
