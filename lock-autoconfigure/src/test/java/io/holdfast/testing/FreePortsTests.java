package io.holdfast.testing;

import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;

class FreePortsTests {

	private static final int SOME = 50;

	@Test
	@DisplayName("Ports come one after the other from a range that no other JVM has")
	void ranges() {
		Set<Integer> own = some();
		assertThat(own).hasSize(SOME);
		try (ChildJvm child = ChildJvm.start(Printing.class)) {
			int other = Integer.parseInt(child.awaitLine("port ", ChildProcess.PATIENCE).substring(5));
			assertThat(some()).hasSize(SOME).doesNotContain(other).doesNotContainAnyElementsOf(own);
			assertThat(range(own)).hasSize(1).doesNotContainAnyElementsOf(range(Set.of(other)));
		}
	}

	private static Set<Integer> some() {
		return IntStream.range(0, SOME).mapToObj((i) -> FreePorts.next()).collect(Collectors.toSet());
	}

	private static Set<Integer> range(Set<Integer> ports) {
		return ports.stream().map((port) -> port / 200).collect(Collectors.toSet());
	}

	static final class Printing {

		private Printing() {
		}

		public static void main(String[] args) {
			System.out.println("port " + FreePorts.next());
		}

	}

}
