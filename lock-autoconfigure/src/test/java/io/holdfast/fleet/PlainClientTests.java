package io.holdfast.fleet;

import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

import io.holdfast.LockLease;
import io.holdfast.LockRequest;
import io.holdfast.LockService;
import io.holdfast.LockStatus;
import io.holdfast.LockStatus.Owner;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Clients of the pattern in the documentation of Redis, and ours, with the same keys.
 */
class PlainClientTests extends FleetTestCase {

	private static final Duration LONG = Duration.ofMinutes(1);

	private static LockService first;

	private static LockService second;

	private static PlainClient plain;

	@BeforeAll
	static void start() {
		first = fleet.start();
		second = fleet.start();
		plain = fleet.plainClient();
	}

	@Test
	@DisplayName("S3 Our lock excludes a plain client, whose compare-and-delete does not touch it")
	void excludesPlainClient() {
		LockLease lease = first.acquire("ours");
		assertThat(plain.tryLock("ours", LONG)).isNull();
		assertThat(plain.unlock("ours", "a token of its own")).isFalse();
		assertThat(lease.isHeld()).isTrue();
		lease.release();
		String token = plain.tryLock("ours", LONG);
		assertThat(token).isNotNull();
		assertThat(plain.unlock("ours", String.valueOf(token))).isTrue();
	}

	@Test
	@DisplayName("S3 S4 Our lock has the plain form: its token frees it, and our late release leaves the next owner"
			+ " alone")
	void hasThePlainForm() {
		LockLease lease = first.acquire("form");
		assertThat(fleet.template().type(fleet.lockKey("form")).code()).isEqualTo("string");
		assertThat(fleet.ttl("form")).isPositive();
		assertThat(plain.unlock("form", String.valueOf(fleet.owner("form")))).isTrue();
		String token = plain.tryLock("form", LONG);
		lease.release();
		assertThat(fleet.owner("form")).as("owner after our late release").isEqualTo(token).isNotNull();
		assertThat(plain.unlock("form", String.valueOf(token))).isTrue();
	}

	@Test
	@DisplayName("S3 A plain client's lock excludes us, and we never touch it")
	void isExcludedByPlainClient() {
		String token = plain.tryLock("theirs", LONG);
		assertThat(first.tryAcquire("theirs")).isEmpty();
		assertThat(first.tryAcquire(LockRequest.of("theirs").waitTime(Duration.ofSeconds(1)))).isEmpty();
		LockStatus status = second.status("theirs");
		assertThat(status.owner()).isEqualTo(Owner.FOREIGN);
		assertThat(status.remaining()).isBetween(Duration.ofSeconds(30), LONG);
		assertThat(fleet.owner("theirs")).isEqualTo(token);
		assertThat(plain.unlock("theirs", String.valueOf(token))).isTrue();
		first.acquire("theirs").close();
	}

	@Test
	@DisplayName("S3 Our waiter is granted the lock soon after a plain client deletes its key, without a wake-up")
	void waitsForPlainRelease() {
		String token = plain.tryLock("deleted", LONG);
		Attempt<LockLease> attempt = Attempt.start(first, LockRequest.of("deleted").waitTime(Fleet.PATIENCE));
		fleet.awaitWaiting("deleted", 1);
		assertThat(plain.unlock("deleted", String.valueOf(token))).isTrue();
		attempt.get(Fleet.PROMPT).release();
	}

	@Test
	@DisplayName("S3 Our waiter is granted the lock soon after a plain client's key expires")
	void waitsForPlainExpiry() {
		Duration ttl = Duration.ofMillis(700);
		long from = System.nanoTime();
		plain.tryLock("expired", ttl);
		Attempt<LockLease> attempt = Attempt.start(first, LockRequest.of("expired").waitTime(Fleet.PATIENCE));
		attempt.get(ttl.plus(Fleet.PROMPT)).close();
		assertThat(Duration.ofNanos(attempt.endedAt() - from)).isGreaterThan(ttl.minusMillis(20));
	}

	@Test
	@DisplayName("S3 A plain client does not come between our release and the next waiter")
	void isNotOvertakenAtHandOff() {
		LockLease lease = first.acquire("passed on");
		Attempt<LockLease> attempt = Attempt.start(second, LockRequest.of("passed on").waitTime(Fleet.PATIENCE));
		fleet.awaitWaiting("passed on", 1);
		lease.release();
		assertThat(plain.tryLock("passed on", LONG)).isNull();
		attempt.get(Fleet.PROMPT).release();
	}

	@Test
	@DisplayName("S3 An unguarded counter is right under a lock that plain clients and ours take in turn")
	void counter() throws Exception {
		Data data = fleet.data();
		LockService third = fleet.start("holdfast.wake-up.retry-interval=10ms");
		new Crowd().add(2, () -> {
			for (int i = 0; i < 15; i++) {
				addLockedPlainly(data);
			}
		}).add(3, () -> {
			for (int i = 0; i < 15; i++) {
				data.addLocked(third, "mixed", LONG);
			}
		}).add(1, () -> {
			for (int i = 0; i < 5; i++) {
				data.addLocked(first, "mixed", LONG);
			}
		}).run();
		assertThat(data.get("mixed")).isEqualTo(2 * 15 + 3 * 15 + 5);
	}

	private static void addLockedPlainly(Data data) {
		String token = plain.tryLock("mixed", LONG);
		while (token == null) {
			LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(2));
			token = plain.tryLock("mixed", LONG);
		}
		data.add("mixed", 1);
		assertThat(plain.unlock("mixed", token)).isTrue();
	}

}
