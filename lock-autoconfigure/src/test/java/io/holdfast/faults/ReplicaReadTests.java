package io.holdfast.faults;

import java.util.List;

import io.holdfast.testing.RedisCluster;
import io.holdfast.testing.TestRedis;
import io.holdfast.testing.WithRedis;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;

import static io.holdfast.faults.OddServerTests.ASK_SELDOM;
import static io.holdfast.faults.OddServerTests.status;
import static org.assertj.core.api.Assertions.assertThat;

/**
 * Clusters of applications that read from replicas. The tests share the clusters, which
 * take some seconds to serve.
 */
@WithRedis
@ExtendWith(OutputCaptureExtension.class)
class ReplicaReadTests {

	private static RedisCluster oneMaster;

	private static RedisCluster threeMasters;

	@BeforeAll
	static void startClusters(TestRedis redis) {
		oneMaster = startCluster(redis, 1);
		threeMasters = startCluster(redis, 3);
	}

	private static RedisCluster startCluster(TestRedis redis, int masters) {
		RedisCluster cluster = redis.startCluster(masters);
		cluster.addReplica(cluster.nodes().get(0));
		return cluster;
	}

	@ParameterizedTest(name = "{0} master, read from {1}")
	@CsvSource({ "1, replica", "1, any", "1, replica-preferred", "3, replica" })
	@DisplayName("With a cluster and reads from replicas, locks exclude each other and wake-ups are received")
	void replicasAreRead(int masters, String readFrom, TestRedis redis, CapturedOutput output) {
		try (Fleet fleet = Fleet.on(redis, (masters == 1) ? oneMaster : threeMasters)) {
			String[] properties = { "spring.data.redis.lettuce.read-from=" + readFrom, ASK_SELDOM };
			Instance instance = fleet.start(properties);
			Instance other = fleet.start(properties);
			List.of(instance, other).forEach(Instance::awaitListening);
			instance.assertHandsOverTo(other);
			other.assertHandsOverTo(instance);
			assertThat(status(instance)).isEqualTo("UP");
			assertThat(output).doesNotContain(" WARN ");
		}
	}

}
