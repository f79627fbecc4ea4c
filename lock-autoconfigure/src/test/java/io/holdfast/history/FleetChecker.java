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
 * Judges what a watcher is told: of who is there, and of what they hold.
 */
final class FleetChecker {

	private static final long SECOND = 1_000_000_000L;

	/** After this time an instance has said again that it is there, whatever happened. */
	private static final long REFRESH = 75 * SECOND;

	/** After this time one that says nothing is forgotten. */
	private static final long RETENTION = 190 * SECOND;

	/** How long instances have to answer, and the store before and after that. */
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

	// Who is there

	private void judgeMembers(Event listed) {
		Set<String> told = this.troubles.all(Type.MEMBER)
			.stream()
			.filter((member) -> member.at() == listed.at())
			.map(Event::by)
			.collect(Collectors.toSet());
		for (Event known : this.troubles.all(Type.KNOWN)) {
			String by = known.by();
			long end = end(by, known.at());
			boolean isTold = told.contains(by);
			if (end == Request.NEVER && !isTold && known.at() + REFRESH <= listed.at()) {
				violated(9, by + " is there, but not known at " + listed.at());
			}
			if (isTold && end + RETENTION < listed.at()) {
				violated(9, by + " is gone since " + end + ", but known at " + listed.at());
			}
			boolean left = this.troubles.crashOf(by) == Request.NEVER && hasLeft(by, end);
			if (isTold && left && end + 2 * SECOND < listed.at()) {
				violated(9, by + " has left at " + end + ", but is known at " + listed.at());
			}
		}
	}

	/**
	 * Whether it could say so each time it was shut down: it is another one each time.
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

	/** When an instance died, or shut down and was not resumed; after some time. */
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

	// What they hold

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

	/** Whether nothing kept an instance from being known, asked, and heard. */
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
	 * Whether its instance asked for several keys, one of which it may have by that: its
	 * thread entered it, or it was passed on. It keeps that while it waits for the
	 * others, whatever is released.
	 */
	private boolean isHeldByPart(Request hold, long from, long until) {
		return this.requests.values()
			.stream()
			.anyMatch((part) -> part.isPart() && part.group().equals(hold.group())
					&& part.asked.by().equals(hold.asked.by()) && part.asked.at() <= Math.min(hold.holdEnd, until)
					&& part.answeredAt >= from);
	}

	private void judgeReport(Event report, long from, long until) {
		Map<Request, String> told = new LinkedHashMap<>();
		for (String id : report.why().split(",")) {
			Request request = this.requests.get(id);
			if (request != null) {
				told.put(request.root, id);
			}
		}
		told.forEach((hold, id) -> {
			if ((hold.holdEnd < from || hold.asked.at() > until) && !isHeldByPart(hold, from, until)) {
				violated(9, "reported, but not held: " + hold + " in " + report);
			}
		});
		if (this.troubles.happened(Type.PAUSED, report.by(), from - SECOND, until)) {
			// What was lost in between its user did not know yet.
			return;
		}
		for (Request request : this.requests.values()) {
			if (request.asked.by().equals(report.by()) && request.isHold() && request.begin() < from
					&& request.holdEnd > until && !told.containsKey(request)) {
				violated(9, "held, but not reported: " + request + " in " + report);
			}
		}
	}

}
