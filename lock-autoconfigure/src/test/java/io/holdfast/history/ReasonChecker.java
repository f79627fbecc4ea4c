package io.holdfast.history;

import java.util.List;
import java.util.stream.Stream;

import io.holdfast.history.Event.Type;

/**
 * Judges whether the reason that is told for a refusal is the reason.
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
			// Perhaps it has waited for a release whose answer was lost: that is repeated
			// a
			// little later than an answer may take.
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
	 * Whether the store did not take it in. What waits already is not refused, and keeps
	 * its place.
	 */
	private boolean wasFull(Request request, long until) {
		return this.history.all(Type.FULL)
			.stream()
			.anyMatch((full) -> full.by().equals(request.asked.by())
					// What becomes of one part becomes of the others.
					&& (request.isPart() || Request.group(full).equals(request.group()))
					&& until - this.history.slack() <= full.at() && full.at() <= until);
	}

	/** Whether it waited for as long as it was to, by a clock that may be fast by 1 %. */
	private static boolean hasWaited(Request request, long until) {
		Event asked = request.asked;
		return !asked.why().isEmpty()
				|| asked.until() != 0 && until - asked.at() >= (asked.until() - asked.at()) * 98 / 100;
	}

	private boolean isBlockedBySelf(Request request) {
		// One part of several may be for a key that is not.
		return (request.isPart() ? this.history.requests().values() : this.history.groups().get(request.group()))
			.stream()
			.anyMatch((other) -> other.isOfSameUser(request) && request.isWhole() && !other.isWhole()
					&& other.asked.at() <= request.answeredAt
					&& ((other.granted != null) ? other.root.holdEnd : other.answeredAt) >= request.asked.at());
	}

	/** Something that it had, or already had got, ended by itself or by a fault. */
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
					// Just when it was released.
							|| other.releasing != null && other.releasing.until() > 0));
	}

	/**
	 * Until when, give or take a lease, something may be stored of a request. What was
	 * under way when it ended may arrive when a trouble is over, and what ended it not.
	 */
	private long mayHaveUntil(Request request) {
		long end = Math.min(
				(request.granted != null) ? Math.max(request.root.holdEnd, request.retainedUntil) : request.answeredAt,
				Request.NEVER);
		long arrival = troubleOver(request.asked.by(), end);
		// What comes out of one trouble may come into the next.
		for (long before = end; arrival != before;) {
			before = arrival;
			arrival = troubleOver(request.asked.by(), before);
		}
		return arrival;
	}

	/** When all troubles of an instance that began before a time are over. */
	private long troubleOver(String instance, long at) {
		return Stream.of(Type.OUTAGE, Type.TROUBLE)
			.flatMap((type) -> this.history.all(type).stream())
			.filter((trouble) -> trouble.by().equals(instance) && trouble.at() <= at)
			.mapToLong((trouble) -> Math.max(trouble.until(), at))
			.max()
			.orElse(at);
	}

	/** A request that is told that others have it must have met others, not silence. */
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
				this.history.violated(8, "told that others have " + group + ", but there were none"
						+ (silent ? " before the outage" : "") + ": " + request);
			}
		}
	}

}
