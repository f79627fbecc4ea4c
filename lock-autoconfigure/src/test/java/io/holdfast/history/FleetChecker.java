package io.holdfast.history;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;

import io.holdfast.history.Event.Type;

/**
 * Judges the views of a watcher: the present instances, and their holds.
 */
final class FleetChecker {

	private static final long SECOND = 1_000_000_000L;

	/** Longest time to the next refresh of a present instance, under any fault. */
	private static final long REFRESH = 75 * SECOND;

	/** Longest time until a silent instance is forgotten. */
	private static final long RETENTION = 190 * SECOND;

	/** Longest time of instances for an answer, and of the store before and after. */
	private static final long PATIENCE = SECOND + 500_000_000L;

	private final Troubles troubles;

	private final Map<String, Request> requests;

	private final long slack;

	private final List<String> violations = new ArrayList<>();

	FleetChecker(Troubles troubles, Map<String, Request> requests, long slack) {
		this.troubles = troubles;
		this.requests = requests;
		this.slack = slack;
	}

	List<String> check() {
		for (Event listed : this.troubles.all(Type.LISTED)) {
			judgeMembers(listed);
		}
		for (Event inquired : this.troubles.all(Type.INQUIRED)) {
			judgeInquiry(inquired);
		}
		return this.violations;
	}

	private void violated(int property, String what) {
		this.violations.add("property " + property + ": " + what);
	}

	// Present instances

	private void judgeMembers(Event listed) {
		Set<String> reported = this.troubles.all(Type.MEMBER)
			.stream()
			.filter((member) -> member.at() == listed.at())
			.map(Event::by)
			.collect(Collectors.toSet());
		for (Event known : this.troubles.all(Type.KNOWN)) {
			String by = known.by();
			long end = end(by, known.at());
			boolean isListed = reported.contains(by);
			if (end == Request.NEVER && !isListed && known.at() + REFRESH <= listed.at()) {
				violated(9, by + " is there, but not known at " + listed.at());
			}
			if (isListed && end + RETENTION < listed.at()) {
				violated(9, by + " is gone since " + end + ", but known at " + listed.at());
			}
			boolean left = this.troubles.crashOf(by) == Request.NEVER && hasLeft(by, end);
			if (isListed && left && end + 2 * SECOND < listed.at()) {
				violated(9, by + " has left at " + end + ", but is known at " + listed.at());
			}
		}
	}

	/**
	 * Return whether the instance could leave at each shut-down: each time with a new id.
	 */
	private boolean hasLeft(String by, long end) {
		return Stream
			.concat(Stream.of(end),
					this.troubles.all(Type.SHUT_DOWN)
						.stream()
						.filter((shutDown) -> shutDown.by().equals(by) && shutDown.at() < end)
						.map(Event::at))
			.noneMatch((at) -> this.troubles.isTroubled(by, at - SECOND, at + 2 * SECOND));
	}

	/** Return when an instance died, or shut down without a resume; after some time. */
	private long end(String by, long from) {
		long shutDown = last(Type.SHUT_DOWN, by);
		boolean isDown = shutDown >= from && last(Type.RESUMED, by) < shutDown;
		return Math.min(this.troubles.crashOf(by), isDown ? shutDown : Request.NEVER);
	}

	private long last(Type type, String by) {
		return this.troubles.all(type)
			.stream()
			.filter((event) -> event.by().equals(by))
			.mapToLong(Event::at)
			.max()
			.orElse(Long.MIN_VALUE);
	}

	// Holds

	private void judgeInquiry(Event inquired) {
		String by = inquired.by();
		Event answered = of(Type.INQUIRY_ANSWERED, inquired).findFirst().orElse(null);
		long end = Math.min((answered != null) ? answered.at() : this.troubles.lastAt(), this.troubles.crashOf(by));
		long paused = this.troubles.pausedFor(by, inquired.at(), end);
		if (end - inquired.at() > PATIENCE + this.slack + paused) {
			violated(5, "answered late, or not at all: " + inquired);
		}
		if (answered == null) {
			return;
		}
		if (!answered.why().isEmpty()) {
			if (!this.troubles.isTroubled(by, inquired.at(), answered.at())) {
				violated(8, "an inquiry failed for a reason that was not: " + answered);
			}
			return;
		}
		Map<String, Event> reports = new HashMap<>();
		of(Type.REPORTED, inquired).forEach((report) -> reports.put(report.by(), report));
		reports.values().forEach((report) -> judgeReport(report, inquired.at(), answered.at()));
		for (Event known : this.troubles.all(Type.KNOWN)) {
			if (!reports.containsKey(known.by()) && mustAnswer(known, inquired, answered)) {
				violated(9, known.by() + " was there, but did not report: " + inquired);
			}
		}
	}

	private Stream<Event> of(Type type, Event inquired) {
		return this.troubles.all(type).stream().filter((event) -> event.id().equals(inquired.id()));
	}

	/** Return whether nothing kept an instance from being known, asked, and heard. */
	private boolean mustAnswer(Event known, Event inquired, Event answered) {
		String by = known.by();
		long from = inquired.at() - SECOND;
		return known.at() <= from && end(by, known.at()) > answered.at()
				&& !this.troubles.happened(Type.SHUT_DOWN, by, Long.MIN_VALUE, answered.at())
				&& !this.troubles.isTroubled(by, known.at() - this.slack, known.at() + SECOND)
				&& !this.troubles.isTroubled(by, from, answered.at())
				&& !this.troubles.isTroubled(inquired.by(), from, answered.at())
				&& !this.troubles.happened(Type.DEAF, by, inquired.at(), answered.at())
				&& this.troubles.all(Type.DATA_LOST)
					.stream()
					.noneMatch((loss) -> known.at() <= loss.at() && loss.at() <= answered.at());
	}

	/**
	 * Return whether a request of the instance for several keys may hold the key as a
	 * part, by re-entry of its thread or by a hand-over. The part keeps the key while the
	 * request waits for the remaining keys, despite releases.
	 */
	private boolean isHeldByPart(Request hold, long from, long until) {
		return this.requests.values()
			.stream()
			.anyMatch((part) -> part.isPart() && part.group().equals(hold.group())
					&& part.asked.by().equals(hold.asked.by()) && part.asked.at() <= Math.min(hold.holdEnd, until)
					&& part.answeredAt >= from);
	}

	private void judgeReport(Event report, long from, long until) {
		Map<Request, String> reported = new LinkedHashMap<>();
		for (String id : report.why().split(",")) {
			Request request = this.requests.get(id);
			if (request != null) {
				reported.put(request.root, id);
			}
		}
		reported.forEach((hold, id) -> {
			if ((hold.holdEnd < from || hold.asked.at() > until) && !isHeldByPart(hold, from, until)) {
				violated(9, "reported, but not held: " + hold + " in " + report);
			}
		});
		if (this.troubles.happened(Type.PAUSED, report.by(), from - SECOND, until)) {
			// The user did not yet know of a loss in between.
			return;
		}
		for (Request request : this.requests.values()) {
			if (request.asked.by().equals(report.by()) && request.isHold() && request.begin() < from
					&& request.holdEnd > until && !reported.containsKey(request)) {
				violated(9, "held, but not reported: " + request + " in " + report);
			}
		}
	}

}
