package io.holdfast.fleet;

import java.time.Duration;
import java.util.List;

import io.holdfast.LockLease;
import io.holdfast.LockRequest;
import io.holdfast.LockService;
import io.holdfast.engine.EngineSettings;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Whose lock it is, and how long one waits for it.
 */
class OwnershipTests extends FleetTestCase {

	private static List<LockService> services;

	@BeforeAll
	static void start() {
		// Asking again would come far too late: only a message wakes a waiter in time.
		services = fleet.start(2, "holdfast.wake-up.retry-interval=60s", "holdfast.wake-up.handoff-timeout=30s");
	}

	@Test
	@DisplayName("S4 only the owner unlocks: a release leaves alone what another client wrote in between")
	void releaseComparesTheToken() {
		LockLease lease = services.get(0).acquire("mine");
		fleet.template().opsForValue().set(fleet.lockKey("mine"), "stranger", Duration.ofSeconds(20));
		lease.release();
		assertThat(fleet.owner("mine")).isEqualTo("stranger");
		assertThat(services.get(1).tryAcquire("mine")).isEmpty();
		assertThat(services.get(1).admin().forceRelease("mine")).isTrue();
		assertThat(fleet.owner("mine")).isNull();
	}

	@Test
	@DisplayName("S4 S18 the value of the lock key is the owner's own, and another one at each grant")
	void everyGrantHasItsToken() {
		String first;
		try (LockLease lease = services.get(0).acquire("token")) {
			first = fleet.owner("token");
			assertThat(lease.isHeld()).isTrue();
			assertThat(services.get(1).tryAcquire("token")).isEmpty();
			assertThat(fleet.owner("token")).isEqualTo(first);
		}
		try (LockLease lease = services.get(1).acquire("token")) {
			assertThat(lease.isHeld()).isTrue();
			assertThat(fleet.owner("token")).isNotBlank().isNotEqualTo(first);
		}
	}

	@Test
	@DisplayName("S7 blocking or not: one attempt fails at once, a waiter is woken up by a message, not by asking again")
	void waitersAreWokenUp() {
		LockLease lease = services.get(0).acquire("wake");
		assertThat(services.get(1).tryAcquire("wake")).isEmpty();
		Attempt<LockLease> attempt = Attempt.start(services.get(1), LockRequest.of("wake"));
		fleet.awaitWaiting("wake", 1);
		lease.release();
		attempt.lease(Fleet.PROMPT).release();
	}

	@Test
	@DisplayName("S7 the defaults: a lease of 30 s, a wait of 10 s, asking again every 200 ms")
	void defaults() {
		EngineSettings defaults = EngineSettings.defaults();
		assertThat(defaults.leaseTime()).isEqualTo(Duration.ofSeconds(30));
		assertThat(defaults.waitTime()).isEqualTo(Duration.ofSeconds(10));
		assertThat(defaults.retryInterval()).isEqualTo(Duration.ofMillis(200));
		try (LockLease lease = services.get(0).acquire("defaults")) {
			assertThat(lease.remaining()).isBetween(Duration.ofSeconds(25), Duration.ofSeconds(30));
			assertThat(fleet.ttl("defaults")).isBetween(25_000L, 30_000L);
		}
	}

}
