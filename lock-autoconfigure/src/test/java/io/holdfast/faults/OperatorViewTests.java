package io.holdfast.faults;

import java.time.Duration;
import java.time.Instant;

import io.holdfast.LockLease;
import io.holdfast.LockMode;
import io.holdfast.LockRequest;
import io.holdfast.actuate.FleetDescriptor;
import io.holdfast.actuate.LocksEndpoint;
import io.holdfast.actuate.ResourceDescriptor;
import io.holdfast.actuate.UsageDescriptor;
import io.holdfast.engine.LeaseEngine;
import io.holdfast.engine.fleet.StandingQuery.Order;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import static io.holdfast.faults.Fleet.SOON;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * What operators see of locks whose age the store alone does not know.
 */
class OperatorViewTests extends FaultTestCase {

	private static final LockRequest READ = LockRequest.of("rw").mode(LockMode.READ);

	private static final Duration LONG = Duration.ofMillis(300);

	@Test
	@DisplayName("A lock of readers is as old as the oldest of them, however many came later")
	void oldestReader() {
		Instance first = this.fleet.start();
		Instance second = this.fleet.start();
		LocksEndpoint endpoint = new LocksEndpoint(second.context().getBean(LeaseEngine.class));
		await("each other").atMost(SOON).until(() -> endpoint.locks(null, null).fleet().instances().size() == 2);
		try (LockLease old = first.acquire(READ)) {
			Instant granted = Instant.now();
			await("age").until(() -> Duration.between(granted, Instant.now()).compareTo(LONG) > 0);
			try (LockLease young = second.acquire(READ); LockLease other = second.acquire("other")) {
				assertThat(young.fencingToken()).isBetween(old.fencingToken(), other.fencingToken());
				// An instance may be too slow to tell in time.
				await("both have told").atMost(SOON).untilAsserted(() -> {
					FleetDescriptor found = endpoint.locks(null, null, null, null, null, LONG, Order.AGE, null).fleet();
					assertThat(found.locks()).extracting(ResourceDescriptor::key).startsWith("rw");
					assertThat(found.locks().get(0).granted()).isBefore(granted.plus(LONG.dividedBy(2)));
					found = endpoint.locks(null, null, null, null, null, null, Order.AGE, null).fleet();
					assertThat(found.locks()).extracting(ResourceDescriptor::key).containsExactly("rw", "other");
				});
			}
		}
	}

}
