package io.holdfast.redis;

import io.holdfast.testing.TestRedis;
import io.holdfast.testing.WithRedis;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

@WithRedis
@Execution(ExecutionMode.CONCURRENT)
class ClusterFleetStoreTests extends RedisFleetContract {

	private static OneNodeCluster cluster;

	@BeforeAll
	static void startCluster(TestRedis redis) {
		cluster = new OneNodeCluster(redis);
	}

	ClusterFleetStoreTests() {
		super(cluster.stores());
	}

	@Override
	protected boolean detectsAbsence() {
		return false;
	}

}
