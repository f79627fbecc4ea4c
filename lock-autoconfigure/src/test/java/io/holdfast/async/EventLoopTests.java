package io.holdfast.async;

import java.util.List;

import io.holdfast.testing.ChildJvm;
import io.holdfast.testing.ChildProcess;
import io.holdfast.testing.Slow;
import io.holdfast.testing.TestRedis;
import io.holdfast.testing.WithRedis;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Non-blocking threads, watched by BlockHound. In a child JVM, since BlockHound changes
 * classes of the JDK.
 */
@WithRedis
@Slow
class EventLoopTests {

	@Test
	@DisplayName("No event loop and no thread of a parallel scheduler blocks: to acquire, wait, run, release, lose or cancel, in any asynchronous API")
	void nothingBlocks(TestRedis redis) {
		List<String> options = List.of("-XX:+AllowRedefinitionToAddDeleteMethods", "-XX:+EnableDynamicAgentLoading");
		try (ChildJvm child = ChildJvm.start(options, EventLoopMain.class, redis.host(), String.valueOf(redis.port()),
				redis.keyPrefix())) {
			child.awaitLine("watched: parallel", ChildProcess.PATIENCE);
			child.awaitLine("watched: lettuce", ChildProcess.PATIENCE);
			String verdict = child.awaitLine("blocked: ", ChildProcess.PATIENCE);
			assertThat(verdict).as(() -> String.join("\n", child.lines())).isEqualTo("blocked: 0");
			assertThat(child.lines()).filteredOn((line) -> line.startsWith("used: ")).hasSizeGreaterThan(10);
		}
	}

}
