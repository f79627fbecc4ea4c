package io.holdfast.history;

import java.util.Comparator;
import java.util.List;
import java.util.function.Predicate;

import io.holdfast.history.History.Cut;

/**
 * Judges the order of fencing tokens.
 */
final class FenceChecker {

	private final History history;

	FenceChecker(History history) {
		this.history = history;
	}

	void judgeFences(String group, List<Request> holds) {
		List<Cut> cuts = this.history.cuts(group);
		List<Request> fenced = holds.stream()
			.filter((hold) -> hold.granted != null && hold.granted.fence() != 0)
			.toList();
		// A grant before a loss whose user sees it later is out of the order.
		Predicate<Request> sure = (hold) -> cuts.stream()
			.noneMatch((cut) -> hold.firstAskedAt() <= cut.until() && cut.from() <= hold.begin());
		long highest = 0;
		long highestWhole = 0;
		for (Request hold : fenced.stream().filter(sure).filter(FenceChecker::isKnownInTime).toList()) {
			long fence = hold.fence();
			if (fence <= (hold.isWhole() ? highest : highestWhole)) {
				this.history.violated(2, "the fence did not grow: " + hold + " after "
						+ fenced.stream().filter((other) -> other.fence() >= fence && other != hold).toList());
			}
			highest = Math.max(highest, fence);
			highestWhole = hold.isWhole() ? Math.max(highestWhole, fence) : highestWhole;
		}
		// A request after another's grant gets a greater fence.
		List<Request> byAsking = fenced.stream()
			.sorted(Comparator.comparingLong((hold) -> hold.first.asked.at()))
			.toList();
		int granted = 0;
		long before = 0;
		for (Request hold : byAsking) {
			while (granted < fenced.size() && fenced.get(granted).begin() < hold.first.asked.at()) {
				before = Math.max(before, fenced.get(granted++).fence());
			}
			if (hold.fence() <= before) {
				this.history.violated(2, "the fence did not grow: " + hold + ", before it " + before);
			}
		}
	}

	/**
	 * Return whether the user saw the grant in time; otherwise later grants may have come
	 * first.
	 */
	private static boolean isKnownInTime(Request hold) {
		return hold.granted == null || hold.granted.until() == 0 || hold.granted.until() > hold.begin();
	}

}
