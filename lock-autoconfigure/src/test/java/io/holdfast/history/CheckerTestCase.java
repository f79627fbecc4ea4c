package io.holdfast.history;

import java.util.List;
import java.util.stream.Stream;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests of {@link Checker} with histories as lines.
 */
abstract class CheckerTestCase {

	private static final long SLACK = 250;

	private static final long POLL = 100;

	private final long unit;

	/**
	 * Create a test case.
	 * @param unit the nanoseconds of each number in a line
	 */
	CheckerTestCase(long unit) {
		this.unit = unit;
	}

	static String[] and(String[] some, String... more) {
		return Stream.of(some, more).flatMap(Stream::of).toArray(String[]::new);
	}

	List<String> check(String... lines) {
		return Checker.check(Stream.of(lines).map(this::event).toList(), SLACK * this.unit, POLL * this.unit);
	}

	private Event event(String line) {
		Event event = Event.parse(line);
		return Event.parse(event.at() * this.unit + line.substring(line.indexOf(' ')))
			.until(event.until() * this.unit)
			.lease(event.lease() * this.unit);
	}

	void accepts(String... lines) {
		assertThat(check(lines)).isEmpty();
	}

	void refuses(int property, String... lines) {
		assertThat(check(lines)).isNotEmpty()
			.allSatisfy((violation) -> assertThat(violation).startsWith("property " + property + ": "));
	}

}
