package io.holdfast.fleet;

import java.time.Duration;
import java.util.List;
import java.util.stream.Stream;

import io.holdfast.ReleaseResult;
import io.holdfast.testing.ChildJvm;
import io.holdfast.testing.TestRedis;

/**
 * An instance in a JVM of its own, seen from the test: what it is told and what it
 * answers. See {@link LockWorker}.
 */
final class Worker implements AutoCloseable {

	private final ChildJvm process;

	Worker(TestRedis redis, List<String> properties) {
		this.process = ChildJvm.start(LockWorker.class,
				Stream
					.concat(Stream.of(redis.host(), Integer.toString(redis.port()), redis.keyPrefix()),
							properties.stream())
					.toArray(String[]::new));
	}

	Worker awaitReady() {
		this.process.awaitLine("ready"::equals, Duration.ofSeconds(60));
		return this;
	}

	/** Whether it has started and still runs. */
	boolean isReady() {
		return this.process.isAlive() && this.process.lines().contains("ready");
	}

	/** Have it acquire a key, on a thread of its own. */
	void acquire(String name, String key, Duration leaseTime, Duration waitTime) {
		this.process.send("acquire %s %s %d %d".formatted(name, key, leaseTime.toMillis(), waitTime.toMillis()));
	}

	/** Wait until it was granted what it was told to acquire by this name. */
	Grant awaitGranted(String name) {
		String[] words = await("granted " + name);
		return new Grant(Long.parseLong(words[2]), Long.parseLong(words[3]));
	}

	/** Have it look whether it holds a lease; {@link #awaitHeld} tells what it saw. */
	void askHeld(String name) {
		this.process.send("held " + name);
	}

	boolean awaitHeld(String name) {
		return Boolean.parseBoolean(await("held " + name)[2]);
	}

	/** Wait until it was told that a lease is lost. */
	void awaitLost(String name) {
		await("lost " + name);
	}

	/** Wait until it sees that it does not hold a lease, and ask when it last did. */
	long awaitLastHeldAt(String name) {
		return Long.parseLong(await("unheld " + name)[2]);
	}

	ReleaseResult release(String name) {
		this.process.send("release " + name);
		return ReleaseResult.valueOf(await("released " + name)[2]);
	}

	/** Have it write to a fenced resource, and ask whether that was accepted. */
	boolean write(String name, String resource, String value) {
		this.process.send("write %s %s %s".formatted(name, resource, value));
		return Boolean.parseBoolean(await("written " + name)[2]);
	}

	/** Have it add ones to a value, under a lock unless the lease time is zero. */
	void add(String name, Duration leaseTime, int threads, int rounds) {
		this.process.send("add %s %d %d %d".formatted(name, leaseTime.toMillis(), threads, rounds));
	}

	/** Wait until it has added all, and ask for its holds. */
	List<Hold> awaitAdded(String name) {
		await("added " + name);
		return this.process.lines().stream().filter((line) -> line.startsWith("hold " + name + " ")).map((line) -> {
			String[] words = line.split(" ");
			return new Hold(Long.parseLong(words[2]), Long.parseLong(words[3]), Long.parseLong(words[4]));
		}).toList();
	}

	private String[] await(String words) {
		return this.process
			.awaitLine((line) -> line.equals(words) || line.startsWith(words + " "), Duration.ofSeconds(60))
			.split(" ");
	}

	void kill() {
		this.process.kill();
	}

	void freeze() {
		this.process.freeze();
	}

	void thaw() {
		this.process.thaw();
	}

	@Override
	public void close() {
		this.process.close();
	}

	/**
	 * What it was granted.
	 *
	 * @param fence the fencing token
	 * @param at when, by {@link System#nanoTime()}
	 */
	record Grant(long fence, long at) {

	}

}
