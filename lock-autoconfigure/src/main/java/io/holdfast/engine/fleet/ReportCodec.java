package io.holdfast.engine.fleet;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.stream.Collectors;
import java.util.stream.Stream;

import io.holdfast.engine.InstanceReport;
import io.holdfast.engine.InstanceReport.Entry;
import io.holdfast.engine.store.Resource;
import io.holdfast.engine.store.Resource.Kind;
import org.jspecify.annotations.Nullable;

/**
 * Text format of reports between instances, perhaps of different versions. Lines and
 * fields are separated by the ASCII control characters for records and units. New
 * versions may append fields.
 */
public final class ReportCodec {

	private static final String LINE = "\u001e";

	private static final String FIELD = "\u001f";

	private static final int FIELDS = 11;

	private ReportCodec() {
	}

	/** Return the text of a report. */
	public static String of(InstanceReport report) {
		String head = String.join(FIELD, report.instance(), report.cut() ? "1" : "0");
		return Stream
			.of(Stream.of(head), report.holds().stream().map((hold) -> line("H", hold)),
					report.waits().stream().map((wait) -> line("W", wait)))
			.flatMap((lines) -> lines)
			.collect(Collectors.joining(LINE));
	}

	private static String line(String what, Entry entry) {
		return Stream
			.of(what, entry.number(), entry.resource().kind(), entry.permits(), entry.threadId(), entry.millis(),
					entry.ttlMillis(), entry.fence(), entry.resource().key(), entry.name(), entry.thread(),
					entry.note())
			.map((field) -> Objects.toString(field, ""))
			.collect(Collectors.joining(FIELD));
	}

	/**
	 * Parse a report.
	 * @param text the text
	 * @return the report, or {@code null} if the text is invalid
	 */
	public static @Nullable InstanceReport read(String text) {
		try {
			List<String> lines = Arrays.asList(text.split(LINE, -1));
			String[] head = lines.get(0).split(FIELD, -1);
			List<Entry> holds = new ArrayList<>();
			List<Entry> waits = new ArrayList<>();
			for (String line : lines.subList(1, Math.min(lines.size(), 1 + 2 * InstanceReport.MOST))) {
				String[] fields = line.split(FIELD, -1);
				(fields[0].equals("H") ? holds : waits).add(entry(head[0], fields));
			}
			return head[0].matches("[0-9a-f]{8}") ? new InstanceReport(head[0], holds, waits, head[1].equals("1"))
					: null;
		}
		catch (IllegalArgumentException | IndexOutOfBoundsException ex) {
			// Not logged: the text may contain anything.
			return null;
		}
	}

	private static Entry entry(String instance, String[] fields) {
		if (fields.length < FIELDS) {
			throw new IllegalArgumentException("Fields are missing");
		}
		long threadId = Long.parseLong(fields[4]);
		Resource resource = new Resource(Kind.valueOf(fields[2]), fields[8]);
		return new Entry(instance, Long.parseLong(fields[1]), resource, Integer.parseInt(fields[3]),
				fields[9].isEmpty() ? null : fields[9], fields[10].isEmpty() ? null : fields[10], threadId,
				Long.parseLong(fields[5]), Long.parseLong(fields[6]), Long.parseLong(fields[7]),
				(fields.length == FIELDS || fields[FIELDS].isEmpty()) ? null : fields[FIELDS]);
	}

}
