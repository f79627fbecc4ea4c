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
 * Counts the calls from class to class that a lock costs, and the types that its call
 * touches, in a child JVM, whose classes it changes for that. A call more is a step more
 * for readers, too.
 */
@Slow
@WithRedis
class UncontendedCallTests {

	/**
	 * To be lowered with the number of calls. Two more than the fewest, which depend on
	 * an early answer.
	 */
	private static final int MOST = 78;

	/** As well: all types, and those of the engine for a grant and a release. */
	private static final Map<String, Integer> TYPES = Map.of("types: ", 46, "acquire: ", 21, "release: ", 16);

	@Test
	@DisplayName("An annotated method whose lock is free runs after no more calls from class to class than before, and its call touches no more types")
	void takesFewCalls(TestRedis redis) {
		try (ChildJvm child = ChildJvm.start(List.of("-XX:+EnableDynamicAgentLoading"), UncontendedCallMain.class,
				redis.host(), String.valueOf(redis.port()), redis.keyPrefix(), String.valueOf(MOST))) {
			String calls = child.awaitLine("calls: ", ChildProcess.PATIENCE);
			assertThat(Integer.parseInt(calls.substring("calls: ".length()))).as(() -> String.join("\n", child.lines()))
				.isLessThanOrEqualTo(MOST);
			child.awaitLine("types: ", ChildProcess.PATIENCE);
			TYPES.forEach((what, most) -> assertThat(child.lines()).filteredOn((line) -> line.startsWith(what))
				.singleElement()
				.extracting((line) -> Integer.parseInt(line.substring(what.length())),
						InstanceOfAssertFactories.INTEGER)
				.as(() -> String.join("\n", child.lines()))
				.isLessThanOrEqualTo(most));
		}
	}

}
