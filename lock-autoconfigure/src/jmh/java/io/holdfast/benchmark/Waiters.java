package io.holdfast.benchmark;

import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

import io.holdfast.testing.ChildJvm;

/**
 * Many wait for a key that one more JVM holds; then it is released, and each has one
 * turn.
 *
 * @param mainFigure by which contenders are compared
 * @param jvms in how many JVMs
 * @param count how many wait in each of them
 * @param command what has them wait: {@code wait}, with a thread for each, or
 * {@code queue}, without
 */
record Waiters(String name, String description, List<ContenderType> contenders, List<ContenderType> references,
		String mainFigure, int jvms, int count, String command) implements Workload {

	/** Until all have asked and stand where they wait. */
	private static final Duration SETTLE = Duration.ofSeconds(2);

	/** Longer than it takes until anybody who waits asks again. */
	private static final Duration PERIOD = Duration.ofSeconds(3);

	private static final Duration LONGEST = Duration.ofSeconds(60);

	static Waiters threads(int jvms, int threads) {
		return new Waiters("waiters-" + ((jvms == 1) ? threads : jvms + "x" + threads),
				((jvms == 1) ? "" : jvms + " JVMs with ") + threads
						+ " threads that wait for a key, which then is released in another JVM: each has one turn",
				List.of(ContenderType.HOLDFAST, ContenderType.R_LOCK, ContenderType.R_FAIR_LOCK,
						ContenderType.REGISTRY_SPIN, ContenderType.REGISTRY_PUBSUB),
				List.of(ContenderType.R_LOCK), "drained after ms", jvms, threads, "wait");
	}

	static Waiters curve(int requests) {
		return new Waiters(CURVE + "waiters-" + requests,
				requests + " asynchronous requests that wait for a key, which then is released in another JVM: "
						+ "each has one turn",
				List.of(ContenderType.HOLDFAST, ContenderType.HOLDFAST_STRICT), List.of(), "µs/turn while drained", 1,
				requests, "queue");
	}

	/** One turn for each makes no JVM warm. */
	@Override
	public void warmUp(ContenderType contender, Duration length, Workers workers, RedisMonitor redis) {
		if (!isCurve()) {
			Cycles.oneKey(this.jvms, this.count).measure(contender, length, workers, redis);
		}
		measure(contender, Duration.ZERO, workers, redis);
	}

	private boolean isCurve() {
		return this.name.startsWith(CURVE);
	}

	@Override
	public Map<String, Double> measure(ContenderType contender, Duration length, Workers workers, RedisMonitor redis) {
		List<ChildJvm> all = workers.get(contender, Cycles.LEASE, this.jvms + 1);
		List<ChildJvm> instances = all.subList(0, this.jvms);
		ChildJvm holder = all.get(this.jvms);
		String key = workers.newKey();
		holder.send("hold " + key + " 1");
		Workers.await(holder, "held", LONGEST);
		for (int i = 0; i < instances.size(); i++) {
			instances.get(i).send("%s %s %d %s".formatted(this.command, key, this.count, workers.file(key, i)));
		}
		Pause.of(SETTLE);
		Map<String, Long> before = redis.calls();
		long begun = System.nanoTime();
		Pause.of(length.plus(PERIOD));
		Map<String, Long> waited = redis.calls();
		double seconds = (System.nanoTime() - begun) / 1e9;
		holder.send("release");
		long releasing = Long.parseLong(Workers.await(holder, "released", LONGEST).split(" ")[1]);
		List<Outcome> outcomes = new ArrayList<>();
		for (int i = 0; i < instances.size(); i++) {
			Workers.await(instances.get(i), "done", LONGEST);
			outcomes.add(Outcome.read(workers.file(key, i)));
		}
		History history = new History(outcomes);
		if (history.mostInside() > 1 || history.firstAcquired() - releasing < 0) {
			throw new IllegalStateException("Others were inside at the same time");
		}
		double turns = (double) this.jvms * this.count;
		Map<String, Double> figures = new LinkedHashMap<>();
		figures.put("drained after ms", (history.lastReleased() - releasing) / 1e6);
		figures.put("µs/turn while drained", (history.lastReleased() - releasing) / 1e3 / turns);
		figures.put("commands/s while waiting", RedisMonitor.commands(contender, before, waited) / seconds);
		figures.put("commands/op while drained", RedisMonitor.commands(contender, waited, redis.calls()) / turns);
		return figures;
	}

}
