package io.holdfast.redis;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;

import io.holdfast.LeaseStoreException;
import io.holdfast.LockLease;
import io.holdfast.LockMode;
import io.holdfast.LockRequest;
import io.holdfast.LockService;
import io.holdfast.ReleaseResult;
import io.holdfast.engine.DefaultLockService;
import io.holdfast.engine.EngineSettings;
import io.holdfast.engine.Idleness;
import io.holdfast.engine.LeaseEngine;
import io.holdfast.redis.key.TestOptions;
import io.holdfast.testing.RedisServer;
import io.holdfast.testing.RedisTestCase;
import io.holdfast.testing.Slow;
import io.lettuce.core.cluster.RedisClusterClient;
import io.lettuce.core.cluster.SlotHash;
import io.lettuce.core.cluster.models.partitions.Partitions;
import io.lettuce.core.cluster.models.partitions.RedisClusterNode;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;
import org.springframework.test.util.ReflectionTestUtils;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.awaitility.Awaitility.await;

/**
 * Requests for several keys and least holds in a cluster: the keys of one request need
 * not share a slot.
 */
@Slow
class RedisClusterLocksTests extends RedisTestCase {

	private static final Duration PATIENCE = Duration.ofSeconds(20);

	private static final List<String> KEYS = IntStream.range(0, 20).mapToObj((i) -> "key" + i).toList();

	private OneNodeCluster cluster;

	@BeforeEach
	void startCluster() {
		this.cluster = new OneNodeCluster(this.redis);
	}

	@Test
	@DisplayName("S9 Keys of many slots are locked, renewed and released at once")
	void severalKeys() {
		LockService locks = locks();
		LockService others = locks();
		assertThat(KEYS.stream().map((key) -> SlotHash.getSlot("lock:" + key)).distinct()).hasSizeGreaterThan(10);
		for (LockMode mode : LockMode.values()) {
			LockRequest request = LockRequest.ofAll(KEYS).mode(mode).leaseTime(Duration.ofSeconds(2));
			LockLease lease = locks.acquire(request);
			assertThat(KEYS).allMatch((key) -> lease.fencingToken(key) > 0);
			assertThat(others.tryAcquire("key7")).isEmpty();
			await("more than the lease").during(Duration.ofMillis(2500)).atMost(PATIENCE).until(lease::isHeld);
			lease.extend(Duration.ofMinutes(1));
			assertThat(lease.remaining()).isGreaterThan(Duration.ofSeconds(50));
			CompletableFuture<LockLease> next = others.acquireAsync(request.waitTime(PATIENCE).autoRenew(false));
			if (mode != LockMode.READ) {
				assertThat(next).isNotDone();
			}
			assertThat(lease.release()).isEqualTo(ReleaseResult.RELEASED);
			assertThat(next).succeedsWithin(PATIENCE).satisfies((later) -> {
				assertThat(KEYS).allMatch((key) -> later.fencingToken(key) > lease.fencingToken(key));
				assertThat(later.release()).isEqualTo(ReleaseResult.RELEASED);
			});
		}
		await().atMost(PATIENCE).until(() -> Idleness.of(locks) && Idleness.of(others));
	}

	@Test
	@DisplayName("A slot without a node in the driver's view is found soon, also right after a refresh of the view")
	void slotWithoutNode() {
		RedisLeaseStore store = store();
		LockService locks = locks(store);
		Object connections = ReflectionTestUtils.getField(store, "connections");
		Partitions view = ((RedisClusterClient) ((LettuceConnectionFactory) connections).getRequiredNativeClient())
			.getPartitions();
		for (String key : List.of("first", "second")) {
			// Lettuce refreshes its view at this request, and then not for 5 seconds.
			forget(view, SlotHash.getSlot("lock:" + key));
			assertThat(locks.acquire(key).release()).isEqualTo(ReleaseResult.RELEASED);
		}
	}

	@Test
	@DisplayName("A request waits for a cluster that is down, but allows reads")
	void readsWhenDown() {
		int other = SlotHash.getSlot("lock:other");
		LockService locks = locks();
		locks.acquire("key7").release();
		RedisServer node = this.cluster.node();
		node.run((commands) -> commands.configSet("cluster-allow-reads-when-down", "yes"));
		node.run((commands) -> commands.clusterDelSlots(other));
		await("the end of grants").atMost(PATIENCE)
			.untilAsserted(() -> assertThatExceptionOfType(LeaseStoreException.class)
				.isThrownBy(() -> locks.tryAcquire("key7").ifPresent(LockLease::release))
				.withMessageContaining("cluster is down"));
		CompletableFuture<LockLease> waiting = locks.acquireAsync(LockRequest.of("key7").waitTime(PATIENCE));
		assertThat(locks.status("key7").isLocked()).isFalse();
		assertThat(waiting).isNotDone();
		node.run((commands) -> commands.clusterAddSlots(other));
		assertThat(waiting).succeedsWithin(PATIENCE).satisfies(LockLease::release);
	}

	/**
	 * Remove the slot's node from the view, as while a replica has not yet replaced its
	 * master.
	 */
	private static void forget(Partitions view, int slot) {
		RedisClusterNode node = view.getPartitionBySlot(slot);
		node.setSlots(node.getSlots().stream().filter((other) -> other != slot).toList());
		view.updateCache();
	}

	private LockService locks() {
		return locks(store());
	}

	private RedisLeaseStore store() {
		return new RedisLeaseStore(this.cluster.connectionFactory(), TestOptions.defaults());
	}

	private LockService locks(RedisLeaseStore store) {
		LeaseEngine engine = new LeaseEngine(store, EngineSettings.defaults());
		this.redis.closeAtEnd(engine::close);
		engine.resume();
		await().atMost(PATIENCE).until(store::isListening);
		return new DefaultLockService(engine);
	}

}
