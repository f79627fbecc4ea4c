package io.holdfast.testing;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.time.Duration;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

class ChildJvmTests {

	private static final Duration LONG = ChildProcess.PATIENCE;

	private static final Duration SHORT = Duration.ofMillis(300);

	@Test
	@DisplayName("A child JVM gets its arguments and lines to read, and what it prints is kept")
	void talks() {
		try (ChildJvm child = ChildJvm.start(Echo.class, "one", "two words")) {
			assertThat(child.awaitLine("ready", LONG)).isEqualTo("ready one, two words");
			child.send("a");
			child.send("b");
			assertThat(child.awaitLine("echo b"::equals, LONG)).isEqualTo("echo b");
			assertThat(child.awaitLine("echo", LONG)).as("the first that was not returned yet").isEqualTo("echo a");
			assertThatExceptionOfType(AssertionError.class).isThrownBy(() -> child.awaitLine("echo", SHORT))
				.withMessageContaining("within 300 ms")
				.withMessageContaining("echo b");
			assertThat(child.lines()).containsExactly("ready one, two words", "echo a", "echo b");
		}
	}

	@Test
	@DisplayName("A child JVM that ends tells its exit code, and a wait for its lines does not go on")
	void ends() {
		try (ChildJvm child = ChildJvm.start(Echo.class)) {
			child.send("exit");
			assertThatExceptionOfType(AssertionError.class).isThrownBy(() -> child.awaitLine("never", LONG))
				.withMessageContaining("which ended");
			assertThat(child.awaitExit(LONG)).isEqualTo(7);
			assertThat(child.isAlive()).isFalse();
		}
	}

	@Test
	@DisplayName("A frozen child JVM does nothing until it is thawed")
	void freezes() {
		try (ChildJvm child = ChildJvm.start(Echo.class)) {
			child.awaitLine("ready", LONG);
			child.freeze();
			child.send("a");
			assertThatExceptionOfType(AssertionError.class).isThrownBy(() -> child.awaitLine("echo", SHORT));
			child.thaw();
			child.awaitLine("echo a", LONG);
		}
	}

	@Test
	@DisplayName("A child JVM dies at once when killed, frozen or not")
	void dies() {
		try (ChildJvm child = ChildJvm.start(Echo.class); ChildJvm frozen = ChildJvm.start(Echo.class)) {
			child.awaitLine("ready", LONG);
			child.kill();
			assertThat(child.isAlive()).isFalse();
			assertThat(child.awaitExit(SHORT)).as("128 + SIGKILL").isEqualTo(137);
			frozen.awaitLine("ready", LONG);
			frozen.freeze();
			frozen.kill();
			assertThat(frozen.isAlive()).isFalse();
		}
	}

	static final class Echo {

		private Echo() {
		}

		public static void main(String[] args) throws Exception {
			System.out.println("ready " + String.join(", ", args));
			BufferedReader input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
			for (String line = input.readLine(); line != null; line = input.readLine()) {
				if (line.equals("exit")) {
					System.exit(7);
				}
				System.out.println("echo " + line);
			}
		}

	}

}
