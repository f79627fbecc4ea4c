package io.holdfast.faults;

import java.io.File;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Properties;
import java.util.function.ToLongFunction;

import org.springframework.data.redis.core.RedisCallback;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Resources of this process and Redis without any use, after each round. Not thread-safe.
 */
final class SoakFigures {

	/** Rounds during which classes are loaded, and memory grows. */
	private static final int WARM_UP = 2;

	private final Fleet fleet;

	private final List<Map<Figure, Long>> rounds = new ArrayList<>();

	SoakFigures(Fleet fleet) {
		this.fleet = fleet;
	}

	/**
	 * Return this process' threads, without threads that poll in tests, and threads that
	 * wait some seconds for a further callback.
	 */
	static long threads() {
		return Thread.getAllStackTraces()
			.keySet()
			.stream()
			.map(Thread::getName)
			.filter((name) -> !name.startsWith("awaitility") && !name.startsWith("holdfast-callback"))
			.count();
	}

	void measure() {
		Map<Figure, Long> round = new EnumMap<>(Figure.class);
		for (Figure figure : Figure.values()) {
			round.put(figure, figure.of.applyAsLong(this.fleet));
		}
		this.rounds.add(round);
	}

	private List<Map<Figure, Long>> afterWarmUp() {
		return this.rounds.subList(Math.max(WARM_UP, this.rounds.size() / 10), this.rounds.size());
	}

	/** Return whether there are too few rounds for a comparison. */
	boolean isTooFew() {
		return this.rounds.size() < WARM_UP + 3;
	}

	/**
	 * Return the median of the first, second or last third of the rounds after the
	 * warm-up.
	 */
	private long median(Figure figure, int third) {
		List<Map<Figure, Long>> all = afterWarmUp();
		List<Long> sorted = all.subList(all.size() * third / 3, all.size() * (third + 1) / 3)
			.stream()
			.map((round) -> round.get(figure))
			.sorted()
			.toList();
		return sorted.get(sorted.size() / 2);
	}

	List<String> table() {
		List<String> lines = new ArrayList<>();
		String format = "%-32s %10s %10s %10s %10s %10s";
		lines.add(format.formatted("medians of the thirds", "first", "second", "last", "most", "margin"));
		for (Figure figure : Figure.values()) {
			long most = afterWarmUp().stream().mapToLong((round) -> round.get(figure)).max().orElseThrow();
			lines.add(format.formatted(figure.text, median(figure, 0), median(figure, 1), median(figure, 2), most,
					figure.margin));
		}
		return lines;
	}

	/** Check that the last rounds took no more than the first rounds. */
	void assertFlat() {
		for (Figure figure : Figure.values()) {
			assertThat(median(figure, 2)).as("%s%n%s", figure.text, String.join(System.lineSeparator(), table()))
				.isLessThanOrEqualTo(median(figure, 0) + figure.margin);
		}
	}

	/** The figures, in their order. */
	private enum Figure {

		THREADS("threads", 2, (fleet) -> threads()),

		/** Includes the descriptor of the folder itself. */
		DESCRIPTORS("file descriptors", 4, (fleet) -> Objects.requireNonNull(new File("/dev/fd").list()).length),

		CLIENTS("clients connected to Redis", 0, Fleet::connections),

		CHANNELS("channels", 0, Fleet::channels),

		/** Without expired keys, which the server counts until their deletion. */
		KEYS("keys in Redis", 1, (fleet) -> Objects.requireNonNull(fleet.observer().keys("*")).size()),

		MEMORY("memory that Redis uses, KiB", 512, (fleet) -> info(fleet, "memory", "used_memory", "") / 1024),

		HEAP("heap used after a collection, KiB", 4096, (fleet) -> heap());

		private final String text;

		private final long margin;

		private final ToLongFunction<Fleet> of;

		Figure(String text, long margin, ToLongFunction<Fleet> of) {
			this.text = text;
			this.margin = margin;
			this.of = of;
		}

		private static long info(Fleet fleet, String section, String name, String part) {
			Properties info = Objects.requireNonNull(fleet.observer()
				.execute((RedisCallback<Properties>) (connection) -> connection.serverCommands().info(section)));
			String text = info.getProperty(name, part + "0");
			return Long.parseLong(text.substring(text.indexOf(part) + part.length()).split(",")[0]);
		}

		private static long heap() {
			// The second run frees objects whose references the first run has cleared.
			System.gc();
			System.gc();
			return ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed() / 1024;
		}

	}

}
