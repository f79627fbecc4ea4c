package io.holdfast.testing;

import java.nio.file.Files;
import java.nio.file.Path;

import org.awaitility.Awaitility;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Output of child processes.
 */
class ChildProcessTests {

	/** Fewer than a pipe takes, and more than the reader has in its buffers. */
	private static final int LINES = 5000;

	@Test
	@DisplayName("A killed process has said all that it printed, also if the reader was slow")
	void outputOfKilled(@TempDir Path directory) {
		Path printed = directory.resolve("printed");
		String script = "i=0; while [ $i -lt " + LINES + " ]; do echo $i; i=$((i+1)); done; : > '" + printed
				+ "'; exec sleep 600";
		try (ChildProcess child = new ChildProcess(new ProcessBuilder("sh", "-c", script))) {
			child.awaitLine((line) -> {
				// The reader waits for the end of this condition.
				Awaitility.await("all lines").atMost(ChildProcess.PATIENCE).until(() -> Files.exists(printed));
				child.kill();
				return true;
			}, ChildProcess.PATIENCE);
			child.awaitExit(ChildProcess.PATIENCE);
			assertThat(child.lines()).hasSize(LINES);
		}
	}

}
