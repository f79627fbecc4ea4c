package io.holdfast.redis;

import io.holdfast.testing.Slow;
import io.holdfast.testing.TestRedis;
import io.holdfast.testing.WithRedis;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

import static org.assertj.core.api.Assertions.assertThat;

@WithRedis
@Execution(ExecutionMode.CONCURRENT)
@Slow
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
	protected boolean detectsAbsence() {
		return false;
	}

	@Test
	@DisplayName("A waiter of an instance that has left keeps its turn until its claim ends, since a cluster shows no"
			+ " subscribers")
	void waitsForClaimOfInstanceThatIsGone() {
		granted(acquire(this.a, "1", LIMIT));
		busy(this.b.acquire(SEMAPHORE, brief(command(this.b, "1", LIMIT))));
		busy(acquire(this.c, "1", 1));
		leave(this.b);
		release(this.a, "1", LIMIT);
		assertThat(holders(SEMAPHORE)).containsExactly(this.b.token("1") + " " + LIMIT);
		assertThat(busy(acquire(this.c, "1", 1)).ownerTtlMillis()).isLessThanOrEqualTo(SHORT);
		elapse(MORE_THAN_SHORT);
		granted(acquire(this.c, "1", 1));
		assertThat(holders(SEMAPHORE)).containsExactly(this.c.token("1") + " 1");
	}

}
