package io.holdfast.async;

import java.time.Duration;
import java.util.List;

import io.holdfast.testing.ChildJvm;
import io.holdfast.testing.ChildProcess;
import io.holdfast.testing.TestRedis;
import io.holdfast.testing.WithRedis;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledForJreRange;
import org.junit.jupiter.api.condition.JRE;

/**
 * Virtual threads that block on a lock.
 */
@WithRedis
@EnabledForJreRange(min = JRE.JAVA_21)
class VirtualThreadTests {

	@Test
	@DisplayName("10,000 virtual threads wait for a lock on two carriers, which stay free, and all get their turn in sequence")
	void manyWaiters(TestRedis redis) {
		List<String> options = List.of("-Xmx512m", "-Djdk.virtualThreadScheduler.parallelism=2",
				"-Djdk.virtualThreadScheduler.maxPoolSize=2");
		try (ChildJvm child = ChildJvm.start(options, VirtualThreadsMain.class, redis.host(),
				String.valueOf(redis.port()), redis.keyPrefix(), "10000")) {
			child.awaitLine("waiting: 10000", ChildProcess.PATIENCE);
			child.awaitLine("carriers are free: true", ChildProcess.PATIENCE);
			child.awaitLine("turns: 10000", Duration.ofMinutes(3));
		}
	}

}
