package io.holdfast.history;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/**
 * Judge of histories: checks the properties below by sweeps over the intervals of
 * requests and holds. Facts without an event are not judged: killed processes write no
 * further events. Messages number the properties:
 * <ol>
 * <li>The capacity is never exceeded: a lease counts from the return of acquire to the
 * earlier of its validity's end and the start of its release; and after a loss without a
 * release, nothing is granted before its loss margin is over.
 * <li>Fencing tokens grow.
 * <li>Ended requests change nothing: no repeated command does, and no lease ends early
 * without a cause.
 * <li>Nothing is stored without an end, and no more than is held and waited for.
 * <li>Waits end by their deadlines, and by interrupts.
 * <li>No request waits for a free resource.
 * <li>Only held leases are renewed, and nothing is left.
 * <li>Each reported reason is true.
 * <li>A watcher sees the present instances, the absent ones only for a short time, and
 * the holds.
 * <li>Equal fair requests of an instance are granted in their order.
 * </ol>
 */
public final class Checker {

	private Checker() {
	}

	/**
	 * Judge a history.
	 * @param history the events, in any order
	 * @param slackNanos the longest delay of the end of a wait
	 * @param pollNanos the longest delay of a waiter without a message
	 * @return the violations; empty without any
	 */
	public static List<String> check(List<Event> history, long slackNanos, long pollNanos) {
		History judged = new History(slackNanos, pollNanos);
		List<Event> inOrder = new ArrayList<>(history);
		inOrder.sort(Comparator.comparingLong(Event::at));
		inOrder.forEach(judged::read);
		judged.complete();
		judge(judged);
		return judged.violations();
	}

	private static void judge(History history) {
		ExclusionChecker exclusion = new ExclusionChecker(history);
		FenceChecker fences = new FenceChecker(history);
		ProgressChecker progress = new ProgressChecker(history);
		ReasonChecker reasons = new ReasonChecker(history);
		OrderChecker order = new OrderChecker(history);
		history.groups().forEach((group, all) -> {
			List<Request> holds = all.stream()
				.filter(Request::isHold)
				// A hand-over at once is two grants at the same moment.
				.sorted(Comparator.comparingLong(Request::begin).thenComparingLong(Request::fence))
				.toList();
			exclusion.judgeOverlaps(group, holds);
			holds.forEach(exclusion::judgeConfirmation);
			holds.forEach((hold) -> exclusion.judgeMargin(group, hold));
			fences.judgeFences(group, holds);
			progress.judgeProgress(group, all, holds);
			reasons.judgeTimeOuts(group, all);
			order.judgeOrder(all);
		});
		List<Request> all = List.copyOf(history.requests().values());
		all.forEach(exclusion::judgeEntry);
		all.forEach(new EndChecker(history)::judgeEnd);
		all.forEach(progress::judgeWait);
		all.forEach(reasons::judgeReason);
		new RemainsChecker(history).judgeWhatIsLeft();
		history.violations().addAll(new FleetChecker(history.troubles(), history.requests(), history.slack()).check());
	}

}
