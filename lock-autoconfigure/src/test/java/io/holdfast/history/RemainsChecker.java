package io.holdfast.history;

import java.util.List;
import java.util.Map;
import java.util.TreeMap;

import io.holdfast.history.Event.Type;

/**
 * Judges stored entries, repeated commands, renewals and leftovers: no more than is held
 * and waited for.
 */
final class RemainsChecker {

	private final History history;

	RemainsChecker(History history) {
		this.history = history;
	}

	void judgeWhatIsLeft() {
		Map<String, Long> held = new TreeMap<>();
		Map<String, Long> waiting = new TreeMap<>();
		for (Event stored : this.history.all(Type.STORED)) {
			if (stored.until() == -1 && !stored.why().equals("LIMIT")) {
				this.history.violated(4, "stored without an end: " + stored);
			}
			boolean quiet = this.history.all(Type.QUIET).stream().anyMatch((event) -> event.at() <= stored.at());
			if (quiet && stored.why().equals("HELD")) {
				held.merge(Request.group(stored), (long) stored.permits(), Long::sum);
			}
			else if (quiet && stored.why().equals("WAITING")) {
				waiting.merge(Request.group(stored), (long) stored.permits(), Long::sum);
			}
		}
		held.forEach((group, permits) -> {
			long living = living(group).stream()
				.filter((request) -> request.isHold()
						&& Math.max(request.holdEnd, request.retainedUntil) > this.history.troubles().lastAt())
				.mapToLong((request) -> request.isPermits() ? request.weight() : 1)
				.sum();
			if (permits != living) {
				this.history.violated(4,
						permits + " are in use of " + group + " when all is quiet, and " + living + " are held");
			}
		});
		waiting.forEach((group, count) -> {
			long living = living(group).stream().filter((request) -> request.answeredAt == Request.NEVER).count();
			if (count > living) {
				this.history.violated(4,
						count + " wait in the store for " + group + " when all is quiet, and " + living + " do");
			}
		});
		for (Event repeated : this.history.all(Type.REPEATED)) {
			if (!repeated.why().isEmpty()) {
				this.history.violated(3, "a repeated command changed something: " + repeated);
			}
		}
		for (Event renewal : this.history.all(Type.RENEWAL)) {
			Request request = this.history.requests().get(renewal.id());
			if (request == null || request.granted != null && request.root.usedUntil < renewal.at()
					&& !isEnteredByPart(request, renewal.at()) && request.root.passedOnAt != renewal.at()) {
				this.history.violated(7, "renewed, but not held: " + renewal + " of " + request);
			}
		}
		this.history.all(Type.UNEXPECTED)
			.forEach((event) -> this.history.violated(event.permits(), "unexpected: " + event));
		for (Event forgotten : this.history.all(Type.FORGOTTEN)) {
			boolean returned = this.history.all(Type.FAILED_OVER)
				.stream()
				.anyMatch((over) -> over.at() <= forgotten.at());
			if (!returned && !this.history.troubles()
				.isTroubled(forgotten.by(), forgotten.until() - this.history.slack(), forgotten.at())) {
				this.history.violated(4, "kept for who knows nothing of it: " + forgotten);
			}
		}
		for (Event left : this.history.all(Type.LEFT)) {
			if (left.permits() != 0) {
				this.history.violated(7, "left by the end: " + left);
			}
		}
	}

	/** Return whether a part of a waiting request may be nested in the hold. */
	private boolean isEnteredByPart(Request request, long at) {
		return this.history.groups()
			.get(request.group())
			.stream()
			.anyMatch((other) -> other.isPart() && other.isOfSameUser(request) && other.asked.at() <= at
					&& at <= other.answeredAt);
	}

	private List<Request> living(String group) {
		return this.history.groups()
			.getOrDefault(group, List.of())
			.stream()
			.filter((request) -> this.history.crashOf(request.asked.by()) == Request.NEVER)
			.toList();
	}

}
