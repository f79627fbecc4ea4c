package io.holdfast.history;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.EnumSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;

import io.holdfast.history.Event.Type;

/**
 * Content of a history by requests and keys, and its violations.
 */
final class History {

	private static final Set<Type> ABOUT_NO_REQUEST = EnumSet.of(Type.RENEWAL, Type.REPEATED, Type.INQUIRED,
			Type.INQUIRY_ANSWERED, Type.REPORTED, Type.FORCED, Type.ENDED);

	private final long slack;

	private final long poll;

	private final List<String> violations = new ArrayList<>();

	private final Map<String, Request> requests = new LinkedHashMap<>();

	private final Map<String, List<Request>> groups = new LinkedHashMap<>();

	private final Troubles troubles = new Troubles();

	/**
	 * Create an empty history.
	 * @param slackNanos the longest delay of the end of a wait
	 * @param pollNanos the longest delay of a waiter without a message
	 */
	History(long slackNanos, long pollNanos) {
		this.slack = slackNanos;
		this.poll = pollNanos;
	}

	long slack() {
		return this.slack;
	}

	long poll() {
		return this.poll;
	}

	/** Return the violations. */
	List<String> violations() {
		return this.violations;
	}

	void violated(int property, String what) {
		this.violations.add("property " + property + ": " + what);
	}

	/** Return the requests by their ids. */
	Map<String, Request> requests() {
		return this.requests;
	}

	/** Return the requests by their keys. */
	Map<String, List<Request>> groups() {
		return this.groups;
	}

	Troubles troubles() {
		return this.troubles;
	}

	void read(Event event) {
		this.troubles.passed(event);
		if (event.type() == Type.ASKED) {
			Request request = new Request(event);
			if (this.requests.put(event.id(), request) != null) {
				throw new IllegalArgumentException("requested twice: " + event);
			}
			this.groups.computeIfAbsent(request.group(), (k) -> new ArrayList<>()).add(request);
		}
		else if (event.id().isEmpty() || ABOUT_NO_REQUEST.contains(event.type())) {
			this.troubles.add(event);
		}
		else {
			Request request = this.requests.get(event.id());
			if (request == null) {
				throw new IllegalArgumentException("not requested: " + event);
			}
			read(event, request);
		}
	}

	private void read(Event event, Request request) {
		switch (event.type()) {
			case INTERRUPTED -> request.interruptedAt = Math.min(request.interruptedAt, event.at());
			case GRANTED -> {
				answered(event, request);
				request.granted = event;
				request.heldUntil = event.until();
				request.validUntil = event.until();
				Request outer = event.why().isEmpty() ? null : this.requests.get(event.why());
				if (outer != null) {
					request.root = outer.root;
				}
			}
			case REFUSED -> {
				answered(event, request);
				request.refused = event;
			}
			case HELD -> {
				if (event.at() > request.endedAt) {
					violated(3, "held again: " + event + " of " + request);
				}
				request.heldUntil = Math.max(request.heldUntil, event.until());
				request.validUntil = Math.max(request.validUntil, event.until());
			}
			case IN_TURN -> request.inTurn = event.why();
			case MARGIN -> request.margin = event.lease();
			case PASSED_ON -> {
				Request before = this.requests.get(event.why());
				if (before != null) {
					request.first = before.root.first;
					request.before = before.root;
					before.root.passedOnAt = event.at();
				}
				else {
					request.storedAt = event.until();
				}
			}
			case CONFIRMED -> request.confirmedAt = event.at();
			case GRANTED_AGAIN -> request.root.grantedAgainAt = event.at();
			case RELEASING -> {
				ended(event, request);
				request.releasing = (request.releasing == null) ? event : request.releasing;
			}
			case LOST -> {
				ended(event, request);
				request.lost = event;
				// The longer margin of a nested lease counts from the next renewal on.
				long own = (request.root != request) ? 0 : request.margin;
				request.margin = Math.max(own, event.lease());
			}
			case RELEASED -> request.answers.add(event);
			case GONE -> request.root.goneAt = Math.min(request.root.goneAt, event.at());
			case RETAINED -> request.retainedUntil = event.until();
			default -> throw new IllegalArgumentException("about a request? " + event);
		}
	}

	private void answered(Event event, Request request) {
		if (request.answeredAt != Request.NEVER) {
			violated(8, "answered twice: " + event + " of " + request);
		}
		request.answeredAt = event.at();
	}

	private static void ended(Event event, Request request) {
		// The first end counts: an end is final.
		if (request.endedAt == Request.NEVER) {
			request.endedAt = event.at();
			request.heldUntil = event.until();
		}
	}

	private static void close(Request request) {
		if (request.endedAt == Request.NEVER && request.heldUntil == 0) {
			// The hold of a killed process lasts until its last event.
			request.heldUntil = (request.granted != null) ? request.granted.at() : 0;
		}
	}

	/** Note the end of each hold, when all events are read. */
	void complete() {
		this.requests.values().forEach(History::close);
		for (Request request : this.requests.values()) {
			request.root.longestLease = Math.max(request.root.longestLease, request.asked.lease());
			request.root.holdEnd = Math.max(request.root.holdEnd, request.end());
			request.root.usedUntil = Math.max(request.root.usedUntil, request.endedAt);
			if (request.granted != null) {
				long released = (request.releasing != null) ? request.releasing.at() : Request.NEVER;
				request.root.releasedAt = Math.max(request.root.releasedAt, released);
				request.root.lossMargin = Math.max(request.root.lossMargin, marginAfterLoss(request));
			}
		}
	}

	/**
	 * Return the time during which the key stays taken after a loss: none after a
	 * removal, except by a shut-down.
	 */
	private long marginAfterLoss(Request request) {
		Event lost = request.lost;
		boolean early = lost != null && lost.at() + 1 < lost.until();
		boolean nested = request.root != request && lost == null;
		return nested || early && !this.troubles.happened(Type.SHUT_DOWN, request.asked.by(), Long.MIN_VALUE, lost.at())
				? 0 : request.margin;
	}

	List<Event> all(Type type) {
		return this.troubles.all(type);
	}

	long crashOf(String instance) {
		return this.troubles.crashOf(instance);
	}

	/** Return the losses and removals of a key's entries. */
	List<Cut> cuts(String group) {
		return cutting(group).map(Cut::of).sorted(Comparator.comparingLong(Cut::from)).toList();
	}

	Stream<Event> cutting(String group) {
		return Stream.of(Type.DATA_LOST, Type.FORCED)
			.flatMap((type) -> all(type).stream())
			.filter((event) -> event.key().isEmpty() || Request.group(event).equals(group));
	}

	/**
	 * Return whether the lease itself was removed, and not only another lease on the key.
	 */
	boolean isTakenBy(Event cutting, Request request) {
		Request taken = this.requests.get(cutting.id());
		return cutting.id().isEmpty() || taken != null && taken.root == request.root;
	}

	List<Event> limits(String group) {
		return all(Type.LIMIT).stream().filter((event) -> ("semaphore " + event.key()).equals(group)).toList();
	}

	/**
	 * Return whether an earlier limit may be in force again: another server took over,
	 * and no limit was set since.
	 */
	private boolean isBack(List<Event> limits, long set, long from, long until) {
		return all(Type.FAILED_OVER).stream()
			.filter((over) -> set <= over.at() && over.at() <= until)
			.anyMatch((over) -> limits.stream()
				.filter((limit) -> limit.at() >= over.at())
				.mapToLong(Event::until)
				.min()
				.orElse(Long.MAX_VALUE) >= from);
	}

	/** Return all limits that may have been in force in a period. */
	List<Long> limitsBetween(String group, long from, long until, long asked) {
		List<Event> limits = limits(group);
		if (limits.isEmpty()) {
			return List.of(asked);
		}
		List<Long> inForce = new ArrayList<>();
		long since = Long.MIN_VALUE;
		long value = -1;
		for (int i = 0; i <= limits.size(); i++) {
			long ends = (i < limits.size()) ? Math.max(limits.get(i).until(), limits.get(i).at()) : Long.MAX_VALUE;
			if (since <= until && (from <= ends || isBack(limits, since, from, until))) {
				inForce.add((value < 0) ? asked : value);
			}
			if (i < limits.size()) {
				since = limits.get(i).at();
				value = limits.get(i).limit();
			}
		}
		if (all(Type.DATA_LOST).stream().anyMatch((loss) -> loss.at() <= until)) {
			inForce.add(asked);
		}
		return inForce;
	}

	/** At an unknown moment of that period. */
	record Cut(long from, long until) {

		static Cut of(Event event) {
			return new Cut(event.at(), Math.max(event.at(), event.until()));
		}

	}

}
