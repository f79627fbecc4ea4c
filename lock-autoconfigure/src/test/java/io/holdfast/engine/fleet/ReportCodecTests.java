package io.holdfast.engine.fleet;

import java.util.List;

import io.holdfast.engine.InstanceReport;
import io.holdfast.engine.InstanceReport.Entry;
import io.holdfast.engine.store.Resource;
import io.holdfast.engine.store.Resource.Kind;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Reports on their way between instances.
 */
class ReportCodecTests {

	private static final Entry HOLD = new Entry("0123abcd", 7, new Resource(Kind.LOCK, "a b/é:1"), Resource.ALL, "name",
			"http-nio-8080-exec-1", 42, 1000, 29_000, 1_795_307_281_862_785L, "anna edits");

	private static final Entry WAIT = new Entry("0123abcd", 8, new Resource(Kind.SEMAPHORE, "s"), 3, null, null, 0, 5,
			0, 0, null);

	@Test
	@DisplayName("A report survives writing and reading")
	void readsWhatWasWritten() {
		InstanceReport report = new InstanceReport("0123abcd", List.of(HOLD), List.of(WAIT, WAIT), true);
		assertThat(ReportCodec.read(ReportCodec.of(report))).isEqualTo(report);
		InstanceReport empty = new InstanceReport("0123abcd", List.of(), List.of(), false);
		assertThat(ReportCodec.read(ReportCodec.of(empty))).isEqualTo(empty);
	}

	@Test
	@DisplayName("Names of threads and requests may be anything, and do not break out of their fields")
	void survivesNames() {
		Entry odd = new Entry("0123abcd", 7, new Resource(Kind.LOCK, "k"), 1, "\u001e\u001fH\r\n",
				"x".repeat(1000) + "\u001f", 42, 1, 1, 1, "a\u001eb");
		InstanceReport read = ReportCodec
			.read(ReportCodec.of(new InstanceReport("0123abcd", List.of(odd, HOLD), List.of(), false)));
		assertThat(read.holds()).hasSize(2);
		assertThat(read.holds().get(0).name()).isEqualTo("??H??");
		assertThat(read.holds().get(0).thread()).isEqualTo("x".repeat(200));
		assertThat(read.holds().get(0).note()).isEqualTo("a?b");
		assertThat(read.holds().get(1)).isEqualTo(HOLD);
	}

	@Test
	@DisplayName("A hold without a thread may have a note in its place")
	void readsNotes() {
		Entry note = new Entry("0123abcd", 7, new Resource(Kind.LOCK, "k"), 1, null, "none (its caller has gone)", 0, 1,
				1, 1, null);
		InstanceReport report = new InstanceReport("0123abcd", List.of(note), List.of(), false);
		assertThat(ReportCodec.read(ReportCodec.of(report))).isEqualTo(report);
	}

	@Test
	@DisplayName("A report of an earlier version has no notes")
	void readsEarlierVersions() {
		String text = ReportCodec.of(new InstanceReport("0123abcd", List.of(HOLD), List.of(), false));
		assertThat(ReportCodec.read(text.substring(0, text.lastIndexOf('\u001f'))).holds()).singleElement()
			.extracting(Entry::note)
			.isNull();
	}

	@Test
	@DisplayName("Further fields of a later version are ignored")
	void readsLaterVersions() {
		String text = ReportCodec.of(new InstanceReport("0123abcd", List.of(HOLD), List.of(), false)) + "\u001fmore";
		assertThat(ReportCodec.read(text).holds()).containsExactly(HOLD);
	}

	@ParameterizedTest
	@ValueSource(strings = { "", "whatever", "0123abcd", "<script>\u001f0", "0123abcd\u001f0\u001eH\u001f7",
			"0123abcd\u001f0\u001eH\u001fx\u001fLOCK\u001f1\u001f1\u001f1\u001f1\u001f1\u001fk\u001f\u001f",
			"0123abcd\u001f0\u001eH\u001f1\u001fDOOR\u001f1\u001f1\u001f1\u001f1\u001f1\u001fk\u001f\u001f" })
	@DisplayName("Any other text is no report")
	void refusesOtherText(String text) {
		assertThat(ReportCodec.read(text)).isNull();
	}

}
