package io.holdfast.history;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/**
 * Judges a history by what must hold whatever happens, by sweeps over the intervals in
 * which something was asked for and held. What a history does not tell is not judged:
 * processes that are killed write nothing down any more. The properties, as they are
 * numbered in messages:
 * <ol>
 * <li>At no moment more is held than may be, a lease counting from the return of acquire
 * to the earlier of its own validity's end and the start of its release; and after the
 * loss of one that is not released, nothing is granted before its loss margin is over.
 * <li>Fencing tokens grow.
 * <li>What is over changes nothing: no repeated command does, and no lease ends early
 * without a cause.
 * <li>Nothing is stored without an end, and no more than is held and waited for.
 * <li>Waits end by their deadlines, and by interrupts.
 * <li>No request waits for what is free.
 * <li>Nothing is renewed that is not held, and nothing is left.
 * <li>The reason that is told is the reason.
 * <li>A watcher is told of who is there, not for long of who is not, and of what is held.
 * <li>Fair requests of one instance for the same are granted it in the order in which
 * they came.
 * </ol>
 */
public final class Checker {

	private Checker() {
	}

	/**
	 * Judge a history.
	 * @param history its events, in any order
	 * @param slackNanos how late a wait may end
	 * @param pollNanos how long a waiter may take to see what it was not told
	 * @return what must not have happened; nothing if all is well
	 */
	public static List<String> check(List<Event> history, long slackNanos, long pollNanos) {
		History told = new History(slackNanos, pollNanos);
		List<Event> inOrder = new ArrayList<>(history);
		inOrder.sort(Comparator.comparingLong(Event::at));
		inOrder.forEach(told::read);
		told.complete();
		judge(told);
		return told.violations();
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
				// What is passed on at once is granted twice in no time.
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
