package io.holdfast.sample;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

import io.holdfast.LockLease;
import io.holdfast.LockService;
import io.holdfast.LockStatus;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import org.springframework.http.HttpMethod;
import org.springframework.jdbc.core.simple.JdbcClient;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Holder that freezes, and writers at two instances.
 */
class FreezeTests extends TwoInstancesTestCase {

	@BeforeAll
	static void start() {
		startTwo();
	}

	@Test
	@DisplayName("A frozen holder blocks others for its lease at most, notices the loss, and is refused")
	void isRefusedAfterItsLease() {
		FreezeResult freeze = first.post("/freeze?seconds=2&writers=7", FreezeResult.class);
		assertThat(freeze.instance()).isEqualTo(first.port());
		Outcome others = freeze.others();
		assertThat(others.succeeded()).isEqualTo(7);
		assertThat(others.failed()).isZero();
		assertThat(others.instances()).containsOnlyKeys(first.port(), second.port());
		assertThat(others.waits().maxMillis()).isBetween(1000L, others.millis());
		assertThat(freeze.noticed()).isTrue();
		assertThat(freeze.refusal()).contains("is not held any more");
	}

	@Test
	@DisplayName("The database refuses a holder whose lock Redis has lost, while its lease still counts as held")
	void isRefusedByTheDatabase() {
		int before = entries();
		FreezeResult freeze = second.post("/freeze?seconds=20&writers=5&lose=true", FreezeResult.class);
		assertThat(freeze.others().succeeded()).isEqualTo(5);
		assertThat(freeze.noticed()).isFalse();
		assertThat(freeze.refusal()).startsWith("The transaction under lock 'ledger' (fencing token ")
			.contains("was refused by the database");
		assertThat(entries() - before).isEqualTo(5);
	}

	@Test
	@DisplayName("A lock that is released by force goes to the next waiter at once, and its holder is refused")
	void isRefusedAfterForcedRelease() throws Exception {
		CompletableFuture<FreezeResult> freezing = CompletableFuture
			.supplyAsync(() -> first.post("/freeze?seconds=20&writers=4", FreezeResult.class));
		LockService locks = second.context().getBean(LockService.class);
		await().atMost(Duration.ofSeconds(20)).until(() -> {
			LockStatus status = locks.status(Ledger.LOCK);
			return status.isLocked() && status.waiting() > 0;
		});
		assertThat(locks.admin().forceRelease(Ledger.LOCK)).isTrue();
		FreezeResult freeze = freezing.get(60, TimeUnit.SECONDS);
		assertThat(freeze.others().succeeded()).isEqualTo(4);
		// Whether the holder knew before depends on the message of Redis.
		assertThat(freeze.refusal()).isNotNull();
	}

	@Test
	@DisplayName("A single holder is frozen at a time, at any instance")
	void refusesToFreezeTwice() {
		try (LockLease frozen = second.context().getBean(LockService.class).acquire("freeze")) {
			first.expectProblem(HttpMethod.POST, "/freeze?seconds=1&writers=1", 409, "A holder is frozen already");
			frozen.ensureHeld();
		}
	}

	private static int entries() {
		return first.context()
			.getBean(JdbcClient.class)
			.sql("SELECT COUNT(*) FROM ledger")
			.query(Integer.class)
			.single();
	}

}
