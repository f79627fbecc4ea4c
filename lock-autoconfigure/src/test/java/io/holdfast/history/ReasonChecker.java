package io.holdfast.history;

import java.util.List;
import java.util.stream.Stream;

import io.holdfast.history.Event.Type;

/**
 * Judges whether the reported reason of a refusal is true.
 */
final class ReasonChecker {

	private final History history;

	ReasonChecker(History history) {
		this.history = history;
	}

	void judgeReason(Request request) {
		Event refused = request.refused;
		if (refused == null) {
			return;
		}
		Event asked = request.asked;
		String by = asked.by();
		boolean possible = switch (refused.why()) {
			case "TIMED_OUT" -> true;
			// It may have waited for a release whose answer was lost: that is repeated a
			// little later than the longest time of an answer.
			case "STORE" ->
				this.history.troubles().isTroubled(by, refused.at() - this.history.slack() * 9 / 8, refused.at())
						|| wasFull(request, refused.at())
						|| this.history.troubles()
							.happened(Type.UNCONFIRMED, by, refused.at() - this.history.slack(), refused.at())
								&& hasWaited(request, refused.at());
			case "INTERRUPTED" -> request.interruptedAt <= refused.at();
			case "SHUTDOWN" -> this.history.troubles().happened(Type.SHUT_DOWN, by, Long.MIN_VALUE, refused.at());
			case "EXCEEDS_LIMIT" -> this.history.limitsBetween(request.group(), asked.at(), refused.at(), asked.limit())
				.stream()
				.anyMatch((limit) -> limit < asked.permits());
			case "SELF_BLOCKED" -> isBlockedBySelf(request);
			case "LOST" -> hasLost(request, refused.at());
			default -> false;
		};
		if (!possible) {
			this.history.violated(8, "refused for a reason that was not: " + request);
		}
	}

	/**
	 * Return whether the store refused the request for lack of room. A waiting request is
	 * not refused, and keeps its place.
	 */
	private boolean wasFull(Request request, long until) {
		return this.history.all(Type.FULL)
			.stream()
			.anyMatch((full) -> full.by().equals(request.asked.by())
					// All parts share the result of a part.
					&& (request.isPart() || Request.group(full).equals(request.group()))
					&& until - this.history.slack() <= full.at() && full.at() <= until);
	}

	/**
	 * Return whether the request waited for its whole wait time, by a clock that may be
	 * fast by 1 %.
	 */
	private static boolean hasWaited(Request request, long until) {
		Event asked = request.asked;
		return !asked.why().isEmpty()
				|| asked.until() != 0 && until - asked.at() >= (asked.until() - asked.at()) * 98 / 100;
	}

	private boolean isBlockedBySelf(Request request) {
		// A part may be for a key that is free.
		return (request.isPart() ? this.history.requests().values() : this.history.groups().get(request.group()))
			.stream()
			.anyMatch((other) -> other.isOfSameUser(request) && request.isWhole() && !other.isWhole()
					&& other.asked.at() <= request.answeredAt
					&& ((other.granted != null) ? other.root.holdEnd : other.answeredAt) >= request.asked.at());
	}

	/**
	 * Return whether a lease of the request, or a part of its keys, ended by itself or by
	 * a fault.
	 */
	private boolean hasLost(Request request, long at) {
		if (request.isPart()) {
			return this.history.troubles()
				.isAny(Type.DATA_LOST, Type.FAILED_OVER, Type.FORCED, Type.PAUSED, Type.TROUBLE, Type.OUTAGE,
						Type.SHUT_DOWN)
					// Or of something that its user had before.
					|| this.history.requests()
						.values()
						.stream()
						.anyMatch((other) -> other.isOfSameUser(request) && other.begin() <= at
								&& (other.releasing == null || other.releasing.at() >= request.asked.at()));
		}
		return this.history.groups()
			.get(request.group())
			.stream()
			.anyMatch((other) -> other.asked.by().equals(request.asked.by()) && other.begin() <= at
					&& (other.lost != null || other.end() < other.endedAt
					// At the moment of its release.
							|| other.releasing != null && other.releasing.until() > 0));
	}

	/**
	 * Return the time, within a lease, until which a request may have an entry. A command
	 * that was under way at its end may arrive when a trouble is over, and the command
	 * that ended the request may not.
	 */
	private long mayHaveUntil(Request request) {
		long end = Math.min(
				(request.granted != null) ? Math.max(request.root.holdEnd, request.retainedUntil) : request.answeredAt,
				Request.NEVER);
		long arrival = troubleOver(request.asked.by(), end);
		// A command that is late by a trouble may run into the next trouble.
		for (long before = end; arrival != before;) {
			before = arrival;
			arrival = troubleOver(request.asked.by(), before);
		}
		return arrival;
	}

	/** Return the end of all troubles of an instance that began before a time. */
	private long troubleOver(String instance, long at) {
		return Stream.of(Type.OUTAGE, Type.TROUBLE)
			.flatMap((type) -> this.history.all(type).stream())
			.filter((trouble) -> trouble.by().equals(instance) && trouble.at() <= at)
			.mapToLong((trouble) -> Math.max(trouble.until(), at))
			.max()
			.orElse(at);
	}

	/**
	 * Check that a request that was refused because of other owners met other owners, not
	 * silence.
	 */
	void judgeTimeOuts(String group, List<Request> all) {
		long lease = all.stream().mapToLong((request) -> request.asked.lease()).max().orElse(0) + this.history.slack();
		for (Request request : all) {
			Event refused = request.refused;
			if (refused == null || !refused.why().equals("TIMED_OUT") || request.isPart()) {
				continue;
			}
			long from = request.asked.at();
			long until = refused.at();
			boolean silent = this.history.all(Type.OUTAGE)
				.stream()
				.anyMatch((outage) -> outage.by().equals(request.asked.by()) && outage.at() <= from
						&& outage.until() >= until);
			boolean met = this.history.all(Type.FAILED_OVER)
				.stream()
				.anyMatch((over) -> over.at() <= until && from <= over.until());
			for (Request other : all) {
				boolean near = !silent || other.asked.by().equals(request.asked.by());
				if (other != request && near && other.asked.at() <= until && mayHaveUntil(other) + lease >= from) {
					met = true;
					break;
				}
			}
			if (!met) {
				this.history.violated(8, "refused because of other owners of " + group + ", but there were none"
						+ (silent ? " before the outage" : "") + ": " + request);
			}
		}
	}

}
