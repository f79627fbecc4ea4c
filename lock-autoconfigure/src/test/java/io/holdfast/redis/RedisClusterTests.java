package io.holdfast.redis;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

import io.holdfast.engine.store.Commands;
import io.holdfast.engine.store.LeaseStore.AcquireCommand;
import io.holdfast.engine.store.LeaseStore.AcquireReply;
import io.holdfast.engine.store.LeaseStore.AcquireReply.Busy;
import io.holdfast.engine.store.LeaseStore.AcquireReply.Granted;
import io.holdfast.engine.store.LeaseStore.Renewal;
import io.holdfast.engine.store.Resource;
import io.holdfast.engine.store.StoreCommandException;
import io.holdfast.engine.store.StoreNotifications;
import io.holdfast.redis.key.TestOptions;
import io.holdfast.testing.RedisTestCase;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import org.springframework.data.redis.connection.jedis.JedisConnectionFactory;

import static io.holdfast.engine.Locks.lock;
import static io.holdfast.engine.Locks.renewal;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * The store in a cluster, with each driver.
 */
class RedisClusterTests extends RedisTestCase {

	private static final String INSTANCE = "0123456789abcdef0123456789abcdef";

	private static final String OTHER = "fedcba9876543210fedcba9876543210";

	private final List<String> wokenUp = new CopyOnWriteArrayList<>();

	private final StoreNotifications wakeUps = new StoreNotifications() {

		@Override
		public void granted(Resource resource, String token, long fence, long ttlMillis) {
			RedisClusterTests.this.wokenUp.add(resource.key());
		}

		@Override
		public void listening() {
		}

	};

	private OneNodeCluster cluster;

	@BeforeEach
	void startCluster() {
		this.cluster = new OneNodeCluster(this.redis);
	}

	@Test
	@DisplayName("Keys of any slot are locked, renewed together and handed over, with Jedis")
	void worksWithJedis() {
		JedisConnectionFactory factory = new JedisConnectionFactory(this.cluster.configuration());
		factory.afterPropertiesSet();
		factory.start();
		this.redis.closeAtEnd(factory::destroy);
		RedisLeaseStore store = new RedisLeaseStore(factory, TestOptions.defaults());
		this.redis.closeAtEnd(store::close);
		store.start(INSTANCE, this.wakeUps);
		await().atMost(Duration.ofSeconds(20)).until(store::isListening);
		List<Renewal> renewals = new ArrayList<>();
		for (int i = 0; i < 50; i++) {
			assertThat(acquire(store, "key" + i, OTHER + ":1")).isInstanceOf(Granted.class);
			renewals.add(renewal("key" + i, OTHER + ":1", 30_000));
		}
		renewals.add(renewal("free", OTHER + ":1", 30_000));
		assertThat(renewals.stream().map((renewal) -> store.partOf(renewal.resource())).distinct())
			.hasSizeGreaterThan(10);
		for (Renewal renewal : renewals) {
			assertThat(store.renew(List.of(renewal))).succeedsWithin(Duration.ofSeconds(10))
				.isEqualTo(List.of(!renewal.resource().key().equals("free")));
		}
		assertThat(acquire(store, "key7", INSTANCE + ":1")).isInstanceOf(Busy.class);
		assertThat(store.release(lock("key7"), Commands.forLock(OTHER + ":1", 30_000, 5_000), null))
			.succeedsWithin(Duration.ofSeconds(10));
		await().untilAsserted(() -> assertThat(this.wokenUp).containsExactly("key7"));
		assertThat(store.acquire(lock("a}"), Commands.forLock(OTHER + ":1", 30_000, 5_000), true))
			.failsWithin(Duration.ofSeconds(1))
			.withThrowableOfType(ExecutionException.class)
			.withCauseInstanceOf(StoreCommandException.class)
			.withMessageContaining("'lock:a}'");
	}

	@Test
	@DisplayName("A command that is given up before its write has no effect, although Lettuce writes it to the node")
	void givenUpBeforeItIsWritten() {
		RedisLeaseStore store = new RedisLeaseStore(this.cluster.connectionFactory(), TestOptions.defaults());
		this.redis.closeAtEnd(store::close);
		acquire(store, "warm", INSTANCE + ":0");
		Thread test = Thread.currentThread();
		for (AtomicInteger rounds = new AtomicInteger(); rounds.get() < 20;) {
			// The answer comes on the event loop of the node, which cannot write until
			// the second command is given up. An answer that is already there blocks no
			// loop.
			CompletableFuture<?> busy = store.inspect(lock("key"), 0, 0).thenRun(() -> {
				if (Thread.currentThread() != test) {
					rounds.incrementAndGet();
					giveUp(store, INSTANCE + ":" + rounds);
				}
			});
			assertThat(busy).succeedsWithin(Duration.ofSeconds(10));
			assertThat(store.inspect(lock("key"), 0, 0)).succeedsWithin(Duration.ofSeconds(10))
				.satisfies((state) -> assertThat(state.owner()).isNull());
		}
	}

	private static void giveUp(RedisLeaseStore store, String token) {
		AcquireCommand command = Commands.forLock(token, 30_000, 5_000);
		CompletableFuture
			.runAsync(() -> store.acquire(lock("key"), command, true).cancel(true), (task) -> new Thread(task).start())
			.join();
	}

	private static AcquireReply acquire(RedisLeaseStore store, String key, String token) {
		return store.acquire(lock(key), Commands.forLock(token, 30_000, 5_000), true)
			.orTimeout(10, TimeUnit.SECONDS)
			.join();
	}

}
