package io.holdfast.redis;

import java.time.Duration;

import io.holdfast.engine.store.LeaseStore;
import io.holdfast.engine.store.LeaseStoreContract;
import io.holdfast.testing.TestRedis;
import io.holdfast.testing.WithRedis;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

import static org.awaitility.Awaitility.await;

/**
 * The contract of exclusive locks in a Redis cluster.
 */
@WithRedis
@Execution(ExecutionMode.CONCURRENT)
class ClusterLeaseStoreTests extends LeaseStoreContract {

	private static OneNodeCluster cluster;

	private final TestStores stores;

	@BeforeAll
	static void startCluster(TestRedis redis) {
		cluster = new OneNodeCluster(redis);
	}

	ClusterLeaseStoreTests() {
		this.stores = cluster.stores();
	}

	@Override
	protected LeaseStore newStore() {
		return this.stores.open(Duration.ofSeconds(5), false);
	}

	@Override
	protected LeaseStore newPollingStore() {
		return this.stores.open(Duration.ofSeconds(5), true);
	}

	@Override
	protected void leave(Instance instance) {
		instance.store.close();
		this.stores.awaitGone(instance.id);
	}

	@Override
	protected boolean seesWhoIsGone() {
		return false;
	}

	@Override
	protected void elapse(Duration time) {
		await().pollDelay(time).until(() -> true);
	}

	@Override
	protected void putForeign(String key, String value, @Nullable Duration ttl) {
		this.stores.putForeign(key, value, ttl);
	}

	@AfterEach
	void closeConnections() throws Exception {
		this.stores.closeConnections();
	}

	@AfterAll
	static void closeCluster() {
		cluster.close();
	}

}
