package io.holdfast.history;

import java.util.stream.Stream;

import io.holdfast.history.Event.Type;
import io.holdfast.history.History.Cut;

/**
 * Judges the ends of leases: with a cause, once, and as reported to their users.
 */
final class EndChecker {

	private final History history;

	EndChecker(History history) {
		this.history = history;
	}

	void judgeEnd(Request request) {
		judgeGone(request);
		judgeTime(request);
		Event lost = request.lost;
		if (lost != null && request.releasing == null || lost != null && lost.at() <= request.releasing.at()) {
			// Rounding by clocks that run fast or slow.
			boolean early = lost.until() == 0 || lost.at() + 1 < lost.until();
			if (early && !hasCause(request, lost.at())) {
				this.history.violated(3, "lost without a cause: " + lost + " of " + request);
			}
			// There was time for a second attempt, unless it was granted late, or inside
			// of a lease without renewal.
			long from = lost.until() - request.asked.lease() / 2;
			if (!early && request.begin() < from && lost.why().equals("RENEWED") && !hasCause(request, lost.at())
					&& !this.history.troubles().isTroubled(request.asked.by(), from, lost.until())) {
				this.history.violated(3, "lost although it could be renewed: " + lost + " of " + request);
			}
		}
		for (Cut cut : this.history.cutting(request.group())
			.filter((event) -> this.history.isTakenBy(event, request) && !mayBeGrantedAgainUnheard(event, request))
			.map(Cut::of)
			.toList()) {
			long most = cut.until() + request.root.longestLease;
			if (request.isHold() && request.first.begin() < cut.from() && request.grantedAgainAt < cut.from()
					&& request.holdEnd > most && most <= this.history.troubles().lastAt() && !mayBeTakenBack(cut, most)
					&& !wasRenewedForLonger(request, cut)) {
				this.history.violated(3, "held on after it was taken away at " + cut + ": " + request);
			}
		}
		judgeForced(request);
		if (request.answers.stream().filter((answer) -> answer.why().equals("RELEASED")).count() > 1) {
			this.history.violated(3, "released twice: " + request);
		}
		for (Event answer : request.answers) {
			Event releasing = request.releasing;
			if (answer.why().equals("RELEASED") && releasing != null
					&& (releasing.until() != 0 || lost != null && lost.at() < releasing.at())) {
				this.history.violated(8,
						"over before its release, and reported as released: " + answer + " of " + request);
			}
			boolean lostBefore = lost != null && releasing != null && lost.at() <= releasing.at();
			if (answer.why().equals("LOST") && releasing != null && releasing.until() == 0 && !lostBefore
					&& !isRetaining(request) && !request.isPart() && !hasCause(request, answer.at())
					&& !isOverWhilePaused(request, releasing.at(), answer.at())) {
				this.history.violated(8, "held until its release, and reported as lost: " + answer + " of " + request);
			}
		}
	}

	/**
	 * Return whether a late command may restore a lock that was released by force,
	 * without a message of that release.
	 */
	private boolean mayBeGrantedAgainUnheard(Event cutting, Request request) {
		String by = request.asked.by();
		return cutting.type() == Type.FORCED && Stream.of(Type.DEAF, Type.TROUBLE)
			.allMatch((type) -> this.history.troubles().happened(type, by, cutting.at(), cutting.at()));
	}

	/**
	 * Check that a lease is lost, and no longer handed over, once its instance knows of
	 * the forced release.
	 */
	private void judgeForced(Request request) {
		for (Event ended : this.history.all(Type.ENDED)) {
			Request forced = this.history.requests().get(ended.id());
			boolean mine = forced != null && request.isHold()
					&& (forced.root == request || request.before == forced.root);
			if (mine && request.holdEnd > Math.max(ended.at(), request.begin())) {
				this.history.violated(3,
						"held although its instance knows that it was released by force: " + ended + " of " + request);
			}
		}
	}

	/**
	 * Check that a lease lasts for its time, also inside of another, unless the outer
	 * lease ends before the store can have extended it.
	 */
	private void judgeTime(Request request) {
		Event lost = request.lost;
		long little = this.history.slack() / 4;
		if (lost != null && request.granted != null && request.root != request
				&& lost.at() + little < request.begin() + request.asked.lease() * 98 / 100 - request.margin
				&& lost.until() - request.begin() > little && !hasCause(request, lost.at())
				&& !this.history.troubles().isTroubled(request.asked.by(), request.root.firstAskedAt(), lost.at())) {
			this.history.violated(3, "lost before its time was over: " + lost + " of " + request);
		}
	}

	/**
	 * Check that the last release of a hold reports the store's answer.
	 */
	private void judgeGone(Request request) {
		long goneAt = request.root.goneAt;
		Event releasing = request.releasing;
		// Possibly renewed for longer.
		if (releasing == null || goneAt >= request.validUntil || !isLast(request)) {
			return;
		}
		// A lease that was handed over here, or retained, was reported as released
		// before; a part is reported when all parts are released.
		if (!request.isPart() && request.answers.stream()
			.anyMatch((answer) -> answer.at() >= goneAt && answer.why().equals("RELEASED"))) {
			this.history.violated(8, "gone before its release, and reported as released: " + request);
		}
		// A part reports the result of another part.
		if (request.lost == null && !request.isPart()
				&& request.answers.stream().anyMatch((answer) -> answer.why().equals("LOST"))) {
			this.history.violated(8, "gone before its release, and reported only by the release: " + request);
		}
	}

	/** Return whether this release, and no other, ended the hold. */
	private boolean isLast(Request request) {
		return this.history.groups()
			.get(request.group())
			.stream()
			.noneMatch((other) -> other != request && other.root == request.root && other.endedAt >= request.endedAt);
	}

	/**
	 * Return whether its instance stood still for too long after the start of the
	 * release.
	 */
	private boolean isOverWhilePaused(Request request, long from, long until) {
		return request.validUntil <= until
				&& this.history.troubles().happened(Type.PAUSED, request.asked.by(), from, until);
	}

	/**
	 * Return whether the key is kept after the release. The last lease ends the hold, so
	 * the first lease's own least time counts, too.
	 */
	private static boolean isRetaining(Request request) {
		return Stream.of(request, request.root)
			.anyMatch((one) -> one.releasing != null && one.releasing.why().equals("RETAINED"));
	}

	private boolean hasCause(Request request, long at) {
		// An entry that was released is back after the fail-over, and in the way of new
		// leases, unless these were confirmed.
		if (this.history.all(Type.CONFIRMING).isEmpty() && this.history.all(Type.FAILED_OVER)
			.stream()
			.anyMatch((over) -> over.at() >= request.root.firstAskedAt() && over.at() <= at)) {
			return true;
		}
		return this.history.cuts(request.group())
			.stream()
			.anyMatch((cut) -> cut.until() >= request.root.firstAskedAt() && cut.from() <= at)
				|| this.history.troubles().happened(Type.SHUT_DOWN, request.asked.by(), Long.MIN_VALUE, at);
	}

	/** Renewed by hand, until its former end. */
	private boolean wasRenewedForLonger(Request request, Cut cut) {
		return this.history.all(Type.RENEWAL)
			.stream()
			.anyMatch((renewal) -> renewal.id().equals(request.asked.id()) && renewal.at() < cut.from()
					&& renewal.at() + renewal.lease() >= request.holdEnd);
	}

	/**
	 * After a fail-over holders restore missing entries, and a server may still have the
	 * entry.
	 */
	private boolean mayBeTakenBack(Cut cut, long before) {
		return this.history.all(Type.FAILED_OVER)
			.stream()
			.anyMatch((over) -> over.at() > cut.from() && over.at() <= before);
	}

}
