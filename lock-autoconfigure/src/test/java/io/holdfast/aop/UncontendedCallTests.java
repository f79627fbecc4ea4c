package io.holdfast.aop;

import java.util.List;
import java.util.Map;

import io.holdfast.testing.ChildJvm;
import io.holdfast.testing.ChildProcess;
import io.holdfast.testing.Slow;
import io.holdfast.testing.TestRedis;
import io.holdfast.testing.WithRedis;
import org.assertj.core.api.InstanceOfAssertFactories;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Counts the calls from class to class for a lock, and the types that a call touches, in
 * a child JVM with instrumented classes. Each further call is a further step for readers,
 * too.
 */
@Slow
@WithRedis
class UncontendedCallTests {

	/**
	 * To be lowered with the number of calls. Two above the minimum, which depends on an
	 * early answer.
	 */
	private static final int MOST = 78;

	/**
	 * To be lowered as well: all types, and the types of the engine for a grant and a
	 * release.
	 */
	private static final Map<String, Integer> TYPES = Map.of("types: ", 47, "acquire: ", 22, "release: ", 16);

	@Test
	@DisplayName("An annotated method with a free lock runs after no more calls from class to class than before, and touches no more types")
	void takesFewCalls(TestRedis redis) {
		try (ChildJvm child = ChildJvm.start(List.of("-XX:+EnableDynamicAgentLoading"), UncontendedCallMain.class,
				redis.host(), String.valueOf(redis.port()), redis.keyPrefix(), String.valueOf(MOST))) {
			String calls = child.awaitLine("calls: ", ChildProcess.PATIENCE);
			assertThat(Integer.parseInt(calls.substring("calls: ".length()))).as(() -> String.join("\n", child.lines()))
				.isLessThanOrEqualTo(MOST);
			child.awaitLine("types: ", ChildProcess.PATIENCE);
			TYPES.forEach((name, most) -> assertThat(child.lines()).filteredOn((line) -> line.startsWith(name))
				.singleElement()
				.extracting((line) -> Integer.parseInt(line.substring(name.length())),
						InstanceOfAssertFactories.INTEGER)
				.as(() -> String.join("\n", child.lines()))
				.isLessThanOrEqualTo(most));
		}
	}

}
