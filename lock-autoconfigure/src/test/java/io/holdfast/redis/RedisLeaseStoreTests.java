package io.holdfast.redis;

import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.TimeUnit;

import io.holdfast.engine.store.Commands;
import io.holdfast.engine.store.LeaseStore;
import io.holdfast.engine.store.LeaseStore.AcquireCommand;
import io.holdfast.engine.store.LeaseStore.AcquireReply.Busy;
import io.holdfast.engine.store.LeaseStore.AcquireReply.Granted;
import io.holdfast.engine.store.LeaseStore.Renewal;
import io.holdfast.engine.store.LeaseStoreContract;
import io.holdfast.engine.store.SharedStores;
import io.holdfast.engine.store.StoreCommandException;
import io.holdfast.redis.key.RedisStoreOptions;
import io.holdfast.testing.TestRedis;
import io.holdfast.testing.WithRedis;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

import org.springframework.data.redis.core.ValueOperations;
import org.springframework.data.redis.core.ZSetOperations;

import static io.holdfast.engine.Locks.lock;
import static io.holdfast.engine.Locks.renewal;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.entry;

/**
 * The contract of a store in Redis over Lettuce, and facts of Redis alone.
 */
@WithRedis
@Execution(ExecutionMode.CONCURRENT)
class RedisLeaseStoreTests extends LeaseStoreContract {

	private final TestRedis redis;

	private final TestStores stores;

	RedisLeaseStoreTests(TestRedis redis) {
		this.redis = redis;
		this.stores = new TestStores(redis.keyPrefix(), redis.template(), redis::connectionFactory);
	}

	@Override
	protected SharedStores stores() {
		return this.stores;
	}

	@AfterEach
	void closeConnections() throws Exception {
		this.stores.closeConnections();
	}

	private ValueOperations<String, String> values() {
		return this.redis.template().opsForValue();
	}

	private ZSetOperations<String, String> zset() {
		return this.redis.template().opsForZSet();
	}

	private String lockKey() {
		return this.redis.keyPrefix() + "lock:" + KEY;
	}

	private String queueKey() {
		return "{" + lockKey() + "}:queue";
	}

	private String fenceKey() {
		return "{" + lockKey() + "}:fence";
	}

	@Test
	@DisplayName("S3 The lock key has the value and form of SET NX PX with the token, and both exclude each other")
	void isWhatSetNxWrites() {
		granted(this.a.acquire("1"));
		assertThat(values().get(lockKey())).isEqualTo(this.a.token("1"));
		byte[] ours = this.redis.template().dump(lockKey());
		assertThat(values().setIfAbsent(lockKey(), "plain", Duration.ofSeconds(30))).isFalse();
		this.a.release("1");
		assertThat(values().setIfAbsent(lockKey(), this.a.token("1"), Duration.ofSeconds(30))).isTrue();
		assertThat(this.redis.template().dump(lockKey())).isEqualTo(ours);
		values().set(lockKey(), "plain", Duration.ofSeconds(30));
		assertThat(busy(this.a.acquire("1")).foreign()).isTrue();
	}

	@Test
	@DisplayName("S2 A lock key without expiry gets an expiry at any request, if heal-missing-ttl is set")
	void healsMissingTtl() {
		LeaseStore healing = new RedisLeaseStore(this.redis.connectionFactory(),
				new RedisStoreOptions(this.redis.keyPrefix() + "lock:", "semaphore:", "wake:", Duration.ofSeconds(30),
						Duration.ofSeconds(20), Duration.ofSeconds(5), false, "fleet", null, null));
		for (AcquireCommand command : List.of(Commands.forLock(this.a.token("1"), LEASE, CLAIM),
				Commands.forReader(this.a.token("1"), LEASE, CLAIM))) {
			this.stores.putForeign(KEY, "plain", null);
			assertThat(busy(get(healing.acquire(lock(KEY), command, false))).ownerTtlMillis()).isEqualTo(30_000);
		}
		assertThat(this.redis.template().getExpire(lockKey(), TimeUnit.MILLISECONDS)).isBetween(20_000L, 30_000L);
		assertThat(values().get(lockKey())).isEqualTo("plain");
		healing.close();
	}

	@ParameterizedTest
	@ValueSource(strings = { "lock", "queue", "fence" })
	@DisplayName("A key of a wrong type is an error, and stays unchanged")
	void leavesWrongTypeAlone(String which) {
		String wrong = which.equals("lock") ? lockKey() : which.equals("queue") ? queueKey() : fenceKey();
		if (!which.equals("lock")) {
			granted(this.a.acquire("1"));
			this.redis.template().delete(wrong);
		}
		this.redis.template().opsForHash().put(wrong, "field", "value");
		byte[] lock = this.redis.template().dump(lockKey());
		assertThatExceptionOfType(StoreCommandException.class).isThrownBy(() -> this.b.acquire("1"))
			.withMessageContaining("'" + lockKey() + "'")
			.withMessageContaining("holdfast.lock.key-prefix")
			.matches((failure) -> !failure.isTemporary());
		assertThatExceptionOfType(StoreCommandException.class).isThrownBy(() -> this.a.release("1", "2"));
		assertThat(this.redis.template().opsForHash().entries(wrong)).containsOnly(entry("field", "value"));
		assertThat(this.redis.template().dump(lockKey())).isEqualTo(lock);
	}

	@Test
	@DisplayName("A key of a wrong type does not fail the renewal of other keys")
	void renewsBesideWrongType() {
		this.redis.template().opsForHash().put(this.redis.keyPrefix() + "lock:hash", "field", "value");
		granted(this.a.acquire("1"));
		List<Renewal> renewals = List.of(renewal("hash", this.a.token("1"), LEASE),
				renewal(KEY, this.a.token("1"), LEASE));
		assertThat(get(this.a.store.renew(renewals))).containsExactly(false, true);
	}

	@Test
	@DisplayName("A lost or expired fence key does not set fences back")
	void fencesOutliveTheirKey() {
		Granted first = granted(this.a.acquire("1"));
		this.redis.template().delete(fenceKey());
		Granted again = granted(this.a.acquire("1"));
		assertThat(again.fence()).isGreaterThan(first.fence());
		this.redis.template().delete(fenceKey());
		Busy busy = busy(this.b.acquire("1"));
		assertThat(busy.fence()).isGreaterThanOrEqualTo(again.fence());
		this.a.release("1");
		long next = this.b.awaitWakeUp().fence();
		assertThat(next).isGreaterThan(busy.fence());
		this.redis.template().delete(List.of(lockKey(), fenceKey()));
		assertThat(granted(this.c.acquire("1")).fence()).isGreaterThan(next);
	}

	@Test
	@DisplayName("Every key has an expiry, and an unused lock leaves only its fence")
	void leavesOnlyFence() {
		granted(this.a.acquire("1"));
		busy(this.b.acquire("1"));
		assertThat(this.redis.template().getExpire(queueKey(), TimeUnit.MILLISECONDS)).isBetween(18_000L, 20_000L);
		assertThat(this.redis.template().getExpire(fenceKey(), TimeUnit.MILLISECONDS)).isBetween(15_000L, 21_000L);
		this.a.release("1");
		this.b.release("1");
		assertThat(this.redis.template().keys("*" + this.redis.keyPrefix() + "*")).containsExactly(fenceKey());
	}

	@Test
	@DisplayName("A reader's grant from the queue ends with its claim until the reader confirms it")
	void readerFromQueueEnds() {
		AcquireCommand reader = Commands.forReader(this.b.token("1"), LEASE, CLAIM);
		granted(this.a.acquire("1"));
		busy(this.b.acquire(lock(KEY), reader));
		this.a.release("1");
		this.b.awaitWakeUp();
		assertThat(this.redis.template().getExpire(lockKey(), TimeUnit.MILLISECONDS)).isBetween(1L, CLAIM);
		granted(this.b.acquire(lock(KEY), reader));
		assertThat(this.redis.template().getExpire(lockKey(), TimeUnit.MILLISECONDS)).isBetween(CLAIM + 1, LEASE);
	}

	@Test
	@DisplayName("A fence far ahead of the clock still grows")
	void fenceOfManyDigits() {
		this.redis.template().opsForValue().set(fenceKey(), "99999999999999968");
		long first = granted(this.a.acquire("1")).fence();
		assertThat(first).isGreaterThan(99_999_999_999_999_968L);
		this.a.release("1");
		assertThat(granted(this.a.acquire("2")).fence()).isGreaterThan(first);
		this.a.release("2");
	}

	@ParameterizedTest
	@DisplayName("The queue lives at least as long for a next as for a request of its own")
	@CsvSource({ "5000, 5000, 3000", "1000, 5000, 0", "1000, 1000, 0", "6000, 5000, 0", "5000, 6000, 0" })
	void keepsQueueForNext(long claim, long nextClaim, long ageMillis) {
		granted(this.a.acquire("1"));
		busy(this.b.acquire(lock(KEY), Commands.forLock(this.b.token("1"), LEASE, claim)));
		String entry = this.b.token("1") + ":" + claim + ":s";
		assertThat(zset().addIfAbsent(queueKey(), entry, 0)).isFalse();
		zset().add(queueKey(), entry, 1000.0 * (System.currentTimeMillis() - ageMillis));
		this.redis.template().expire(queueKey(), Duration.ofSeconds(7));
		busy(this.a
			.release(lock(KEY), Commands.forLock(this.a.token("1"), LEASE, CLAIM),
					Commands.forLock(this.a.token("2"), LEASE, nextClaim))
			.next());
		assertThat(this.b.awaitWakeUp().token()).isEqualTo(this.b.token("1"));
		assertThat(this.redis.template().getExpire(queueKey(), TimeUnit.MILLISECONDS))
			.isGreaterThan(2 * Math.max(nextClaim, 5000) - 1500);
	}

	@Test
	@DisplayName("A token that is in the queue and holds the lock leaves its place to next")
	void ownerInQueue() {
		granted(this.a.acquire("1"));
		busy(this.b.acquire("1"));
		busy(this.c.acquire("1"));
		double place = Objects.requireNonNull(zset().score(queueKey(), this.b.token("1") + ":5000:s")) + 1;
		zset().add(queueKey(), this.a.token("1") + ":5000:s", place);
		busy(this.a.release("1", "2").next());
		assertThat(zset().range(queueKey(), 0, -1)).containsExactly(this.a.token("2") + ":5000:s",
				this.c.token("1") + ":5000:s");
		assertThat(zset().score(queueKey(), this.a.token("2") + ":5000:s")).isEqualTo(place);
	}

	@Test
	@DisplayName("A next that is already queued keeps its place")
	void nextInQueue() {
		granted(this.a.acquire("1"));
		busy(this.b.acquire("1"));
		busy(this.a.acquire("2"));
		busy(this.c.acquire("1"));
		busy(this.a.release("1", "2").next());
		assertThat(zset().range(queueKey(), 0, -1)).containsExactly(this.a.token("2") + ":5000:s",
				this.c.token("1") + ":5000:s");
	}

	@ParameterizedTest
	@CsvSource({ "5000, 1", "1000000000000, 1", "1000000000000, 70" })
	@DisplayName("A next gets its place behind the last waiter, although that place is ahead of the clock")
	void nextBehindTheClock(long claim, int others) {
		granted(this.a.acquire("1"));
		for (int i = 1; i <= others; i++) {
			busy(this.b.acquire(lock(KEY), Commands.forLock(this.b.token("" + i), LEASE, claim)));
		}
		double ahead = 1000.0 * (System.currentTimeMillis() + 60_000);
		busy(this.c.acquire(lock(KEY), Commands.forLock(this.c.token("1"), LEASE, claim)));
		zset().add(queueKey(), this.c.token("1") + ":" + claim + ":s", ahead);
		busy(this.a
			.release(lock(KEY), Commands.forLock(this.a.token("1"), LEASE, CLAIM),
					Commands.forLock(this.a.token("2"), LEASE, claim))
			.next());
		assertThat(zset().score(queueKey(), this.a.token("2") + ":" + claim + ":s")).isEqualTo(ahead + 1);
	}

	@Test
	@DisplayName("A fence ahead of the clock grows with each turn, of this or another instance")
	void turnsWithFenceOfManyDigits() {
		granted(this.a.acquire("1"));
		values().set(fenceKey(), "99999999999999968");
		long first = granted(this.a.release("1", "2").next()).fence();
		assertThat(first).isGreaterThan(99_999_999_999_999_968L);
		busy(this.b.acquire("1"));
		long second = busy(this.a.release("2", "3").next()).fence();
		assertThat(second).isGreaterThan(first).isEqualTo(this.b.awaitWakeUp().fence());
		assertThat(this.redis.template().getExpire(fenceKey())).isGreaterThan(90_000_000_000L);
	}

	@Test
	@DisplayName("Fences grow beyond a fence of the previous version, which has a second number")
	void growsOverFenceOfPreviousVersion() {
		long ahead = 4_999_999_999_999_968L;
		values().set(fenceKey(), ahead + " 1024");
		long first = granted(this.a.acquire("1")).fence();
		assertThat(first).isEqualTo(ahead + 64);
		values().set(fenceKey(), first + " 1024");
		long second = granted(this.a.release("1", "2").next()).fence();
		assertThat(second).isEqualTo(first + 64);
		this.a.release("2");
		values().set(fenceKey(), second + " 1024");
		AcquireCommand reader = Commands.forReader(this.b.token("1"), LEASE, CLAIM);
		assertThat(granted(this.b.acquire(lock(KEY), reader)).fence()).isEqualTo(second + 64);
	}

	@Test
	@DisplayName("A foreign value instead of the fence: no turn, and no change")
	void turnWithoutFence() {
		granted(this.a.acquire("1"));
		busy(this.b.acquire("1"));
		this.redis.template().delete(fenceKey());
		this.redis.template().opsForHash().put(fenceKey(), "a", "b");
		assertThatExceptionOfType(StoreCommandException.class).isThrownBy(() -> this.a.release("1", "2"));
		assertThat(values().get(lockKey())).isEqualTo(this.a.token("1"));
		assertThat(zset().range(queueKey(), 0, -1)).containsExactly(this.b.token("1") + ":5000:s");
		assertThatExceptionOfType(StoreCommandException.class).isThrownBy(() -> this.a.release("1"));
		this.redis.template().delete(queueKey());
		assertThatExceptionOfType(StoreCommandException.class).isThrownBy(() -> this.a.release("1", "2"));
		assertThat(values().get(lockKey())).isEqualTo(this.a.token("1"));
	}

	@Test
	@DisplayName("Waiters keep their order when the server's clock is set back")
	void keepsOrderWhenClockIsSetBack() {
		granted(this.a.acquire("1"));
		busy(this.b.acquire("1"));
		String first = this.b.token("1") + ":5000:s";
		this.redis.template().opsForZSet().add(queueKey(), first, 8e15);
		for (int i = 9; i > 0; i--) {
			busy(this.c.acquire("" + i));
		}
		assertThat(this.redis.template().opsForZSet().range(queueKey(), 0, -1)).startsWith(first,
				this.c.token("9") + ":5000:s", this.c.token("8") + ":5000:s", this.c.token("7") + ":5000:s");
	}

	@ParameterizedTest
	@ValueSource(strings = { "whatever", "0123456789abcdef0123456789abcdef:1:0:p",
			"0123456789abcdef0123456789abcdef:1:1000000000000000:p" })
	@DisplayName("An unreadable entry of the queue is dropped")
	void dropsForeignEntry(String entry) {
		granted(this.a.acquire("1"));
		busy(this.b.acquire("1"));
		zset().add(queueKey(), entry, 1);
		this.a.release("1");
		this.b.awaitWakeUp();
		assertThat(this.redis.template().hasKey(queueKey())).isFalse();
	}

}
