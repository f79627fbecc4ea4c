package io.holdfast.benchmark;

import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

import io.holdfast.testing.ChildJvm;

/**
 * Instances are killed: a holder while another one waits, and the first of two waiters
 * before the key is released.
 */
record Recovery() implements Workload {

	private static final Duration LEASE = Duration.ofSeconds(3);

	private static final Duration WARM_UP = Duration.ofSeconds(1);

	/** For one to ask, and to stand where it waits. */
	private static final Duration SETTLE = Duration.ofMillis(500);

	private static final Duration LONGEST = Duration.ofSeconds(15);

	@Override
	public String name() {
		return "recovery";
	}

	@Override
	public String description() {
		return "one JVM is killed, leases of 3 s: when the next one holds, after the holder's lease has ended, and "
				+ "after the release behind a dead first waiter";
	}

	@Override
	public List<ContenderType> contenders() {
		return List.of(ContenderType.HOLDFAST, ContenderType.R_LOCK, ContenderType.R_FAIR_LOCK,
				ContenderType.REGISTRY_SPIN, ContenderType.REGISTRY_PUBSUB);
	}

	@Override
	public List<ContenderType> references() {
		return List.of();
	}

	@Override
	public String mainFigure() {
		return "holder killed: ms";
	}

	@Override
	public void warmUp(ContenderType contender, Duration length, Workers workers, RedisMonitor redis) {
		// Mostly nothing happens in it.
	}

	@Override
	public Map<String, Double> measure(ContenderType contender, Duration length, Workers workers, RedisMonitor redis) {
		Map<String, Double> figures = new LinkedHashMap<>();
		figures.put("holder killed: ms", holderKilled(contender, workers, redis));
		figures.put("waiter killed: ms", waiterKilled(contender, workers));
		return figures;
	}

	/**
	 * New ones have yet to load what they need, which takes longer than what is measured.
	 */
	private static List<ChildJvm> warm(ContenderType contender, int count, Workers workers) {
		List<ChildJvm> instances = workers.get(contender, LEASE, count);
		String key = workers.newKey();
		long to = System.nanoTime() + WARM_UP.toNanos();
		instances.forEach(
				(instance) -> instance.send("cycle %s 2 0 %d %d 0 %s".formatted(key, to, to, workers.file(key, 0))));
		instances.forEach((instance) -> Workers.await(instance, "done", LONGEST));
		return instances;
	}

	private double holderKilled(ContenderType contender, Workers workers, RedisMonitor redis) {
		List<ChildJvm> instances = warm(contender, 2, workers);
		String key = workers.newKey();
		hold(instances.get(0), key);
		wait(instances.get(1), key, workers);
		workers.kill(instances.get(0));
		long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(redis.millisToLive(contender.redisKey(key)));
		return millisUntilHeld(instances.get(1), key, end, workers);
	}

	private double waiterKilled(ContenderType contender, Workers workers) {
		List<ChildJvm> instances = warm(contender, 3, workers);
		String key = workers.newKey();
		hold(instances.get(0), key);
		wait(instances.get(1), key, workers);
		wait(instances.get(2), key, workers);
		workers.kill(instances.get(1));
		instances.get(0).send("release");
		long begun = Long.parseLong(Workers.await(instances.get(0), "released", LONGEST).split(" ")[1]);
		return millisUntilHeld(instances.get(2), key, begun, workers);
	}

	private static void hold(ChildJvm holder, String key) {
		holder.send("hold " + key + " 1");
		Workers.await(holder, "held", LONGEST);
	}

	private static void wait(ChildJvm waiter, String key, Workers workers) {
		waiter.send("wait %s 1 %s".formatted(key, workers.file(key, 0)));
		Pause.of(SETTLE);
	}

	/** Infinite if it takes too long. */
	private static double millisUntilHeld(ChildJvm waiter, String key, long since, Workers workers) {
		try {
			Workers.await(waiter, "done", LONGEST);
		}
		catch (AssertionError ex) {
			workers.kill(waiter);
			return Double.POSITIVE_INFINITY;
		}
		Outcome outcome = Outcome.read(workers.file(key, 0));
		return (outcome.threads().get(0).acquired(0) - since) / 1e6;
	}

}
