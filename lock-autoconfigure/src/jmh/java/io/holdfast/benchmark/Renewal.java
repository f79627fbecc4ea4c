package io.holdfast.benchmark;

import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

import io.holdfast.testing.ChildJvm;

/**
 * One instance holds many leases, which are renewed.
 *
 * @param leases how many
 */
record Renewal(int leases) implements Workload {

	private static final Duration LEASE = Duration.ofSeconds(3);

	private static final Duration LONGEST = Duration.ofSeconds(60);

	/** In which the busiest one is looked for. */
	private static final Duration STEP = Duration.ofMillis(100);

	@Override
	public String name() {
		return "renewal-" + this.leases;
	}

	@Override
	public String description() {
		return this.leases + " leases of 3 s, held by one JVM";
	}

	@Override
	public List<ContenderType> contenders() {
		return List.of(ContenderType.HOLDFAST, ContenderType.R_LOCK);
	}

	@Override
	public List<ContenderType> references() {
		return List.of(ContenderType.R_LOCK);
	}

	@Override
	public String mainFigure() {
		return "client CPU %";
	}

	/** So few commands make a JVM warm late. */
	@Override
	public void warmUp(ContenderType contender, Duration length, Workers workers, RedisMonitor redis) {
		measure(contender, length.multipliedBy(4), workers, redis);
	}

	@Override
	public Map<String, Double> measure(ContenderType contender, Duration length, Workers workers, RedisMonitor redis) {
		ChildJvm holder = workers.get(contender, LEASE, 1).get(0);
		String key = workers.newKey();
		holder.send("hold " + key + " " + this.leases);
		Workers.await(holder, "held", LONGEST);
		// What was acquired in a hurry is renewed in one once.
		Pause.of(LEASE);
		redis.watchSlowCommands();
		long cpu = usage(holder);
		long begun = System.nanoTime();
		Map<String, Long> before = redis.calls();
		Map<String, Long> last = before;
		long most = 0;
		// All of them are renewed in a third of a lease; so it is a whole number of
		// these, and five at least, as processor time is told in steps of 10 ms.
		long steps = Math.max(5, Math.round(length.toMillis() / 1000.0)) * 1000 / STEP.toMillis();
		for (int i = 0; i < steps; i++) {
			Pause.of(STEP);
			Map<String, Long> now = redis.calls();
			most = Math.max(most, renewed(last, now));
			last = now;
		}
		double seconds = (System.nanoTime() - begun) / 1e9;
		double cpuSeconds = (usage(holder) - cpu) / 1e9;
		double slowest = redis.slowestCommandMillis();
		holder.send("release");
		Workers.await(holder, "released", LONGEST);
		Map<String, Double> figures = new LinkedHashMap<>();
		figures.put("commands/s", RedisMonitor.commands(contender, before, last) / seconds);
		figures.put("client CPU %", 100 * cpuSeconds / seconds);
		figures.put("leases renewed/s", renewed(before, last) / seconds);
		figures.put("most renewed in 0.1 s", (double) most);
		figures.put("longest command ms", slowest);
		return figures;
	}

	/** Scripts that renew call this for each lease. */
	private static long renewed(Map<String, Long> before, Map<String, Long> after) {
		return after.getOrDefault("pexpire", 0L) - before.getOrDefault("pexpire", 0L);
	}

	private static long usage(ChildJvm worker) {
		worker.send("usage");
		return Long.parseLong(Workers.await(worker, "usage", LONGEST).split(" ")[1]);
	}

}
