package io.holdfast.faults;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Stream;

import io.holdfast.Lease;
import io.holdfast.LockLease;
import io.holdfast.LockMode;
import io.holdfast.LockRequest;
import io.holdfast.PermitLease;
import io.holdfast.ReleaseResult;
import io.holdfast.SemaphoreRequest;
import io.holdfast.testing.RedisTestCase;
import io.holdfast.testing.Slow;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import static io.holdfast.faults.Fleet.SOON;
import static org.assertj.core.api.Assertions.assertThat;

/**
 * Subscriptions are killed, or not to be had, while permits, or a turn to read or write,
 * are waited for. That costs time, and never a turn.
 */
@Slow
class PermitWakeUpTests extends RedisTestCase {

	private static final String KEY = "wake-up";

	private static final Duration LEASE = Duration.ofMinutes(5);

	private static final Duration NEARLY_ALL = Duration.ofMinutes(4);

	private static final SemaphoreRequest ONE_OF_TWO = SemaphoreRequest.of(KEY, 2).waitForever().leaseTime(LEASE);

	/** Asks again after 24 s at the earliest: what comes sooner, came by a wake-up. */
	private static final String ASK_SELDOM = "holdfast.wake-up.handoff-timeout=60s";

	/** Asks again after 500 ms at the latest. */
	private static final String ASK_OFTEN = "holdfast.wake-up.handoff-timeout=1s";

	private Fleet fleet;

	@BeforeEach
	void open() {
		this.fleet = Fleet.on(this.redis, this.redis.startServer());
	}

	private void awaitQueued(int requests) {
		this.fleet.awaitLength(this.fleet.semaphoreKey(KEY, "queue"), requests);
	}

	@Test
	@DisplayName("F19 subscriptions killed, then a release: the waiter has its permit, and wake-ups work again")
	void released() {
		Instance instance = this.fleet.start(ASK_SELDOM);
		Instance other = this.fleet.start(ASK_SELDOM);
		this.fleet.awaitListening(2);
		PermitLease held = instance.acquire(ONE_OF_TWO.permits(2));
		CompletableFuture<PermitLease> waiting = other.acquireInBackground(ONE_OF_TWO);
		awaitQueued(1);
		this.fleet.killSubscriptions();
		assertThat(held.release()).isEqualTo(ReleaseResult.RELEASED);
		assertThat(waiting).succeedsWithin(SOON).satisfies(PermitLease::release);
		this.fleet.awaitListening(2);
		PermitLease again = other.acquire(ONE_OF_TWO.permits(2));
		CompletableFuture<PermitLease> wokenUp = instance.acquireInBackground(ONE_OF_TWO);
		awaitQueued(1);
		again.close();
		assertThat(wokenUp).succeedsWithin(SOON).satisfies(PermitLease::release);
		this.fleet.awaitNothingLeft();
	}

	@Test
	@DisplayName("F19 subscriptions killed, then the limit is raised: all waiters that fit have their permits")
	void limitRaised() {
		Instance instance = this.fleet.start(ASK_SELDOM);
		Instance other = this.fleet.start(ASK_SELDOM);
		this.fleet.awaitListening(2);
		instance.semaphores().admin().setLimit(KEY, 1);
		PermitLease held = instance.acquire(ONE_OF_TWO);
		CompletableFuture<PermitLease> second = other.acquireInBackground(ONE_OF_TWO);
		awaitQueued(1);
		CompletableFuture<PermitLease> third = instance.acquireInBackground(ONE_OF_TWO);
		awaitQueued(2);
		this.fleet.killSubscriptions();
		instance.semaphores().admin().setLimit(KEY, 3);
		assertThat(second).succeedsWithin(SOON).satisfies(PermitLease::release);
		assertThat(third).succeedsWithin(SOON).satisfies(PermitLease::release);
		assertThat(held.release()).isEqualTo(ReleaseResult.RELEASED);
		assertThat(instance.semaphores().admin().clearLimit(KEY)).isTrue();
		this.fleet.awaitNothingLeft();
	}

	@Test
	@DisplayName("F19 subscriptions killed again and again: every waiter for a permit has its turn")
	void killedRepeatedly() {
		Instance instance = this.fleet.start(ASK_OFTEN);
		Instance other = this.fleet.start(ASK_OFTEN);
		for (int i = 0; i < 10; i++) {
			PermitLease held = instance.acquire(ONE_OF_TWO.permits(2));
			CompletableFuture<PermitLease> waiting = other.acquireInBackground(ONE_OF_TWO);
			awaitQueued(1);
			this.fleet.awaitListening(2);
			this.fleet.killSubscriptions();
			held.close();
			assertThat(waiting).succeedsWithin(SOON).satisfies(PermitLease::release);
		}
		this.fleet.awaitNothingLeft();
	}

	@Test
	@DisplayName("F19 subscriptions killed, then a writer releases: reader and next writer have their turns")
	void writerReleased() {
		LockRequest read = LockRequest.of(KEY).mode(LockMode.READ).waitForever().leaseTime(LEASE);
		LockRequest write = read.mode(LockMode.EXCLUSIVE);
		Instance instance = this.fleet.start(ASK_SELDOM);
		Instance other = this.fleet.start(ASK_SELDOM);
		this.fleet.awaitListening(2);
		LockLease held = instance.acquire(write);
		CompletableFuture<LockLease> reader = other.acquireInBackground(read);
		this.fleet.awaitLength(this.fleet.queueKey(KEY), 1);
		CompletableFuture<LockLease> writer = this.fleet.start(ASK_SELDOM).acquireInBackground(write);
		this.fleet.awaitLength(this.fleet.queueKey(KEY), 2);
		this.fleet.killSubscriptions();
		assertThat(held.release()).isEqualTo(ReleaseResult.RELEASED);
		// Neither could be told, so the one that listens again first comes first.
		assertThat(CompletableFuture.anyOf(reader, writer)).succeedsWithin(SOON);
		CompletableFuture<LockLease> first = reader.isDone() ? reader : writer;
		CompletableFuture<LockLease> second = (first == reader) ? writer : reader;
		assertThat(second).isNotDone();
		assertThat(first.join().release()).isEqualTo(ReleaseResult.RELEASED);
		assertThat(second).succeedsWithin(SOON).satisfies(LockLease::release);
		this.fleet.awaitNothingLeft();
	}

	private void assertHandOff(Pool pool, Instance from, Instance to, Duration least) {
		PoolRequest request = new PoolRequest(pool, KEY).waitTime(SOON).leaseTime(LEASE);
		Lease held = request.acquire(from);
		CompletableFuture<Lease> waiting = request.all().acquireInBackground(to);
		pool.awaitQueued(this.fleet, KEY, 1);
		assertThat(held.release()).isEqualTo(ReleaseResult.RELEASED);
		assertThat(waiting).succeedsWithin(SOON).satisfies((lease) -> {
			assertThat(pool.leaseLeft(this.fleet, KEY)).as("how long it has it").isGreaterThan(least);
			assertThat(request.tryAcquire(from)).isEmpty();
			assertThat(lease.release()).isEqualTo(ReleaseResult.RELEASED);
		});
	}

	@ParameterizedTest(
			name = "Polling: turns are passed on without any subscription, and to and from who has one ({0})")
	@EnumSource
	void polling(Pool pool) {
		Instance instance = this.fleet.start("holdfast.wake-up.mode=polling", ASK_SELDOM);
		Instance other = this.fleet.start("holdfast.wake-up.mode=polling", ASK_SELDOM);
		assertHandOff(pool, instance, other, NEARLY_ALL);
		assertThat(this.fleet.channels()).isZero();
		Instance subscribed = this.fleet.start(ASK_SELDOM);
		this.fleet.awaitListening(1);
		assertHandOff(pool, subscribed, other, NEARLY_ALL);
		// By a wake-up: as long as a hand-off lasts at first.
		assertHandOff(pool, instance, subscribed, Duration.ZERO);
		pool.assertAllFree(this.fleet, KEY, instance, other, subscribed);
	}

	@ParameterizedTest(name = "F35 only the releasing user may not publish: the waiter has its turn when it asks ({0})")
	@EnumSource
	void releaserMayNotPublish(Pool pool) {
		this.fleet.onServer((connection) -> connection.execute("ACL",
				Stream.of("SETUSER", "app", "on", ">secret", "~*", "resetchannels", "+@all")
					.map(String::getBytes)
					.toArray(byte[][]::new)));
		Instance instance = this.fleet.start("spring.data.redis.username=app", "spring.data.redis.password=secret",
				ASK_OFTEN);
		Instance other = this.fleet.start(ASK_OFTEN);
		this.fleet.awaitListening(1);
		assertHandOff(pool, instance, other, NEARLY_ALL);
		assertHandOff(pool, other, instance, NEARLY_ALL);
		pool.assertAllFree(this.fleet, KEY, instance, other);
	}

}
