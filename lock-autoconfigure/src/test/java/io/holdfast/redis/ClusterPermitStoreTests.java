package io.holdfast.redis;

import io.holdfast.testing.TestRedis;
import io.holdfast.testing.WithRedis;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;

/**
 * The contract of permits in a Redis cluster.
 */
@WithRedis
class ClusterPermitStoreTests extends RedisPermitContract {

	private static OneNodeCluster cluster;

	@BeforeAll
	static void startCluster(TestRedis redis) {
		cluster = new OneNodeCluster(redis);
	}

	ClusterPermitStoreTests() {
		super(cluster.stores());
	}

	@Override
	protected boolean seesWhoIsGone() {
		return false;
	}

	@AfterAll
	static void closeCluster() {
		cluster.close();
	}

}
