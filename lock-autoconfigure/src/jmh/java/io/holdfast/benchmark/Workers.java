package io.holdfast.benchmark;

import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

import io.holdfast.testing.ChildJvm;

/**
 * The JVMs in which contenders run: each has its own, which stay warm from one round to
 * the next and are idle while others have their turn. Not thread-safe.
 */
final class Workers implements AutoCloseable {

	private static final Duration START = Duration.ofMinutes(1);

	private final RedisAddress redis;

	private final Path directory;

	private final List<String> jvmOptions;

	private final Map<String, List<ChildJvm>> running = new HashMap<>();

	private int names;

	/**
	 * Create it without any JVM.
	 * @param redis where all of them connect
	 * @param directory for what they measured
	 * @param jvmOptions further options of their command lines
	 */
	Workers(RedisAddress redis, Path directory, List<String> jvmOptions) {
		this.redis = redis;
		this.directory = directory;
		this.jvmOptions = new ArrayList<>(List.of("-Xmx384m", "-XX:-UseSerialGC", "-XX:TieredStopAtLevel=4"));
		this.jvmOptions.addAll(jvmOptions);
	}

	/** Of one contender. Starts what is missing. */
	List<ChildJvm> get(ContenderType contender, Duration lease, int count) {
		List<ChildJvm> all = this.running.computeIfAbsent(contender + " " + lease, (name) -> new ArrayList<>());
		List<ChildJvm> started = new ArrayList<>();
		while (all.size() < count) {
			ChildJvm worker = ChildJvm.start(this.jvmOptions, WorkerMain.class, contender.name(), this.redis.toString(),
					lease.toString());
			all.add(worker);
			started.add(worker);
		}
		started.forEach((worker) -> await(worker, "ready", START));
		return List.copyOf(all.subList(0, count));
	}

	/**
	 * Wait for a word.
	 * @return the line that begins with it
	 */
	static String await(ChildJvm worker, String word, Duration timeout) {
		String line = worker.awaitLine((said) -> said.startsWith(word) || said.startsWith("failed"), timeout);
		if (!line.startsWith(word)) {
			throw new IllegalStateException(line);
		}
		return line;
	}

	/** A key that was not used before, and that files may be named by. */
	String newKey() {
		return "bench-" + (++this.names);
	}

	Path file(String key, int worker) {
		return this.directory.resolve(key + "-" + worker + ".turns");
	}

	/** Kill as {@code kill -9} does. */
	void kill(ChildJvm worker) {
		worker.kill();
		this.running.values().forEach((workers) -> workers.remove(worker));
	}

	/** End all of a contender, as one of them does not do what it was told. */
	void killAll(ContenderType contender) {
		this.running.forEach((name, workers) -> {
			if (name.startsWith(contender + " ")) {
				workers.forEach(ChildJvm::kill);
				workers.clear();
			}
		});
	}

	/** So that those of the next workload have the machine for themselves. */
	void endAll() {
		List<ChildJvm> all = this.running.values().stream().flatMap(List::stream).toList();
		this.running.clear();
		all.forEach((worker) -> worker.send("exit"));
		for (ChildJvm worker : all) {
			try (worker) {
				worker.awaitExit(START);
			}
		}
	}

	@Override
	public void close() {
		endAll();
	}

}
