package io.holdfast.engine;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.stream.Collectors;

import io.holdfast.SemaphoreRequest;
import io.holdfast.engine.Step.Access;
import io.holdfast.engine.Step.Api;
import io.holdfast.engine.Step.Clock;
import io.holdfast.engine.Step.Command;
import io.holdfast.engine.Step.Confirm;
import io.holdfast.engine.Step.Copy;
import io.holdfast.engine.Step.Crash;
import io.holdfast.engine.Step.DataLoss;
import io.holdfast.engine.Step.Deaf;
import io.holdfast.engine.Step.Extra;
import io.holdfast.engine.Step.FailOver;
import io.holdfast.engine.Step.Fate;
import io.holdfast.engine.Step.Force;
import io.holdfast.engine.Step.ForceBy;
import io.holdfast.engine.Step.Foreign;
import io.holdfast.engine.Step.Full;
import io.holdfast.engine.Step.GracefulShutdown;
import io.holdfast.engine.Step.Inquire;
import io.holdfast.engine.Step.Known;
import io.holdfast.engine.Step.Limit;
import io.holdfast.engine.Step.Missing;
import io.holdfast.engine.Step.Outage;
import io.holdfast.engine.Step.Pause;
import io.holdfast.engine.Step.Restart;
import io.holdfast.engine.Step.Setup;
import io.holdfast.engine.Step.Uncounted;
import io.holdfast.engine.Step.Use;
import io.holdfast.engine.Step.WakeUp;
import io.holdfast.engine.store.HandOverLimits;

/**
 * Plan of a {@link Simulation}, which determines the history.
 *
 * @param setup the setup
 * @param steps the uses and faults, with the uses of each user in order
 */
record Plan(Setup setup, List<Step> steps) {

	/** End of all faults. */
	static final int FAULTS_MILLIS = 1500;

	/** Limit of every semaphore, unless an operator sets another limit. */
	static final int LIMIT = 3;

	/** Maximum drift of a clock, in parts per million: clocks may differ by 1 %. */
	private static final int MAX_FAST = 9900;

	private static final int LONGEST_LEASE = 500;

	private static final int INSTANCES = 3;

	private static final int KEYS = 2;

	private static final int MAX_USERS = 6;

	/** Create the plan of a seed. */
	static Plan of(long seed) {
		return new Author(seed).plan();
	}

	/**
	 * Return the limit of requests. In some plans, requests have no limit, and an
	 * operator sets the limit.
	 */
	int limit() {
		return (Math.floorMod(this.setup.seed() / 5, 4L) == 1) ? 0 : LIMIT;
	}

	/** Return the longest loss margin, by which claims are longer. */
	long longestMargin() {
		return this.steps.stream()
			.filter(Use.class::isInstance)
			.mapToLong((step) -> Math.max(((Use) step).margin(),
					(((Use) step).margin() > 0) ? ((Use) step).extraMargin() : 0))
			.max()
			.orElse(0);
	}

	/** Return a request for a permit. */
	SemaphoreRequest permit(String key) {
		return (limit() > 0) ? SemaphoreRequest.of(key, limit()) : SemaphoreRequest.of(key);
	}

	/** Parse the text of {@link #toString()}. */
	static Plan parse(String text) {
		List<Step> steps = text.lines().filter((line) -> !line.isBlank()).map(Step::parse).toList();
		return new Plan((Setup) steps.get(0), steps.subList(1, steps.size()));
	}

	@Override
	public String toString() {
		return this.setup + "\n" + this.steps.stream().map((step) -> step + "\n").collect(Collectors.joining());
	}

	/**
	 * Author of a plan. Each kind of fault occurs in some plans only, so that all
	 * combinations of faults occur.
	 */
	private static final class Author {

		private static final Api[] APIS = Api.values();

		private final long seed;

		private final Random random;

		private final Access workload;

		/**
		 * Maximum count of hand-overs within an instance. No hand-overs in every second
		 * plan.
		 */
		private final int handOvers;

		private final List<Step> steps = new ArrayList<>();

		/** Whether some uses are by views. Each needs a thread, which is slow. */
		private final boolean views;

		/**
		 * Number of permits of each request in a crowd at the first key. 0 without a
		 * crowd.
		 */
		private final int crowd;

		Author(long seed) {
			this.seed = seed;
			// Neighbouring seeds must not give similar plans.
			this.random = new Random(seed * 0x9E3779B97F4A7C15L);
			this.workload = List.of(Access.EXCLUSIVE, Access.READ, Access.PERMITS).get((int) Math.floorMod(seed, 3L));
			this.handOvers = List.of(3, 0, HandOverLimits.STRIDE - 1, 0).get((int) Math.floorMod(seed / 3, 4L));
			this.views = in(5);
			this.crowd = (this.workload != Access.READ && this.handOvers > 0)
					? List.of(0, 1, 0, 2).get((int) Math.floorMod(seed / 48, 4L)) : 0;
		}

		Plan plan() {
			boolean calm = in(8);
			int users = 2 + random(MAX_USERS - 1);
			for (int user = 0; user < users; user++) {
				int instance = random(INSTANCES);
				int uses = 1 + random(5);
				for (int i = 0; i < uses; i++) {
					Use use = use(user, instance);
					this.steps.add((this.crowd > 0) ? use.inCrowd(this.crowd) : use);
				}
			}
			if (!calm) {
				for (int instance = 0; instance < INSTANCES; instance++) {
					trouble(instance);
				}
				troubleForAll();
			}
			if (in(6)) {
				replicas(calm);
			}
			if (in(5)) {
				watch(calm);
			}
			if (!calm && in(4)) {
				failOver();
			}
			if (!calm) {
				// Last, so that the earlier random numbers of each seed stay the same.
				rareTrouble();
			}
			this.steps
				.replaceAll((step) -> (step instanceof Use use) ? use.withMargin(use.lease(), margin(use)) : step);
			return new Plan(new Setup(this.seed, INSTANCES, KEYS, true, this.handOvers), this.steps);
		}

		/**
		 * Return whether all requests are for the same permits, as a hand-over needs
		 * equal terms.
		 */
		private boolean wantsEqualPermits() {
			return this.handOvers > 0 && in(2);
		}

		/**
		 * Return a lease time. A hand-over needs equal terms, so that plans with
		 * hand-overs use a single lease time, or two: then waiters with other terms stand
		 * between waiters with equal terms.
		 */
		private int lease() {
			int lease = 100 + random(LONGEST_LEASE - 100);
			boolean twoLeaseTimes = Math.floorMod(this.seed / 12, 3L) == 1;
			return (this.handOvers == 0) ? lease
					: (twoLeaseTimes && lease % 2 == 0) ? LONGEST_LEASE / 4 : LONGEST_LEASE / 2;
		}

		/**
		 * Return a loss margin. In every second plan, locks have a margin: the longest,
		 * shorter margins, or margins of some users only.
		 */
		private int margin(Use use) {
			if (use.mode() == Access.PERMITS || use.api().isView()) {
				return 0;
			}
			return switch ((int) Math.floorMod(this.seed / 7, 6L)) {
				case 0 -> use.lease() / 3;
				case 1 -> use.lease() / (3 + use.gap() % 4);
				case 2 -> (use.user() % 2 == 0) ? use.lease() / 4 : 0;
				default -> 0;
			};
		}

		private Use use(int user, int instance) {
			Access mode = (this.workload != Access.READ) ? this.workload
					: in((this.handOvers > 0) ? 2 : 3) ? Access.EXCLUSIVE : Access.READ;
			boolean all = mode != Access.PERMITS && in(6);
			int permits = (mode == Access.PERMITS && !wantsEqualPermits()) ? (in(6) ? LIMIT : 1 + random(2)) : 1;
			int waiting = in(4) ? -1 : random(4) * random(400);
			Api api = api(mode);
			int hold = (!api.isView() && in(60)) ? 100_000 : random(4) * random(100);
			return new Use(user, instance, random(60), api, mode, all ? -1 : random(KEYS), permits, !in(5), waiting,
					lease(), 0, !in(3), in(5) ? random(300) : 0, hold, in(8) ? Math.max(0, random(310) - 10) : -1,
					api.isView() ? viewExtra() : extra(mode), random(100));
		}

		private Api api(Access mode) {
			if (this.views && mode != Access.PERMITS && in(2)) {
				return in(3) ? Api.UNINTERRUPTIBLE_VIEW : Api.VIEW;
			}
			return APIS[random(Api.VIEW.ordinal())];
		}

		private Extra extra(Access mode) {
			if (!in(3)) {
				return Extra.NONE;
			}
			return switch (random(5)) {
				case 0 -> Extra.NEST;
				case 1 -> Extra.REENTER;
				case 2 -> Extra.RENEW;
				case 3 -> Extra.RELEASE_TWICE;
				default -> (mode == Access.EXCLUSIVE) ? Extra.READ : Extra.NEST;
			};
		}

		private Extra viewExtra() {
			return in(3, 2) ? Extra.NONE : Extra.values()[random(Extra.values().length)];
		}

		private void trouble(int instance) {
			if (in(2)) {
				int fast = in(2) ? MAX_FAST : random(MAX_FAST);
				long start = in(4) ? Long.MAX_VALUE - random(3000) * 1_000_000L : random(3000) * -1_000_000L;
				this.steps.add(new Clock(instance, in(2) ? fast : -fast, start));
			}
			int gap = 3 + random(15);
			for (int number = random(gap); in(3, 2) && number < 100; number += 1 + random(2 * gap)) {
				this.steps.add(new Command(instance, number, Fate.values()[random(Fate.values().length)],
						1 + random(in(4) ? 400 : 40)));
			}
			for (int number = random(6); in(3, 2) && number < 15; number += 1 + random(6)) {
				this.steps.add(new WakeUp(instance, number, in(2) ? -1 : random(400)));
			}
			for (int i = random(8); i > 5; i--) {
				this.steps.add(new Pause(instance, random(FAULTS_MILLIS), random(600)));
			}
			if (in(8)) {
				int at = random(FAULTS_MILLIS / 3);
				this.steps.add(new Crash(instance, at));
				if (in(2)) {
					this.steps.add(new Restart(instance, at + 1 + random(400)));
				}
			}
			if (in(4)) {
				this.steps.add(new Deaf(instance, random(FAULTS_MILLIS), random(in(3) ? 8000 : 800)));
			}
			if (in(6)) {
				this.steps.add(new Outage(instance, random(FAULTS_MILLIS), random(700), in(2)));
			}
			if (in(8)) {
				this.steps.add(new GracefulShutdown(instance, random(FAULTS_MILLIS), random(2) * random(400),
						in(2) ? -1 : random(500)));
			}
		}

		/**
		 * Add a fail-over with a grace, which ends before the end of the faults. Steps
		 * that do not fit a grace are removed: foreign clients ignore the grace, retained
		 * leases do not return, leases released by force return, and leases longer than
		 * the grace are not safe.
		 */
		private void failOver() {
			this.steps.removeIf((step) -> step instanceof Foreign || step instanceof Limit || step instanceof DataLoss
					|| step instanceof Force || step instanceof ForceBy
					|| step instanceof Command command && command.fate() == Fate.REPEATED_LATE);
			this.steps.replaceAll((step) -> (step instanceof Use use) ? use.within(LONGEST_LEASE) : step);
			int at = 50 + random(FAULTS_MILLIS - LONGEST_LEASE - 50);
			this.steps.add(new FailOver(at, random(Math.min(at, 400)), LONGEST_LEASE));
		}

		private void troubleForAll() {
			if (in(6)) {
				int at = random(FAULTS_MILLIS);
				int millis = random(500);
				boolean silent = in(2);
				for (int instance = 0; instance < INSTANCES; instance++) {
					this.steps.add(new Outage(instance, at, millis, silent));
				}
			}
			for (int i = (this.workload != Access.PERMITS && in(2)) ? random(5) : 0; i > 0; i--) {
				this.steps.add(new Foreign(random(KEYS), random(FAULTS_MILLIS), 20 + random(200)));
			}
			for (int i = (this.workload == Access.PERMITS && in(2)) ? random(12) : 0; i > 0; i--) {
				this.steps.add(new Limit(random(KEYS), random(FAULTS_MILLIS), in(4) ? -1 : random(2 * LIMIT + 1)));
			}
			for (int i = in(4) ? 1 + random(3) : 0; i > 0; i--) {
				this.steps.add(new Force(random(KEYS), random(FAULTS_MILLIS)));
			}
			for (int i = in(6) ? 1 + random(2) : 0; i > 0; i--) {
				this.steps.add(new DataLoss(random(FAULTS_MILLIS)));
			}
		}

		private void rareTrouble() {
			for (int instance = 0; instance < INSTANCES; instance++) {
				if (in(8)) {
					this.steps.add(new Uncounted(instance, random(FAULTS_MILLIS), random(in(3) ? 8000 : 800)));
				}
			}
			if (in(8)) {
				this.steps
					.add(new Copy(random(INSTANCES), random(FAULTS_MILLIS / 4), random(2) * random(200), random(100)));
			}
			if (in(5)) {
				this.steps.add(new Full(random(FAULTS_MILLIS / 2), random(FAULTS_MILLIS / 2)));
			}
		}

		private void replicas(boolean calm) {
			this.steps.add(new Confirm(10 + random(100)));
			for (int i = calm ? 0 : random(4); i > 0; i--) {
				int at = random(FAULTS_MILLIS);
				this.steps.add(new Missing(at, random(Math.min(300, FAULTS_MILLIS - at))));
			}
		}

		private void watch(boolean calm) {
			for (int instance = 0; instance < INSTANCES; instance++) {
				this.steps.add(new Known(instance));
			}
			if (in(2)) {
				// A long hold, so that reports are not empty.
				Access mode = (this.workload == Access.READ) ? Access.EXCLUSIVE : this.workload;
				this.steps.add(new Use(MAX_USERS, random(INSTANCES), random(60), Api.ASYNC, mode, random(KEYS), 1, true,
						1000, LONGEST_LEASE / 2, 0, true, 0, 2000 + random(2000), -1, Extra.NONE, 0));
			}
			for (int i = random(3); i > 0; i--) {
				this.steps.add(new Inquire(random(INSTANCES), 1000 + random(2 * FAULTS_MILLIS)));
			}
			for (int i = calm ? 0 : random(3); i > 0; i--) {
				this.steps.add(new ForceBy(random(INSTANCES), random(KEYS), this.workload == Access.PERMITS,
						random(FAULTS_MILLIS)));
			}
		}

		private int random(int bound) {
			return this.random.nextInt(bound);
		}

		/** Return true with a probability of 1 / {@code many}. */
		private boolean in(int many) {
			return random(many) == 0;
		}

		/** Return true with a probability of {@code few} / {@code many}. */
		private boolean in(int many, int few) {
			return random(many) < few;
		}

	}

}
