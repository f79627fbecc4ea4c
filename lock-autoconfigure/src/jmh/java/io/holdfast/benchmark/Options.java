package io.holdfast.benchmark;

import java.io.File;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;

import org.jspecify.annotations.Nullable;

import org.springframework.util.StringUtils;

/**
 * What is to be measured, and for how long: the system properties that begin with
 * {@code holdfast.benchmark}.
 */
final class Options {

	private static final String PREFIX = "holdfast.benchmark.";

	private static final String EMBEDDED = "embedded";

	private static final int MAX_ROUNDS = 1000;

	private static final double LONGEST_SECONDS = 3600;

	private final List<Workload> workloads;

	private final boolean annotatedCall;

	/** Whether the preset of the goals is to run. */
	final boolean goals = list("only", ",").equals(List.of(Goals.NAME));

	private final Set<String> contenders = new LinkedHashSet<>(list("contenders", ","));

	/** How often each contender has its turn. */
	final int rounds = (int) number("rounds", this.goals ? "5" : "3", 1, MAX_ROUNDS);

	/** How long a turn is. */
	final Duration length = seconds("seconds", this.goals ? "1" : "2", 0.01);

	/** How long those of the first round are, which does not count. */
	final Duration warmUp = seconds("warm-up", this.goals ? "3" : "6", 0);

	/** Further options of the JVMs that are measured. */
	final List<String> jvmOptions = list("jvm-options", " ");

	/** The Redis to use, or {@code null} for one of its own. */
	final @Nullable RedisAddress redis;

	/** The program of its own one, or {@code null} for the tests' embedded one. */
	final @Nullable Path program;

	/**
	 * Read and check them.
	 * @param all the workloads that there are
	 * @throws IllegalArgumentException if one is wrong, which names it and what it may be
	 */
	Options(List<Workload> all) {
		List<String> only = this.goals ? List.copyOf(Goals.workloads()) : list("only", ",");
		Set<String> names = all.stream().map(Workload::name).collect(Collectors.toCollection(LinkedHashSet::new));
		names.add(AnnotatedCall.NAME);
		Set<String> wanted = only.isEmpty()
				? names.stream().filter((name) -> !name.startsWith(Workload.CURVE)).collect(Collectors.toSet())
				: only.stream().flatMap((text) -> named(text, names)).collect(Collectors.toSet());
		this.workloads = all.stream().filter((one) -> wanted.contains(one.name())).toList();
		this.annotatedCall = wanted.contains(AnnotatedCall.NAME);
		this.contenders.forEach(this::check);
		String redis = text("redis", "");
		this.redis = redis.matches(".+:\\d{1,5}") ? RedisAddress.parse(redis) : null;
		this.program = (this.redis == null) ? program(redis) : null;
	}

	/** The one with that name, or else those whose names begin with it. */
	private static Stream<String> named(String text, Set<String> names) {
		List<String> found = names.contains(text) ? List.of(text)
				: names.stream().filter((name) -> name.startsWith(text)).toList();
		require(!found.isEmpty(), "only", text,
				"no workload has a name that begins so; there are " + names + ", and " + Goals.NAME + " alone");
		return found.stream();
	}

	private void check(String name) {
		Set<ContenderType> there = this.workloads.stream()
			.flatMap((workload) -> workload.contenders().stream())
			.collect(Collectors.toCollection(LinkedHashSet::new));
		require(there.stream().anyMatch((contender) -> contender.name().equals(name)), "contenders", name,
				"it does not take part in what is to be measured; these do: " + there);
	}

	/** What is to be measured, the annotated call aside. */
	List<Workload> workloads() {
		return this.workloads;
	}

	boolean hasAnnotatedCall() {
		return this.annotatedCall;
	}

	/** Who takes part in a workload. */
	List<ContenderType> contenders(Workload workload) {
		return workload.contenders()
			.stream()
			.filter((contender) -> this.contenders.isEmpty() || this.contenders.contains(contender.name()))
			.filter((contender) -> !this.goals || Goals.contenders(workload).contains(contender))
			.toList();
	}

	private static String text(String name, String otherwise) {
		String value = System.getProperty(PREFIX + name, "");
		return value.isEmpty() ? otherwise : value;
	}

	private static List<String> list(String name, String delimiter) {
		return List.of(StringUtils.tokenizeToStringArray(text(name, ""), delimiter));
	}

	private static Duration seconds(String name, String otherwise, double least) {
		return Duration.ofMillis(Math.round(number(name, otherwise, least, LONGEST_SECONDS) * 1000));
	}

	private static double number(String name, String otherwise, double least, double most) {
		String text = text(name, otherwise);
		double number = Double.NaN;
		try {
			number = Double.parseDouble(text);
		}
		catch (NumberFormatException ex) {
			// It is not between the two either.
		}
		require(number >= least && number <= most, name, text, "it is to be a number from " + least + " to " + most);
		return number;
	}

	private static @Nullable Path program(String redis) {
		if (redis.equals(EMBEDDED)) {
			return null;
		}
		if (!redis.isEmpty()) {
			Path named = Path.of(redis);
			require(named.isAbsolute() && Files.isExecutable(named), "redis", redis, "it is to be a host and a port, "
					+ "such as localhost:6379, the absolute path of a program, or " + EMBEDDED);
			return named;
		}
		return Stream.of(System.getenv().getOrDefault("PATH", "").split(File.pathSeparator))
			.map((directory) -> Path.of(directory, "redis-server"))
			.filter((file) -> file.isAbsolute() && Files.isRegularFile(file) && Files.isExecutable(file))
			.findFirst()
			.orElse(null);
	}

	private static void require(boolean condition, String name, String value, String why) {
		if (!condition) {
			throw new IllegalArgumentException(PREFIX + name + "=" + value + ": " + why);
		}
	}

}
