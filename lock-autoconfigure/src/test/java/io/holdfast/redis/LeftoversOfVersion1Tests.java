package io.holdfast.redis;

import java.time.Duration;
import java.util.List;

import io.holdfast.engine.store.Commands;
import io.holdfast.engine.store.LeaseStore.AcquireCommand;
import io.holdfast.engine.store.LeaseStore.AcquireReply.Busy;
import io.holdfast.engine.store.LeaseStore.Renewal;
import io.holdfast.engine.store.LeaseStore.Standing;
import io.holdfast.engine.store.LeaseStore.TokenState;
import io.holdfast.engine.store.Resource;
import io.holdfast.engine.store.SharedStores;
import io.holdfast.engine.store.StoreContract;
import io.holdfast.redis.key.LockKeys;
import io.holdfast.testing.TestRedis;
import io.holdfast.testing.WithRedis;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import org.springframework.data.redis.core.StringRedisTemplate;

import static io.holdfast.engine.Locks.lock;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Leftovers of version 1 of the protocol in Redis: busy until they end, and never a
 * reader.
 */
@WithRedis
class LeftoversOfVersion1Tests extends StoreContract {

	private static final Resource LOCK = lock(KEY);

	private static final String GONE = "0123456789abcdef0123456789abcdef";

	private final TestStores stores;

	private final StringRedisTemplate redis;

	private final LockKeys keys;

	LeftoversOfVersion1Tests(TestRedis redis) {
		this.stores = new TestStores(redis.keyPrefix(), redis.template(), redis::connectionFactory);
		this.redis = redis.template();
		this.keys = LockKeys.of(redis.keyPrefix() + "lock:" + KEY, false);
	}

	@Override
	protected SharedStores stores() {
		return this.stores;
	}

	@AfterEach
	void closeConnections() throws Exception {
		this.stores.closeConnections();
	}

	private static AcquireCommand reader(Instance instance, String n) {
		return Commands.forReader(instance.token(n), LEASE, CLAIM);
	}

	private void assertBusy() {
		for (Busy busy : List.of(busy(this.a.acquire("1")), busy(this.b.acquire(LOCK, reader(this.b, "1"))))) {
			assertThat(busy.foreign()).isTrue();
			assertThat(busy.owner()).isNull();
			assertThat(busy.ownerTtlMillis()).isBetween(1L, SHORT);
		}
		Standing standing = get(this.a.store.inspect(LOCK, 10, 0));
		assertThat(standing).extracting(Standing::readerCount, Standing::isForeign).containsExactly(0, true);
		assertThat(standing.holders()).extracting(TokenState::token).containsExactly(standing.owner());
		// Also a renewal by the old token of a reader.
		assertThat(get(this.a.store.renew(List.of(new Renewal(LOCK, GONE + ":7", 1, LEASE))))).containsExactly(false);
		await().atMost(Duration.ofSeconds(10)).until(() -> !this.redis.hasKey(this.keys.lock()));
		granted(this.a.acquire("1"));
		this.a.release("1");
		assertThat(this.b.awaitWakeUp().token()).isEqualTo(this.b.token("1"));
	}

	@ParameterizedTest
	@ValueSource(strings = { "1", "1000000000" })
	@DisplayName("A set of readers, or of a writer, of version 1 is busy until its key ends")
	void setOfHolders(String permits) {
		this.redis.opsForZSet().add(this.keys.lock(), GONE + ":7:" + permits, System.currentTimeMillis() + SHORT / 2.0);
		this.redis.expire(this.keys.lock(), Duration.ofMillis(SHORT));
		assertBusy();
	}

	@Test
	@DisplayName("A key that version 1 keeps for a reader is busy until it ends")
	void reservation() {
		this.redis.opsForValue().set(this.keys.lock(), GONE + ":7:r", Duration.ofMillis(SHORT));
		assertBusy();
	}

	@Test
	@DisplayName("A marker of version 1 in the queue gets no grant and delays no grant")
	void marker() {
		addMarkers();
		assertThat(this.a.inspect()).extracting(Standing::owner, Standing::readerCount).containsExactly(null, 0);
		granted(this.a.acquire("1"));
		addMarkers();
		this.a.release("1");
		assertThat(this.redis.hasKey(this.keys.lock())).isFalse();
		assertThat(this.redis.hasKey(this.keys.queue())).isFalse();
		addMarkers();
		granted(this.b.acquire(LOCK, reader(this.b, "1")));
		assertThat(this.redis.opsForZSet().range(this.keys.lock(), 0, -1)).containsExactly(this.b.token("1") + ":r");
		assertThat(this.redis.hasKey(this.keys.queue())).isFalse();
	}

	@Test
	@DisplayName("A marker of version 1 ends with the readers beside it")
	void markerBesideReaders() {
		addMarkers();
		setOfHolders("1");
	}

	private void addMarkers() {
		this.redis.opsForZSet().add(this.keys.queue(), GONE + ":7:5000:sr", 1);
		this.redis.opsForZSet().add(this.keys.queue(), GONE + ":8:5000:pr", 2);
		this.redis.expire(this.keys.queue(), Duration.ofMillis(LEASE));
	}

	@ParameterizedTest
	@ValueSource(strings = { "s", "p" })
	@DisplayName("A polling waiter of version 1 keeps the lock busy for its claim at most")
	void waiter(String mode) {
		this.redis.opsForZSet().add(this.keys.queue(), GONE + ":7:" + SHORT + ":" + mode, 1);
		if (mode.equals("s")) {
			granted(this.a.acquire("1"));
			return;
		}
		Busy busy = busy(this.a.acquire("1"));
		assertThat(busy.owner()).isEqualTo(GONE);
		assertThat(busy.ownerTtlMillis()).isBetween(1L, SHORT);
		await().atMost(Duration.ofSeconds(10)).until(() -> !this.redis.hasKey(this.keys.lock()));
		granted(this.a.acquire("1"));
	}

	@Test
	@DisplayName("Queue and state of readers and writers of version 1 are ignored")
	void queueAndState() {
		String beside = "{" + this.keys.lock() + "}:";
		this.redis.opsForZSet().add(beside + "rw-queue", GONE + ":7:1:5000:1000000000:s", 1);
		this.redis.opsForHash().put(beside + "rw-state", "used", "1000000000");
		granted(this.b.acquire(LOCK, reader(this.b, "1")));
		assertThat(this.b.release(LOCK, reader(this.b, "1"))).isTrue();
		granted(this.a.acquire("1"));
		assertThat(this.redis.opsForZSet().size(beside + "rw-queue")).isEqualTo(1);
	}

}
