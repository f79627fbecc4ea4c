package io.holdfast.history;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.TreeMap;

import io.holdfast.history.Event.Type;

/**
 * Judges waits: each ends in time, and no request waits for a free resource.
 */
final class ProgressChecker {

	private final History history;

	ProgressChecker(History history) {
		this.history = history;
	}

	void judgeWait(Request request) {
		Event asked = request.asked;
		long crash = this.history.crashOf(asked.by());
		long answered = Math.min(request.answeredAt, crash);
		long deadline = Math.min((asked.until() != 0) ? asked.until() : Request.NEVER, request.interruptedAt);
		long end = Math.min(answered, this.history.troubles().lastAt());
		long paused = this.history.troubles().pausedFor(asked.by(), asked.at(), end);
		if (end - deadline > this.history.slack() + paused) {
			this.history.violated(5, "answered late, or not at all: " + request);
		}
		boolean quiet = !this.history.all(Type.QUIET).isEmpty()
				&& asked.at() <= this.history.all(Type.QUIET).get(0).at();
		if (quiet && answered == Request.NEVER) {
			this.history.violated(5, "never answered: " + request);
		}
	}

	void judgeProgress(String group, List<Request> all, List<Request> holds) {
		if (this.history.all(Type.FAULTS_OVER).isEmpty() || !this.history.limits(group).isEmpty() && isLimited(group)) {
			return;
		}
		long from = this.history.all(Type.FAULTS_OVER).get(0).at();
		for (Type type : List.of(Type.PAUSED, Type.TROUBLE, Type.OUTAGE, Type.UNCONFIRMED)) {
			from = Math.max(from,
					this.history.all(type)
						.stream()
						.mapToLong((event) -> Math.max(event.at(), event.until()))
						.max()
						.orElse(from));
		}
		long lease = all.stream().mapToLong((request) -> request.asked.lease()).max().orElse(0);
		List<Step> steps = new ArrayList<>();
		for (Request hold : holds) {
			long end = Math.max(hold.holdEnd, hold.retainedUntil);
			if (end > hold.begin()) {
				steps.add(new Step(hold.begin(), hold.weight(), true, 0, 0));
				steps.add(new Step(end, -hold.weight(), false, 0, 0));
			}
		}
		for (Request request : all) {
			long end = Math.min(Math.min(request.answeredAt, this.history.crashOf(request.asked.by())),
					this.history.troubles().lastAt());
			if (request.isPart()) {
				// Its present holds are unknown.
				steps.add(new Step(request.asked.at(), 0, false, 0, 1));
				steps.add(new Step(end, 0, false, 0, -1));
			}
			else if (request.asked.why().isEmpty()) {
				steps.add(new Step(request.asked.at(), 0, false, request.weight(), 0));
				steps.add(new Step(end, 0, false, -request.weight(), 0));
			}
		}
		steps.sort(Comparator.comparingLong(Step::at));
		sweep(group, steps, from, lease + this.history.poll() + this.history.slack());
	}

	private boolean isLimited(String group) {
		List<Event> limits = this.history.limits(group);
		return limits.get(limits.size() - 1).limit() >= 0;
	}

	private void sweep(String group, List<Step> steps, long from, long longest) {
		long limit = this.history.groups().get(group).stream().mapToLong(Request::limit).min().orElse(0);
		TreeMap<Long, Integer> wanted = new TreeMap<>();
		long held = 0;
		int unknown = 0;
		long freeSince = Request.NEVER;
		for (Step step : steps) {
			if (step.at() - Math.max(freeSince, from) > longest) {
				this.history.violated(6, "from " + Math.max(freeSince, from) + " to " + step.at()
						+ " no request was granted what was free of " + group);
				return;
			}
			held += step.held();
			unknown += step.unknown();
			if (step.wanted() != 0) {
				wanted.merge(Math.abs(step.wanted()), (step.wanted() > 0) ? 1 : -1,
						(left, right) -> (left + right != 0) ? left + right : null);
			}
			boolean free = !wanted.isEmpty() && unknown == 0 && held + wanted.lastKey() <= limit;
			if (!free) {
				freeSince = Request.NEVER;
			}
			else if (step.grant() || freeSince == Request.NEVER) {
				freeSince = step.at();
			}
		}
	}

	/** Start or end of an interval with a weight. */
	private record Step(long at, long held, boolean grant, long wanted, int unknown) {
	}

}
