package io.holdfast.redis;

import io.holdfast.engine.store.LeaseStoreContract;
import io.holdfast.engine.store.SharedStores;
import io.holdfast.testing.TestRedis;
import io.holdfast.testing.WithRedis;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

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
	protected SharedStores stores() {
		return this.stores;
	}

	@Override
	protected boolean detectsAbsence() {
		return false;
	}

	@Override
	protected boolean keepsOrder() {
		return false;
	}

	@AfterEach
	void closeConnections() throws Exception {
		this.stores.closeConnections();
	}

}
