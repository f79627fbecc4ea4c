package io.holdfast.benchmark;

import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.LocalDate;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import java.util.stream.Stream;

import io.holdfast.testing.RedisServer;

/**
 * Runs the workloads one after the other; in each round of one, every contender has its
 * turn.
 */
final class BenchmarkMain {

	private final Options options;

	private final Path directory = Path.of("target");

	private final List<Report> reports = new ArrayList<>();

	/**
	 * Where Holdfast failed, and why. What others do not manage is told in the tables.
	 */
	private final List<String> failures = new ArrayList<>();

	private BenchmarkMain(Options options) {
		this.options = options;
	}

	public static void main(String[] args) throws IOException {
		Options options;
		try {
			options = new Options(workloads());
		}
		catch (IllegalArgumentException ex) {
			System.err.println(ex.getMessage());
			System.exit(2);
			return;
		}
		List<String> failures = run(options);
		if (!failures.isEmpty()) {
			System.err.println("\nHoldfast failed, and is not, or not in all rounds, in the figures:");
			failures.forEach((failure) -> System.err.println("- " + failure));
			System.exit(1);
		}
	}

	/**
	 * Run what is wanted.
	 * @return where Holdfast failed, and why
	 */
	private static List<String> run(Options options) throws IOException {
		BenchmarkMain benchmark = new BenchmarkMain(options);
		if (options.redis != null) {
			benchmark.run(options.redis);
		}
		else {
			if (options.program != null) {
				System.setProperty("holdfast.test.redis-binary", options.program.toString());
			}
			try (RedisServer server = RedisServer.start()) {
				benchmark.run(new RedisAddress(server.host(), server.port()));
			}
		}
		return benchmark.failures;
	}

	private static List<Workload> workloads() {
		List<Workload> workloads = new ArrayList<>(List.of(Cycles.uncontended(1), Cycles.uncontended(8),
				Cycles.uncontended(64), Cycles.network(1), Cycles.network(8), Cycles.network(64), Cycles.oneKey(1, 2),
				Cycles.oneKey(1, 8), Cycles.oneKey(1, 64), Cycles.oneKey(2, 4), Cycles.oneKey(4, 4),
				Waiters.threads(1, 500), Waiters.threads(4, 125), Cycles.semaphore(1, 64), Cycles.semaphore(4, 16),
				new Renewal(1_000), new Renewal(10_000), new Recovery()));
		// The most first where that can be, so that no curve is flat only as JVMs get
		// warm; and few turns make none warm.
		IntStream.of(100_000, 10_000, 1_000, 100).forEach((keys) -> workloads.add(Cycles.curveOfKeys(keys)));
		IntStream.of(100, 1_000, 10_000, 100_000).forEach((held) -> workloads.add(Cycles.curveOfHeld(held)));
		IntStream.of(10_000, 1_000, 100).forEach((requests) -> workloads.add(Waiters.curve(requests)));
		IntStream.of(1, 2, 4, 8).forEach((jvms) -> workloads.add(Cycles.curveOfJvms(jvms)));
		return workloads;
	}

	private void run(RedisAddress address) throws IOException {
		Path files = Files.createDirectories(this.directory.resolve("benchmark"));
		try (RedisMonitor redis = new RedisMonitor(address);
				SlowNetwork network = SlowNetwork.before(address);
				Workers near = new Workers(address, files, this.options.jvmOptions);
				Workers distant = new Workers(network.address(), files, this.options.jvmOptions)) {
			Map<String, String> conditions = conditions(redis);
			conditions.put("network", network.latency());
			conditions.forEach((name, value) -> System.out.println(name + ": " + value));
			String kind = "";
			for (Workload workload : this.options.workloads()) {
				String nextKind = workload.name().substring(0, workload.name().lastIndexOf('-') + 1);
				if (!nextKind.equals(kind)) {
					near.endAll();
					distant.endAll();
				}
				kind = nextKind;
				run(workload, workload.isDistant() ? distant : near, redis);
				deleteAll(files);
				write(conditions);
			}
			near.endAll();
			distant.endAll();
			if (this.options.hasAnnotatedCall()) {
				annotatedCall();
				write(conditions);
			}
			if (this.options.goals) {
				System.out.println(Goals.tables(this.reports));
			}
			System.out.println("load after: " + conditions.get("load after"));
		}
	}

	private void write(Map<String, String> conditions) {
		conditions.put("load after", load());
		Report.write(this.directory.resolve("benchmark.json"), conditions, this.reports);
	}

	private void run(Workload workload, Workers workers, RedisMonitor redis) {
		Report report = new Report(workload.name(), workload.description(), workload.mainFigure(),
				workload.references().stream().map(ContenderType::label).toList());
		List<ContenderType> contenders = new ArrayList<>(this.options.contenders(workload));
		round(workload, contenders, this.options.warmUp, workers, redis, report, false);
		for (int round = 0; round < this.options.rounds; round++) {
			round(workload, contenders, this.options.length, workers, redis, report, true);
		}
		this.reports.add(report);
		System.out.println(report.table());
	}

	/** Contenders that fail are left out from then on. */
	private void round(Workload workload, List<ContenderType> contenders, Duration length, Workers workers,
			RedisMonitor redis, Report report, boolean counts) {
		for (ContenderType contender : List.copyOf(contenders)) {
			try {
				if (counts) {
					report.add(contender.label(), workload.measure(contender, length, workers, redis));
				}
				else {
					workload.warmUp(contender, length, workers, redis);
				}
			}
			catch (AssertionError | RuntimeException ex) {
				report.trouble(contender.label(), text(ex));
				if (contender.isOwn()) {
					this.failures.add(workload.name() + ", " + contender.label() + ": " + text(ex));
				}
				contenders.remove(contender);
				workers.killAll(contender);
			}
		}
	}

	/** The first line of what it says. */
	private static String text(Throwable failure) {
		String message = failure.getMessage();
		return (message != null) ? message.lines().findFirst().orElse("") : failure.toString();
	}

	private void annotatedCall() {
		Report report = new Report(AnnotatedCall.NAME,
				"one thread, in memory: a method, with a lock by hand, and with an annotation", "ns/op", List.of());
		int seconds = (int) Math.max(1, this.options.rounds * this.options.length.toSeconds());
		try {
			Map<String, Map<String, Double>> figures = AnnotatedCall.measure(seconds);
			figures.forEach(report::add);
			Map<String, Double> byHand = figures.getOrDefault("byHand", Map.of());
			Map<String, Double> cost = new LinkedHashMap<>();
			figures.getOrDefault("annotated", Map.of())
				.forEach((name, value) -> cost.put(name, value - byHand.getOrDefault(name, Double.NaN)));
			report.add("annotated less byHand", cost);
		}
		catch (IllegalStateException ex) {
			report.trouble("its methods", text(ex));
			this.failures.add(AnnotatedCall.NAME + ": " + text(ex));
		}
		this.reports.add(report);
		System.out.println(report.table());
	}

	private Map<String, String> conditions(RedisMonitor redis) {
		Map<String, String> conditions = new LinkedHashMap<>();
		conditions.put("date", LocalDate.now().toString());
		conditions.put("machine", Runtime.getRuntime().availableProcessors() + " cores, "
				+ System.getProperty("os.name") + " " + System.getProperty("os.arch"));
		conditions.put("JDK", System.getProperty("java.vm.name") + " " + System.getProperty("java.runtime.version"));
		conditions.put("server", redis.server());
		conditions.put("rounds", this.options.rounds + " of " + this.options.length.toMillis() / 1000.0
				+ " s, after one of " + this.options.warmUp.toMillis() / 1000.0 + " s");
		conditions.put("load before", load());
		return conditions;
	}

	/** Of the last minute: processes that have a processor or want one. */
	private static String load() {
		return "%.2f".formatted(ManagementFactory.getOperatingSystemMXBean().getSystemLoadAverage());
	}

	private static void deleteAll(Path directory) throws IOException {
		try (Stream<Path> files = Files.list(directory)) {
			for (Path file : files.toList()) {
				Files.delete(file);
			}
		}
	}

}
