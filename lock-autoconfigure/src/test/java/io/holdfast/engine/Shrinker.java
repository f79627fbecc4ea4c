package io.holdfast.engine;

import java.util.ArrayList;
import java.util.List;
import java.util.function.Predicate;

/**
 * Shortens failing plans by the removal of irrelevant steps.
 *
 * <p>
 * After A. Zeller, R. Hildebrandt, <em>Simplifying and Isolating Failure-Inducing
 * Input</em>, IEEE Transactions on Software Engineering 28 (2002).
 */
final class Shrinker {

	private static final int MAX_RUNS = 3000;

	private final Predicate<Plan> fails;

	private Plan plan;

	private int runs;

	private Shrinker(Plan plan, Predicate<Plan> fails) {
		this.plan = plan;
		this.fails = fails;
	}

	/**
	 * Shorten a plan.
	 * @param plan a plan that fails
	 * @param fails whether a plan fails in the same way
	 * @return a failing plan in which each step is necessary, unless the search took too
	 * long
	 */
	static Plan shrink(Plan plan, Predicate<Plan> fails) {
		Shrinker shrinker = new Shrinker(plan, fails);
		Plan last;
		do {
			last = shrinker.plan;
			shrinker.removeSteps();
			shrinker.simplify();
		}
		while (!last.equals(shrinker.plan) && shrinker.runs < MAX_RUNS);
		return shrinker.plan;
	}

	private void removeSteps() {
		for (int size = Math.max(1, this.plan.steps().size() / 2); size > 0; size /= 2) {
			for (int from = 0; from < this.plan.steps().size();) {
				List<Step> steps = new ArrayList<>(this.plan.steps());
				steps.subList(from, Math.min(from + size, steps.size())).clear();
				if (!accept(new Plan(this.plan.setup(), steps))) {
					from += size;
				}
			}
		}
	}

	private void simplify() {
		this.plan.setup().simpler().forEach((setup) -> accept(new Plan((Step.Setup) setup, this.plan.steps())));
		for (int i = 0; i < this.plan.steps().size(); i++) {
			for (Step simpler : this.plan.steps().get(i).simpler()) {
				List<Step> steps = new ArrayList<>(this.plan.steps());
				steps.set(i, simpler);
				if (accept(new Plan(this.plan.setup(), steps))) {
					break;
				}
			}
		}
	}

	private boolean accept(Plan shorter) {
		if (this.runs++ < MAX_RUNS && this.fails.test(shorter)) {
			this.plan = shorter;
			return true;
		}
		return false;
	}

}
