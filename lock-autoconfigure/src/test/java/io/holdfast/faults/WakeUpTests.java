package io.holdfast.faults;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;

import io.holdfast.LockLease;
import io.holdfast.LockRequest;
import io.holdfast.ReleaseResult;
import io.holdfast.testing.RedisTestCase;
import io.holdfast.testing.Slow;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import org.springframework.data.redis.core.script.RedisScript;

import static io.holdfast.faults.Fleet.SOON;
import static org.assertj.core.api.Assertions.assertThat;

/**
 * Wake-ups are lost, or not to be had at all. That costs time, and never a turn.
 */
class WakeUpTests extends RedisTestCase {

	private static final String KEY = "wake-up";

	private static final LockRequest REQUEST = LockRequest.of(KEY).waitForever().leaseTime(Duration.ofMinutes(5));

	/** Asks again after 24 s at the earliest: what comes sooner, came by a wake-up. */
	private static final String ASK_SELDOM = "holdfast.wake-up.handoff-timeout=60s";

	/** Asks again after 500 ms at the latest. */
	private static final String ASK_OFTEN = "holdfast.wake-up.handoff-timeout=1s";

	/** Hands the lock to the head of the queue, as a release does, without a message. */
	private static final RedisScript<Long> SILENT_HAND_OFF = RedisScript.of("""
			local head = redis.call('ZPOPMIN', KEYS[2])[1]
			local token, claim = string.match(head, '^(%x+:%d+):(%d+):')
			redis.call('SET', KEYS[1], token, 'PX', claim)
			local last, room = string.match(redis.call('GET', KEYS[3]), '^(%d+) ?(%d*)$')
			local fence = last + (tonumber(room) or 64)
			redis.call('SET', KEYS[3], string.format('%.0f', fence), 'KEEPTTL')
			return fence
			""", Long.class);

	private Fleet fleetWithServer(String... extraConfig) {
		return Fleet.on(this.redis, this.redis.startServer(extraConfig));
	}

	private static void assertBothHandOff(Fleet fleet, Instance one, Instance other) {
		assertHandOff(fleet, one, other);
		assertHandOff(fleet, other, one);
		fleet.awaitNothingLeft();
	}

	private static void assertHandOff(Fleet fleet, Instance from, Instance to) {
		LockLease held = from.acquire(REQUEST);
		CompletableFuture<LockLease> waiting = to.acquireInBackground(REQUEST);
		fleet.awaitQueued(KEY);
		assertThat(to.tryAcquire(KEY)).isEmpty();
		assertThat(waiting).isNotDone();
		assertThat(held.release()).isEqualTo(ReleaseResult.RELEASED);
		assertThat(from.tryAcquire(KEY)).as("free for others between the two").isEmpty();
		assertThat(waiting).succeedsWithin(SOON).satisfies((lease) -> {
			assertThat(lease.fencingToken()).isGreaterThan(held.fencingToken());
			assertThat(lease.release()).isEqualTo(ReleaseResult.RELEASED);
		});
	}

	@Test
	@DisplayName("F19 subscriptions killed, then a release: the waiter has its turn, and wake-ups work again")
	void subscriptionsKilled() {
		Fleet fleet = fleetWithServer();
		Instance instance = fleet.start(ASK_SELDOM);
		Instance other = fleet.start(ASK_SELDOM);
		fleet.awaitListening(2);
		LockLease held = instance.acquire(REQUEST);
		CompletableFuture<LockLease> waiting = other.acquireInBackground(REQUEST);
		fleet.awaitQueued(KEY);
		fleet.killSubscriptions();
		assertThat(held.release()).isEqualTo(ReleaseResult.RELEASED);
		assertThat(waiting).succeedsWithin(SOON).satisfies(LockLease::release);
		fleet.awaitListening(2);
		assertBothHandOff(fleet, instance, other);
	}

	@Slow
	@Test
	@DisplayName("F19 subscriptions killed again and again: every waiter has its turn")
	void subscriptionsKilledRepeatedly() {
		Fleet fleet = fleetWithServer();
		Instance instance = fleet.start(ASK_OFTEN);
		Instance other = fleet.start(ASK_OFTEN);
		for (int i = 0; i < 10; i++) {
			LockLease held = instance.acquire(REQUEST);
			CompletableFuture<LockLease> waiting = other.acquireInBackground(REQUEST);
			fleet.awaitQueued(KEY);
			fleet.awaitListening(2);
			fleet.killSubscriptions();
			held.close();
			assertThat(waiting).succeedsWithin(SOON).satisfies(LockLease::release);
		}
		fleet.awaitNothingLeft();
	}

	@Slow
	@Test
	@DisplayName("F19 the message of a hand-off lost: the waiter asks by itself, and has the whole lease")
	void messageLost() {
		Fleet fleet = Fleet.on(this.redis);
		LockLease held = fleet.start(ASK_OFTEN).acquire(REQUEST);
		CompletableFuture<LockLease> waiting = fleet.start(ASK_OFTEN).acquireInBackground(REQUEST);
		fleet.awaitQueued(KEY);
		String lockKey = fleet.lockKey(KEY);
		Long fence = fleet.observer()
			.execute(SILENT_HAND_OFF, List.of(lockKey, "{" + lockKey + "}:queue", "{" + lockKey + "}:fence"));
		assertThat(waiting).succeedsWithin(SOON).satisfies((lease) -> {
			assertThat(lease.fencingToken()).isEqualTo(fence);
			assertThat(fleet.timeToLive(KEY)).isGreaterThan(Duration.ofMinutes(4));
			assertThat(held.release()).as("of a lease that was taken away").isNotNull();
			assertThat(fleet.isLocked(KEY)).isTrue();
			assertThat(lease.release()).isEqualTo(ReleaseResult.RELEASED);
		});
		fleet.awaitNothingLeft();
	}

	@Test
	@DisplayName("A hand-off comes by a wake-up, long before the waiter would ask again")
	void wakeUp() {
		Fleet fleet = Fleet.on(this.redis);
		Instance instance = fleet.start(ASK_SELDOM);
		Instance other = fleet.start(ASK_SELDOM);
		fleet.awaitListening(2);
		assertBothHandOff(fleet, instance, other);
	}

	@Test
	@DisplayName("Polling: instances exclude one another and pass the lock on without any subscription")
	void polling() {
		Fleet fleet = Fleet.on(this.redis);
		Instance instance = fleet.start("holdfast.wake-up.mode=polling", ASK_SELDOM);
		Instance other = fleet.start("holdfast.wake-up.mode=polling", ASK_SELDOM);
		assertBothHandOff(fleet, instance, other);
		assertThat(fleet.channels()).isZero();
	}

	@Slow
	@Test
	@DisplayName("Polling and subscribed instances pass the lock to one another")
	void pollingAndSubscribed() {
		Fleet fleet = Fleet.on(this.redis);
		Instance polling = fleet.start("holdfast.wake-up.mode=polling", ASK_SELDOM);
		Instance subscribed = fleet.start(ASK_SELDOM);
		fleet.awaitListening(1);
		assertBothHandOff(fleet, polling, subscribed);
	}

	@Test
	@DisplayName("F35 a user without a right to channels locks, releases and passes on, by polling")
	void noRightToChannels() {
		Fleet fleet = fleetWithServer("--user app on >secret ~* resetchannels +@all");
		String[] login = { "spring.data.redis.username=app", "spring.data.redis.password=secret", ASK_SELDOM };
		Instance instance = fleet.start(login);
		Instance other = fleet.start(login);
		assertBothHandOff(fleet, instance, other);
		assertThat(fleet.channels()).isZero();
	}

	@Slow
	@Test
	@DisplayName("F35 only the releasing user may not publish: the waiter has its turn when it asks")
	void releaserMayNotPublish() {
		Fleet fleet = fleetWithServer("--user app on >secret ~* resetchannels +@all");
		Instance instance = fleet.start("spring.data.redis.username=app", "spring.data.redis.password=secret",
				ASK_OFTEN);
		Instance other = fleet.start(ASK_OFTEN);
		fleet.awaitListening(1);
		assertBothHandOff(fleet, instance, other);
	}

}
