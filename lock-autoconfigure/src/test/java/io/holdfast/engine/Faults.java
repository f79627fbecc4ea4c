package io.holdfast.engine;

/**
 * How often what goes wrong in a {@link Simulation}, per mille, until its faults end.
 */
final class Faults {

	private final int lostReplies;

	private final int failures;

	private final int repeats;

	private final int lostWakeUps;

	private final int pauses;

	private final boolean crashes;

	private final boolean foreign;

	private final boolean ordered;

	private final boolean operator;

	private boolean confirming;

	private boolean over;

	Faults(int lostReplies, int failures, int repeats, int lostWakeUps, int pauses, boolean crashes, boolean foreign,
			boolean ordered, boolean operator) {
		this.lostReplies = lostReplies;
		this.failures = failures;
		this.repeats = repeats;
		this.lostWakeUps = lostWakeUps;
		this.pauses = pauses;
		this.crashes = crashes;
		this.foreign = foreign;
		this.ordered = ordered;
		this.operator = operator;
	}

	static Faults none() {
		return new Faults(0, 0, 0, 0, 0, false, false, true, false);
	}

	static Faults all() {
		return new Faults(40, 40, 100, 200, 5, true, true, true, false);
	}

	/** As with a pool of connections: a later command may overtake an earlier one. */
	static Faults allUnordered() {
		return new Faults(40, 40, 100, 200, 5, true, true, false, false);
	}

	/** Besides all the rest, an operator changes limits all the time. */
	static Faults allAndAnOperator() {
		return new Faults(40, 40, 100, 200, 5, true, false, true, true);
	}

	/** Besides all the rest, grants are held back until they are confirmed, or not. */
	static Faults allAndConfirmations() {
		Faults faults = all();
		faults.confirming = true;
		return faults;
	}

	void end() {
		this.over = true;
	}

	int lostReplies() {
		return this.over ? 0 : this.lostReplies;
	}

	int failures() {
		return this.over ? 0 : this.failures;
	}

	int repeats() {
		return this.over ? 0 : this.repeats;
	}

	int lostWakeUps() {
		return this.over ? 0 : this.lostWakeUps;
	}

	boolean confirming() {
		return this.confirming;
	}

	int unconfirmed() {
		return this.over ? 0 : 300;
	}

	int pauses() {
		return this.over ? 0 : this.pauses;
	}

	boolean crashes() {
		return this.crashes;
	}

	/** Whether holders hang, and subscriptions are lost for a time. */
	boolean hangs() {
		return this.crashes;
	}

	boolean ordered() {
		return this.ordered;
	}

	boolean operator() {
		return this.operator;
	}

	boolean foreign() {
		return this.foreign;
	}

}
