package io.holdfast.sample;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;

import io.holdfast.LockLease;
import io.holdfast.LockRequest;
import io.holdfast.LockService;
import io.holdfast.sample.Instances.Instance;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;

/**
 * Test of the console in a browser, for two instances.
 */
abstract class ConsoleTestCase extends BrowserTestCase {

	static Instance first;

	static Instance second;

	@BeforeAll
	static void start() {
		// Long enough that a state lasts from one refresh to the next.
		first = instances.start("--shop.quote-time=200ms");
		second = instances.start("--shop.quote-time=200ms");
	}

	@BeforeEach
	void open() {
		page.open(first.port());
	}

	static LockLease acquire(Instance instance, String key) {
		// A key may be longer than a note.
		String note = "note of " + key.substring(0, Math.min(key.length(), 100));
		return instance.context()
			.getBean(LockService.class)
			.acquireAsync(LockRequest.of(key).name("name of " + key).note(note))
			.join();
	}

	static CompletableFuture<LockLease> waitFor(Instance instance, String key) {
		return instance.context()
			.getBean(LockService.class)
			.acquireAsync(LockRequest.of(key).waitTime(Duration.ofMinutes(2)));
	}

	static void assertAnnounced(String announcement) {
		page.until("announced: " + announcement, () -> page.text("#announcement").equals(announcement));
	}

	/** Number of requests that the page began in a period, by its own clock. */
	static long requests(double from, double to) {
		return ((Number) page.script(
				"""
						return performance.getEntriesByType('resource').filter((each) => /actuator.(locks|semaphores)/.test(each.name)
							&& each.startTime > arguments[0] && each.startTime < arguments[1]).length;
						""",
				from, to))
			.longValue();
	}

}
