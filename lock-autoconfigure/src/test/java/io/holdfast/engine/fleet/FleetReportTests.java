package io.holdfast.engine.fleet;

import java.util.List;

import io.holdfast.engine.InstanceReport;
import io.holdfast.engine.InstanceReport.Entry;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import static io.holdfast.engine.Locks.lock;
import static org.assertj.core.api.Assertions.assertThat;

/**
 * Common entries of two reports of an instance.
 */
class FleetReportTests {

	private static Entry entry(long number, long thread, long fence) {
		return new Entry("a", number, lock("k"), 1, null, "t" + thread, thread, 0, 0, fence, null);
	}

	private static FleetReport holds(Entry entry) {
		return new FleetReport(List.of(new InstanceReport("a", List.of(entry), List.of(), false)), List.of());
	}

	private static FleetReport waits(Entry entry) {
		return new FleetReport(List.of(new InstanceReport("a", List.of(), List.of(entry), false)), List.of());
	}

	@Test
	@DisplayName("Entries of the same thread and hold are common entries")
	void lasts() {
		assertThat(holds(entry(1, 7, 100)).entriesAlsoIn(holds(entry(1, 7, 100)))).isEqualTo(holds(entry(1, 7, 100)));
		assertThat(waits(entry(1, 7, 0)).entriesAlsoIn(waits(entry(1, 7, 0)))).isEqualTo(waits(entry(1, 7, 0)));
	}

	@Test
	@DisplayName("Entries of another thread, or of a later hold, are not common entries")
	void passedOn() {
		FleetReport before = holds(entry(1, 7, 100));
		assertThat(before.entriesAlsoIn(holds(entry(1, 8, 101))).reports().get(0).holds()).isEmpty();
		assertThat(before.entriesAlsoIn(holds(entry(1, 7, 102))).reports().get(0).holds()).isEmpty();
		assertThat(waits(entry(1, 7, 0)).entriesAlsoIn(waits(entry(1, 8, 0))).reports().get(0).waits()).isEmpty();
		assertThat(before.entriesAlsoIn(waits(entry(1, 7, 100))).reports().get(0).holds()).isEmpty();
	}

}
