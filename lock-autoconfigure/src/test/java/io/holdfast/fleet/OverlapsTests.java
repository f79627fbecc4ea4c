package io.holdfast.fleet;

import java.util.List;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/**
 * The check of the other tests finds too many permits.
 */
class OverlapsTests {

	@Test
	@DisplayName("Permits of overlapping holds are added up, permits of successive holds are not")
	void addsUp() {
		List<Hold> holds = List.of(hold(3, 20, 30), hold(2, 0, 10), hold(1, 5, 25), hold(4, 10, 20));
		assertThat(Overlaps.highest(holds)).isEqualTo(5);
		assertThat(Overlaps.assertWithin(holds, 5)).isEqualTo(5);
		assertThat(Overlaps.highest(List.of())).isZero();
	}

	@Test
	@DisplayName("A permit beyond the limit is found, however short the hold")
	void seesTooMany() {
		List<Hold> holds = List.of(hold(2, 0, 10), hold(3, 9, 20));
		assertThatExceptionOfType(AssertionError.class).isThrownBy(() -> Overlaps.assertWithin(holds, 4))
			.withMessageContaining("permits=2")
			.withMessageContaining("permits=3");
	}

	private static Hold hold(int permits, long from, long until) {
		return new Hold(permits, 0, from, until);
	}

}
