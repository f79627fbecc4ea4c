package io.holdfast.redis;

import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;

import io.holdfast.engine.store.LeaseStore.AcquireCommand;
import io.holdfast.engine.store.LeaseStore.AcquireReply.Granted;
import io.holdfast.engine.store.LeaseStore.Renewal;
import io.holdfast.engine.store.LeaseStore.Standing;
import io.holdfast.engine.store.Resource;
import io.holdfast.engine.store.Resource.Kind;
import io.holdfast.engine.store.StoreCommandException;
import io.holdfast.redis.key.PermitKeys;
import io.holdfast.testing.TestRedis;
import io.holdfast.testing.WithRedis;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import org.springframework.data.redis.core.ZSetOperations.TypedTuple;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/**
 * The contract of permits in Redis over Lettuce, and changes of the keys by other
 * programs.
 */
@WithRedis
@Execution(ExecutionMode.CONCURRENT)
class RedisPermitStoreTests extends RedisPermitKeysContract {

	RedisPermitStoreTests(TestRedis redis) {
		super(redis);
	}

	@Test
	@DisplayName("A missing fence is replaced by a number above all earlier fences")
	void fencesOutliveTheirKey() {
		Granted first = granted(this.a.acquire(SEMAPHORE, command(this.a, "1", 1, Resource.ALL)));
		forgetFence(SEMAPHORE);
		long reported = busy(this.b.acquire(SEMAPHORE, all(this.b, "1"))).fence();
		assertThat(reported).isGreaterThanOrEqualTo(first.fence());
		Granted again = granted(this.a.acquire(SEMAPHORE, command(this.a, "1", 1, Resource.ALL)));
		assertThat(again.fence()).isGreaterThan(reported);
		forgetFence(SEMAPHORE);
		this.a.release(SEMAPHORE, command(this.a, "1", 1, Resource.ALL));
		assertThat(this.b.awaitWakeUp().fence()).isGreaterThan(again.fence());
		this.b.wakeUps.clear();
	}

	private void forgetFence(Resource resource) {
		this.redis.opsForHash().delete(keys(resource).state(), "fence");
	}

	@ParameterizedTest
	@ValueSource(strings = { "", "used", "until" })
	@DisplayName("A lost state, or a lost part of the state, is restored")
	void restoresState(String lost) {
		granted(acquire(this.a, "1", 2));
		granted(this.a.acquire(SEMAPHORE, command(this.a, "2", 1)));
		busy(acquire(this.b, "1", 3));
		busy(acquire(this.c, "1", 4));
		PermitKeys keys = keys(SEMAPHORE);
		if (lost.isEmpty()) {
			this.redis.delete(keys.state());
		}
		else {
			this.redis.opsForHash().delete(keys.state(), lost);
		}
		assertThat(state()).extracting(Standing::used, Standing::waiting).containsExactly(3, 2);
		busy(this.c.attempt(SEMAPHORE, command(this.c, "2", 3)));
		assertThat(stateOf(SEMAPHORE)).containsEntry("used", "3").containsEntry(this.a.token("1"), "2");
		assertAllLiveFor(SEMAPHORE, LEASE - 5000, LEASE);
		// All are found by the restored state, and have kept their places.
		busy(acquire(this.b, "1", 3));
		assertThat(renew(this.a, SEMAPHORE, "1", 2, 2 * LEASE)).isTrue();
		assertThat(release(this.c, "1", 4)).isFalse();
		assertThat(state()).extracting(Standing::used, Standing::waiting).containsExactly(3, 1);
		assertThat(release(this.a, "1", 5)).isTrue();
		this.b.awaitWakeUp();
		assertThat(state()).extracting(Standing::used, Standing::waiting).containsExactly(4, 0);
	}

	@Test
	@DisplayName("Waiters without state count as alive from then on, and are removed when their requests stop")
	void restoredWaitersGoToo() {
		granted(acquire(this.a, "1", 3));
		busy(this.b.acquire(SEMAPHORE, brief(command(this.b, "1", 5))));
		elapse(HANDOFF.plusMillis(200));
		this.redis.delete(keys(SEMAPHORE).state());
		busy(this.c.attempt(SEMAPHORE, command(this.c, "1", 1)));
		elapse(HANDOFF.plusMillis(200));
		busy(this.c.attempt(SEMAPHORE, command(this.c, "1", 1)));
		elapse(HANDOFF);
		granted(this.c.attempt(SEMAPHORE, command(this.c, "1", 1)));
	}

	@Test
	@DisplayName("Renewal finds its permits without the state, and all keys live equally long")
	void renewsWithoutState() {
		granted(this.a.acquire(SEMAPHORE, new AcquireCommand(this.a.token("1"), 1, LIMIT, true, 2 * LEASE, CLAIM)));
		granted(acquire(this.a, "2", 3));
		this.redis.delete(keys(SEMAPHORE).state());
		assertThat(renew(this.a, SEMAPHORE, "2", 3, LEASE)).isTrue();
		assertThat(renew(this.a, SEMAPHORE, "1", 1, LEASE)).isTrue();
		assertAllLiveFor(SEMAPHORE, 2 * LEASE - 5000, 2 * LEASE);
		busy(acquire(this.b, "1", 2));
		assertThat(stateOf(SEMAPHORE)).containsEntry("used", "4")
			.containsEntry("fence", "0")
			.containsOnlyKeys("used", "until", "asked", "fence", this.a.token("2"), this.b.token("1"));
		assertAllLiveFor(SEMAPHORE, 2 * LEASE - 5000, 2 * LEASE);
	}

	@Test
	@DisplayName("Ended leases leave nothing in the state, and foreign entries among the holders do no harm")
	void forgetsWhatHasEnded() {
		PermitKeys keys = keys(SEMAPHORE);
		granted(acquire(this.b, "1", 1));
		granted(this.a.acquire(SEMAPHORE, brief(command(this.a, "1", 3))));
		this.redis.opsForZSet().add(keys.holders(), "stranger's", 12);
		busy(acquire(this.c, "1", LIMIT));
		elapse(MORE_THAN_SHORT);
		assertThat(release(this.c, "1", LIMIT)).isFalse();
		assertThat(stateOf(SEMAPHORE)).containsOnlyKeys("used", "until", "asked", "fence").containsEntry("used", "1");
		assertThat(this.redis.opsForZSet().range(keys.holders(), 0, -1)).containsExactly(this.b.token("1") + ":1");
		this.redis.opsForZSet().add(keys.holders(), "stranger's", 8e12);
		this.redis.delete(keys.state());
		granted(acquire(this.c, "2", 1));
		assertThat(stateOf(SEMAPHORE)).containsEntry("used", "2");
	}

	@Test
	@DisplayName("A wait keeps its keys also when the state is gone")
	void waitsKeepKeysWithoutState() {
		granted(this.a.acquire(SEMAPHORE, new AcquireCommand(this.a.token("1"), LIMIT, LIMIT, true, 3000, CLAIM)));
		busy(acquire(this.c, "1", 1));
		this.redis.delete(keys(SEMAPHORE).state());
		busy(this.b.acquire(SEMAPHORE, brief(command(this.b, "1", 1))));
		assertAllLiveFor(SEMAPHORE, CLAIM, 2 * CLAIM);
	}

	@Test
	@DisplayName("Holders that another program deleted are no longer counted")
	void forgetsDeletedHolders() {
		granted(acquire(this.a, "1", 5));
		busy(acquire(this.b, "1", 2));
		this.redis.delete(keys(SEMAPHORE).holders());
		assertThat(renew(this.a, SEMAPHORE, "1", 5, LEASE)).isFalse();
		assertThat(state().used()).isZero();
		assertThat(release(this.a, "1", 5)).isFalse();
		this.b.awaitWakeUp();
		assertThat(stateOf(SEMAPHORE)).containsEntry("used", "2");
	}

	@ParameterizedTest
	@ValueSource(strings = { "holders", "queue", "state", "limit" })
	@DisplayName("A key of a wrong type is an error, and stays unchanged")
	void leavesWrongTypeAlone(String which) {
		granted(this.a.acquire(SEMAPHORE, command(this.a, "1", 2)));
		granted(this.a.acquire(SEMAPHORE, brief(command(this.a, "2", 1))));
		busy(this.b.acquire(SEMAPHORE, command(this.b, "1", 4)));
		elapse(MORE_THAN_SHORT);
		PermitKeys keys = keys(SEMAPHORE);
		String wrong = Map
			.of("holders", keys.holders(), "queue", keys.queue(), "state", keys.state(), "limit", keys.limit())
			.get(which);
		this.redis.delete(wrong);
		this.redis.opsForList().rightPush(wrong, "stranger's");
		Map<String, String> before = dump();
		assertThatExceptionOfType(StoreCommandException.class)
			.isThrownBy(() -> this.b.acquire(SEMAPHORE, command(this.b, "1", 4)))
			.withMessageContaining(KEY)
			.withMessageContaining("key-prefix")
			.matches((failure) -> !failure.isTemporary());
		assertThatExceptionOfType(StoreCommandException.class)
			.isThrownBy(() -> this.a.release(SEMAPHORE, command(this.a, "1", 2)));
		assertThatExceptionOfType(StoreCommandException.class).isThrownBy(() -> get(this.a.store.limit(SEMAPHORE, 1)));
		if (which.equals("holders")) {
			assertThatExceptionOfType(StoreCommandException.class).isThrownBy(() -> this.a.permits(SEMAPHORE));
		}
		if (!which.equals("limit")) {
			// A renewal could not count on any of the entry.
			assertThat(renew(this.a, SEMAPHORE, "1", 2, 2 * LEASE)).isFalse();
		}
		assertThat(dump()).isEqualTo(before);
	}

	private Map<String, String> dump() {
		return allKeys().stream()
			.collect(Collectors.toMap((key) -> key, (key) -> Arrays.toString(this.redis.dump(key))));
	}

	@Test
	@DisplayName("A string in place of a semaphore's holders is an error, since a semaphore has no exclusive lock")
	void leavesStringAlone() {
		String holders = keys(SEMAPHORE).holders();
		this.redis.opsForValue().set(holders, "stranger's");
		assertThatExceptionOfType(StoreCommandException.class).isThrownBy(() -> acquire(this.a, "1", 1));
		assertThatExceptionOfType(StoreCommandException.class).isThrownBy(() -> release(this.a, "1", 1));
		assertThatExceptionOfType(StoreCommandException.class).isThrownBy(this::state);
		assertThat(allKeys()).containsExactly(holders);
	}

	@Test
	@DisplayName("A key that another program replaced does not fail the renewal of other keys")
	void renewsBesideWrongType() {
		Resource another = new Resource(Resource.Kind.SEMAPHORE, "another");
		granted(acquire(this.a, "1", 1));
		granted(this.a.acquire(another, command(this.a, "2", 1)));
		this.redis.opsForValue().set(keys(SEMAPHORE).holders(), "stranger's");
		assertThat(this.a.renew(List.of(new Renewal(SEMAPHORE, this.a.token("1"), 1, LEASE),
				new Renewal(another, this.a.token("2"), 1, LEASE))))
			.containsExactly(false, true);
	}

	@Test
	@DisplayName("Waiters keep their order when the server's clock is set back")
	void keepsOrderWhenClockIsSetBack() {
		granted(acquire(this.a, "1", LIMIT));
		busy(acquire(this.b, "1", 1));
		String queue = keys(SEMAPHORE).queue();
		String first = this.b.token("1") + ":1:5000:5:s";
		this.redis.opsForZSet().add(queue, first, 8e15);
		for (int i = 9; i > 0; i--) {
			busy(acquire(this.c, "" + i, 1));
		}
		assertThat(this.redis.opsForZSet().range(queue, 0, -1)).startsWith(first, this.c.token("9") + ":1:5000:5:s",
				this.c.token("8") + ":1:5000:5:s", this.c.token("7") + ":1:5000:5:s");
	}

	@Test
	@DisplayName("A waiter of an instance that has left leaves no state after its turn")
	void forgetsWhoIsGone() {
		granted(acquire(this.a, "1", LIMIT));
		busy(acquire(this.b, "1", LIMIT));
		busy(acquire(this.c, "1", 1));
		leave(this.b);
		release(this.a, "1", LIMIT);
		this.c.awaitWakeUp();
		assertThat(stateOf(SEMAPHORE)).containsOnlyKeys("used", "until", "asked", "fence").containsEntry("used", "1");
	}

	@Test
	@DisplayName("An unreadable entry of the queue is dropped")
	void dropsForeignEntry() {
		granted(acquire(this.a, "1", 5));
		busy(acquire(this.b, "1", 2));
		this.redis.opsForZSet().add(keys(SEMAPHORE).queue(), "whatever", 1);
		this.redis.opsForZSet().add(keys(SEMAPHORE).queue(), this.c.token("1") + ":1:5000:5", 2);
		release(this.a, "1", 5);
		this.b.awaitWakeUp();
		assertThat(this.redis.hasKey(keys(SEMAPHORE).queue())).isFalse();
		assertThat(holders(SEMAPHORE)).containsExactly(this.b.token("1") + " 2");
	}

	@Test
	@DisplayName("A waiter with a grant from a deleted queue can renew and release its permit")
	void outlivesTheQueue() {
		granted(acquire(this.a, "1", LIMIT - 1));
		granted(acquire(this.a, "2", 1));
		busy(acquire(this.b, "1", 1));
		this.redis.delete("{" + this.prefix + "semaphore:" + KEY + "}:queue");
		assertThat(release(this.a, "2", 1)).isTrue();
		granted(acquire(this.b, "1", 1));
		assertThat(renew(this.b, SEMAPHORE, "1", 1, LEASE)).isTrue();
		assertThat(release(this.b, "1", 1)).isTrue();
		assertThat(state().used()).isEqualTo(LIMIT - 1);
		assertThat(stateOf(SEMAPHORE)).doesNotContainKey(this.b.token("1"));
	}

	@Test
	@DisplayName("A sorted set of another program at the lock key is an error in every mode, and stays unchanged")
	void leavesOthersSortedSetAlone() {
		String lockKey = this.prefix + "lock:" + KEY;
		this.redis.opsForZSet().add(lockKey, "Ann", 12);
		this.redis.opsForZSet().add(lockKey, "Bob:7", 7);
		Set<TypedTuple<String>> scores = this.redis.opsForZSet().rangeWithScores(lockKey, 0, -1);
		for (AcquireCommand command : List.of(exclusive(this.a, "1"), reader(this.a, "2"))) {
			assertThatExceptionOfType(StoreCommandException.class).isThrownBy(() -> this.a.acquire(LOCK, command))
				.withMessageContaining("'" + lockKey + "'")
				.withMessageContaining("holdfast.lock.key-prefix");
			assertThatExceptionOfType(StoreCommandException.class).isThrownBy(() -> this.a.release(LOCK, command));
		}
		assertThatExceptionOfType(StoreCommandException.class).isThrownBy(() -> this.a.inspect());
		assertThat(this.redis.opsForZSet().rangeWithScores(lockKey, 0, -1)).isEqualTo(scores);
		assertThat(this.redis.keys("*" + this.prefix + "*")).containsExactly(lockKey);
	}

	@ParameterizedTest
	@ValueSource(strings = { "nan", "inf", "-5", "99999999999", "ten", "" })
	@DisplayName("A foreign value at the limit's key counts only if it is a limit")
	void ignoresWhatIsNoLimit(String text) {
		this.redis.opsForValue().set(keys(SEMAPHORE).limit(), text);
		assertThat(state().limit()).isNull();
		granted(acquire(this.a, "1", LIMIT));
		busy(acquire(this.b, "1", 1));
		release(this.a, "1", LIMIT);
		assertThat(this.b.awaitWakeUp().token()).isEqualTo(this.b.token("1"));
	}

}
