package io.holdfast.benchmark;

import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

import io.holdfast.testing.ChildJvm;

/**
 * Threads acquire and release as often as they can, without doing anything in between.
 *
 * @param jvms in how many JVMs
 * @param threads how many threads in each of them
 * @param keys how many keys each thread has for itself, or 0 for one that all want
 * @param limit how many may be inside
 * @param held how many other leases each JVM holds, and renews, from then on
 * @param isDistant whether commands and answers pass the slow network
 */
record Cycles(String name, String description, List<ContenderType> contenders, List<ContenderType> references, int jvms,
		int threads, int keys, int limit, int held, boolean isDistant) implements Workload {

	static final Duration LEASE = Duration.ofSeconds(30);

	private static final Duration LONGEST_TO_HOLD = Duration.ofMinutes(3);

	/** Threads and JVMs begin together. */
	private static final long START_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

	/** Before times are noted, in each round. */
	private static final long WARM_UP_NANOS = TimeUnit.MILLISECONDS.toNanos(300);

	/** Long enough for all permits to be out at some time. */
	private static final long PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(20);

	static Cycles uncontended(int threads) {
		return new Cycles("uncontended-" + threads, ownKeys(threads),
				List.of(ContenderType.HOLDFAST_ANNOTATED, ContenderType.HOLDFAST_WITH_LOCK, ContenderType.HOLDFAST,
						ContenderType.R_LOCK, ContenderType.R_FAIR_LOCK, ContenderType.REGISTRY_SPIN,
						ContenderType.REGISTRY_PUBSUB, ContenderType.REGISTRY_EXECUTE, ContenderType.SHEDLOCK,
						ContenderType.TEMPLATE, ContenderType.LETTUCE, ContenderType.LETTUCE_UNAWAITED),
				List.of(ContenderType.R_LOCK, ContenderType.LETTUCE), 1, threads, 100, 1, 0, false);
	}

	/** As uncontended, over the slow network. */
	static Cycles network(int threads) {
		return new Cycles("network-" + threads, ownKeys(threads) + "; " + SlowNetwork.DESCRIPTION,
				List.of(ContenderType.HOLDFAST_ANNOTATED, ContenderType.HOLDFAST_WITH_LOCK, ContenderType.HOLDFAST,
						ContenderType.R_LOCK, ContenderType.REGISTRY_SPIN, ContenderType.SHEDLOCK,
						ContenderType.TEMPLATE, ContenderType.LETTUCE, ContenderType.LETTUCE_UNAWAITED),
				List.of(ContenderType.R_LOCK, ContenderType.LETTUCE), 1, threads, 100, 1, 0, true);
	}

	private static String ownKeys(int threads) {
		return threads + ((threads == 1) ? " thread" : " threads") + ", each with keys of its own";
	}

	static Cycles oneKey(int jvms, int threads) {
		return new Cycles("one-key-" + ((jvms == 1) ? threads : jvms + "x" + threads),
				((jvms == 1) ? "" : jvms + " JVMs with ") + threads + " threads, all want one key",
				List.of(ContenderType.HOLDFAST, ContenderType.HOLDFAST_WITH_LOCK, ContenderType.HOLDFAST_STRICT,
						ContenderType.R_LOCK, ContenderType.R_FAIR_LOCK, ContenderType.REGISTRY_SPIN,
						ContenderType.REGISTRY_PUBSUB),
				List.of(ContenderType.R_LOCK, ContenderType.REGISTRY_SPIN), jvms, threads, 0, 1, 0, false);
	}

	static Cycles semaphore(int jvms, int threads) {
		return new Cycles("semaphore-" + ((jvms == 1) ? threads : jvms + "x" + threads),
				((jvms == 1) ? "" : jvms + " JVMs with ") + threads + " threads, a semaphore of 10",
				List.of(ContenderType.HOLDFAST_PERMITS, ContenderType.HOLDFAST_STRICT_PERMITS,
						ContenderType.HOLDFAST_UNFAIR_PERMITS, ContenderType.R_SEMAPHORE, ContenderType.R_PERMITS),
				List.of(ContenderType.R_PERMITS), jvms, threads, 0, ContenderType.PERMITS, 0, false);
	}

	/** Over so many keys in all. */
	static Cycles curveOfKeys(int keys) {
		return new Cycles(CURVE + "keys-" + keys, "8 threads, each with an eighth of " + keys + " keys",
				List.of(ContenderType.HOLDFAST, ContenderType.LETTUCE), List.of(ContenderType.LETTUCE), 1, 8, keys / 8,
				1, 0, false);
	}

	/** While so many other leases are held. */
	static Cycles curveOfHeld(int held) {
		return new Cycles(CURVE + "held-" + held,
				"8 threads, each with keys of its own, of a JVM that holds " + held + " other leases of 30 s",
				List.of(ContenderType.HOLDFAST), List.of(), 1, 8, 100, 1, held, false);
	}

	static Cycles curveOfJvms(int jvms) {
		return new Cycles(CURVE + "jvms-" + jvms,
				jvms + ((jvms == 1) ? " JVM" : " JVMs") + " with 4 threads, all want one key",
				List.of(ContenderType.HOLDFAST, ContenderType.HOLDFAST_STRICT, ContenderType.R_LOCK),
				List.of(ContenderType.R_LOCK), jvms, 4, 0, 1, 0, false);
	}

	@Override
	public String mainFigure() {
		return "ops/s";
	}

	/** Contenders that queue have fewer turns, and are warm later. */
	@Override
	public void warmUp(ContenderType contender, Duration length, Workers workers, RedisMonitor redis) {
		measure(contender, (this.keys == 0) ? length.multipliedBy(2) : length, workers, redis);
	}

	@Override
	public Map<String, Double> measure(ContenderType contender, Duration length, Workers workers, RedisMonitor redis) {
		List<ChildJvm> instances = workers.get(contender, LEASE, this.jvms);
		// Of keys of their own the same in each round, so that many are used again.
		String key = (this.keys == 0) ? workers.newKey()
				: "%dx%d-%d".formatted(this.threads, this.keys, contender.ordinal());
		if (this.held > 0) {
			instances.forEach((instance) -> instance.send("hold held " + this.held));
			instances.forEach((instance) -> Workers.await(instance, "held", LONGEST_TO_HOLD));
		}
		Map<String, Long> before = redis.calls();
		double cpuBefore = redis.cpuSeconds();
		long from = System.nanoTime() + START_NANOS + WARM_UP_NANOS;
		long to = from + length.toNanos();
		long pause = (this.limit > 1) ? PAUSE_NANOS : 0;
		for (int i = 0; i < instances.size(); i++) {
			instances.get(i)
				.send("cycle %s %d %d %d %d %d %s".formatted(key, this.threads, this.keys, from, to, pause,
						workers.file(key, i)));
		}
		List<Outcome> outcomes = new ArrayList<>();
		for (int i = 0; i < instances.size(); i++) {
			Workers.await(instances.get(i), "done", length.plusSeconds(60));
			outcomes.add(Outcome.read(workers.file(key, i)));
		}
		double cpu = redis.cpuSeconds() - cpuBefore;
		long commands = RedisMonitor.commands(contender, before, redis.calls());
		History history = new History(outcomes);
		double total = outcomes.stream().mapToLong(Outcome::total).sum();
		Map<String, Double> figures = new LinkedHashMap<>();
		figures.put("ops/s", history.endedIn(from, to) * 1e9 / (to - from));
		figures.put("p50 µs", history.cycleMicros(from, 0.5));
		figures.put("p99 µs", history.cycleMicros(from, 0.99));
		figures.put("client CPU µs/op", outcomes.stream().mapToLong(Outcome::cpuNanos).sum() / total / 1e3);
		figures.put("Redis CPU µs/op", cpu / total * 1e6);
		figures.put("commands/op", commands / total);
		figures.put("bytes/op", bytes(outcomes) / total);
		figures.put("callers' bytes/op", outcomes.stream().mapToLong(Outcome::callersBytes).sum() / total);
		if (this.keys == 0) {
			int inside = history.mostInside();
			if (inside > this.limit) {
				throw new IllegalStateException(inside + " were inside at the same time");
			}
			figures.put("inside", (double) inside);
			figures.put("least/most per thread", history.leastOfMost());
			if (this.jvms > 1) {
				figures.put("least JVM/fair share", history.leastShare());
			}
			if (this.limit == 1) {
				figures.put("hand-off p50 µs", history.handOffMicros(this.jvms > 1, 0.5));
				figures.put("hand-off p99 µs", history.handOffMicros(this.jvms > 1, 0.99));
			}
		}
		return figures;
	}

	/**
	 * What threads that ended had allocated is not seen any more: after few turns it may
	 * be more than all others have allocated in that time.
	 */
	private static double bytes(List<Outcome> outcomes) {
		long bytes = outcomes.stream().mapToLong(Outcome::processBytes).sum();
		return (bytes >= 0) ? bytes : Double.NaN;
	}

}
