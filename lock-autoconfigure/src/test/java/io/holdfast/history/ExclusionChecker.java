package io.holdfast.history;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

import io.holdfast.history.Event.Type;
import io.holdfast.history.History.Cut;

/**
 * Judges exclusion: the capacity of each key, and the users of each hold.
 */
final class ExclusionChecker {

	private final History history;

	ExclusionChecker(History history) {
		this.history = history;
	}

	/** By hand, possibly for longer than its lease time. */
	private long renewedUntil(Request hold, Cut cut) {
		return this.history.all(Type.RENEWAL)
			.stream()
			.filter((renewal) -> renewal.id().equals(hold.asked.id()) && renewal.at() <= cut.until())
			.mapToLong((renewal) -> renewal.at() + renewal.lease())
			.max()
			.orElse(0);
	}

	void judgeOverlaps(String group, List<Request> holds) {
		List<Cut> cuts = this.history.cuts(group);
		List<Span> spans = new ArrayList<>(holds.size());
		for (Request hold : holds) {
			long begin = hold.begin();
			long end = Math.max(hold.holdEnd, hold.retainedUntil);
			for (Cut cut : cuts) {
				if (hold.firstAskedAt() <= cut.until() && cut.from() < end) {
					// Possibly granted earlier, although the user saw the grant later.
					if (begin < cut.from()) {
						spans.add(new Span(hold, begin, cut.from()));
					}
					begin = Math.max(begin, Math.max(cut.until() + hold.longestLease, renewedUntil(hold, cut)));
					end = hold.holdEnd;
				}
			}
			if (begin < end) {
				spans.add(new Span(hold, begin, end));
			}
		}
		spans.sort(Comparator.comparingLong(Span::begin));
		List<Span> lasting = new ArrayList<>();
		for (Span next : spans) {
			// A release and a grant in the same nanosecond follow each other.
			lasting.removeIf((span) -> span.end() <= next.begin());
			lasting.add(next);
			if (lasting.size() > 1) {
				judgeTogether(group, lasting, next.begin());
			}
		}
	}

	private void judgeTogether(String group, List<Span> lasting, long at) {
		long held = 0;
		long lastAsked = Long.MIN_VALUE;
		long limit = 0;
		for (Span span : lasting) {
			Request hold = span.hold();
			held += hold.weight();
			lastAsked = Math.max(lastAsked, hold.first.asked.at());
			limit = Math.max(limit, hold.limit());
		}
		// The last grant among these came after the last of their requests. A hand-over
		// inside an instance was granted to the first lease there.
		long allowed = highestLimit(group, lastAsked, at, limit);
		if (held > allowed) {
			this.history.violated(1, held + " are held of " + group + " at " + at + " of which there are " + allowed
					+ ": " + lasting.stream().map(Span::hold).toList());
		}
	}

	private long highestLimit(String group, long from, long until, long asked) {
		return this.history.limitsBetween(group, from, until, asked)
			.stream()
			.mapToLong(Long::longValue)
			.max()
			.orElse(asked);
	}

	/**
	 * Check that the store, by its own clock, grants no excluded request after a loss
	 * without a release before the loss margin has passed.
	 */
	void judgeMargin(String group, Request hold) {
		long until = Math.min(hold.holdEnd + hold.lossMargin * 99 / 100, hold.releasedAt);
		boolean cut = this.history.cuts(group)
			.stream()
			.anyMatch((each) -> each.from() <= until && each.until() >= hold.firstAskedAt());
		if (cut) {
			return;
		}
		for (Event grant : this.history.all(Type.STORE_GRANTED)) {
			if (hold.begin() < grant.at() && grant.at() < until && grant.at() != hold.grantedAgainAt
					&& Request.group(grant).equals(group) && (hold.isWhole() || grant.mode() == Event.Mode.EXCLUSIVE)) {
				this.history.violated(1,
						"granted before " + until + ", until when others are kept out: " + grant + " after " + hold);
			}
		}
	}

	/** A grant without a required confirmation may be lost at any time. */
	void judgeConfirmation(Request hold) {
		boolean confirming = this.history.all(Type.CONFIRMING)
			.stream()
			.anyMatch((event) -> event.by().equals(hold.asked.by()));
		if (confirming && hold.confirmedAt > hold.begin()) {
			this.history.violated(1, "granted, but not confirmed: " + hold);
		}
	}

	/**
	 * Check that a nested lease has the user of its outer lease, since it does not count
	 * a second time.
	 */
	void judgeEntry(Request request) {
		Request root = request.root;
		if (root == request) {
			return;
		}
		boolean readsOwn = root.asked.mode() == Event.Mode.EXCLUSIVE && request.asked.mode() == Event.Mode.READ;
		boolean same = root.isOfSameUser(request) && (readsOwn || root.asked.mode() == request.asked.mode())
				&& root.group().equals(request.group());
		boolean open = this.history.groups()
			.get(root.group())
			.stream()
			.anyMatch((other) -> other != request && other.root == root && other.endedAt >= request.asked.at());
		if (!same || !open) {
			this.history.violated(1,
					"entered what " + (same ? "was over: " : "is not its own: ") + request + " in " + root);
		}
	}

	private record Span(Request hold, long begin, long end) {
	}

}
