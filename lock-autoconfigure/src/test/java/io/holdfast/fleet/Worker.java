package io.holdfast.fleet;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

import io.holdfast.LockRequest;
import io.holdfast.ReleaseResult;
import io.holdfast.SemaphoreRequest;
import io.holdfast.testing.ChildJvm;
import io.holdfast.testing.ChildProcess;
import io.holdfast.testing.ClockAgent;
import io.holdfast.testing.Order;
import io.holdfast.testing.TestRedis;
import org.awaitility.Awaitility;
import org.jspecify.annotations.Nullable;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * An instance in its own JVM, seen from the test: commands and answers. See
 * {@link WorkerMain}.
 */
final class Worker implements AutoCloseable {

	private final ChildJvm process;

	private volatile long killedAt;

	private Worker(ChildJvm process) {
		this.process = process;
	}

	/**
	 * Start a process without a context, which uses a semaphore and a lock as soon as it
	 * is ready; see {@link UserMain}. Its holds are named by their keys.
	 * @param most the request for the most permits at a time
	 * @param threads number of threads for permits
	 * @param lock the request for the lock
	 * @param lockThreads number of threads for the lock
	 */
	static Worker using(TestRedis redis, Order order, SemaphoreRequest most, int threads, LockRequest lock,
			int lockThreads) {
		return new Worker(ChildJvm.start(UserMain.class, redis.host(), Integer.toString(redis.port()),
				redis.keyPrefix(), most.key(), Integer.toString(threads), RequestLine.of(most), lock.key(),
				Integer.toString(lockThreads), RequestLine.of(lock), order.name()));
	}

	/**
	 * Start a process.
	 * @param clockShift error of its clock, or {@code null} for the right time
	 */
	Worker(TestRedis redis, @Nullable Duration clockShift, List<String> properties) {
		List<String> options = (clockShift != null) ? List.of(ClockAgent.option(clockShift)) : List.of();
		this.process = ChildJvm.start(options, WorkerMain.class, arguments(redis, properties));
	}

	/** Start a process as an instance of another version. */
	static Worker of(String classPath, TestRedis redis, List<String> properties) {
		return new Worker(ChildJvm.startWith(classPath, WorkerMain.class, arguments(redis, properties)));
	}

	private static String[] arguments(TestRedis redis, List<String> properties) {
		return Stream
			.concat(Stream.of(redis.host(), Integer.toString(redis.port()), redis.keyPrefix()), properties.stream())
			.toArray(String[]::new);
	}

	Worker awaitReady() {
		this.process.awaitLine("ready"::equals, ChildProcess.PATIENCE);
		return this;
	}

	/**
	 * Wait for the refusal of the instance, and return its output. A refused instance
	 * does not start; but on a slow machine its start ends before the comparison of the
	 * versions.
	 */
	String awaitRefusal() {
		this.process.awaitLine((line) -> line.contains("cannot share locks"), ChildProcess.PATIENCE);
		Awaitility.await().atMost(ChildProcess.PATIENCE).until(() -> isReady() || !this.process.isAlive());
		if (!isReady()) {
			assertThat(this.process.awaitExit(ChildProcess.PATIENCE)).isNotZero();
		}
		return String.join("\n", this.process.lines());
	}

	/** Return whether the instance has started and still runs. */
	boolean isReady() {
		return this.process.isAlive() && this.process.lines().contains("ready");
	}

	/** Acquire a key there, on a thread of its own. */
	void acquire(String name, String key, Duration leaseTime, Duration waitTime) {
		acquire(name, LockRequest.of(key).leaseTime(leaseTime).waitTime(waitTime));
	}

	/** Acquire a lock there, on a thread of its own. */
	void acquire(String name, LockRequest request) {
		this.process.send("acquire " + name + " " + RequestLine.of(request));
	}

	/** Acquire permits there, on a thread of its own. */
	void acquire(String name, SemaphoreRequest request) {
		this.process.send("acquire " + name + " " + RequestLine.of(request));
	}

	/**
	 * Acquire a lock there and then wait for a second lock, on a thread of the given
	 * name; {@link #awaitGranted} waits for the first, {@link #awaitUsed} for the second.
	 */
	void acquireBoth(String name, String first, String second) {
		this.process.send("acquire-both %s %s %s".formatted(name, first, second));
	}

	/** Wait for the grant of the named request. */
	Grant awaitGranted(String name) {
		return awaitGranted(name, ChildProcess.PATIENCE);
	}

	/** Wait for the grant of the named request, with a timeout. */
	Grant awaitGranted(String name, Duration timeout) {
		String[] words = await("granted " + name, timeout);
		return new Grant(Long.parseLong(words[2]), Long.parseLong(words[3]));
	}

	/** Wait for the failure of the named request. */
	void awaitFailed(String name) {
		this.process.awaitLine("failed " + name + " ", ChildProcess.PATIENCE);
	}

	/** Return whether the grant of the named request was printed. */
	boolean isGranted(String name) {
		return this.process.lines().stream().anyMatch((line) -> line.startsWith("granted " + name + " "));
	}

	/** Check there whether a lease is held; {@link #awaitHeld} returns the result. */
	void askHeld(String name) {
		this.process.send("held " + name);
	}

	boolean awaitHeld(String name) {
		return Boolean.parseBoolean(await("held " + name)[2]);
	}

	/** Wait for the announced loss of a lease. */
	void awaitLost(String name) {
		await("lost " + name);
	}

	/** Wait until the instance no longer holds a lease, and return when it last did. */
	long awaitLastHeldAt(String name) {
		return Long.parseLong(await("unheld " + name)[2]);
	}

	ReleaseResult release(String name) {
		this.process.send("release " + name);
		return ReleaseResult.valueOf(await("released " + name)[2]);
	}

	/** Write to a fenced resource there, and return whether the write was accepted. */
	boolean write(String name, String resource, String value) {
		this.process.send("write %s %s %s".formatted(name, resource, value));
		return Boolean.parseBoolean(await("written " + name)[2]);
	}

	/** Increment a value there, under a lock unless the lease time is zero. */
	void add(String name, Duration leaseTime, int threads, int rounds) {
		this.process.send("add %s %d %d %d".formatted(name, leaseTime.toMillis(), threads, rounds));
	}

	/** Wait for the end of all increments, and return their holds. */
	List<Hold> awaitAdded(String name) {
		await("added " + name);
		return holds(name);
	}

	/** Use a lock on many threads there; see {@link Users}. */
	void use(String name, LockRequest request, int threads, int rounds) {
		this.process.send("use %s %d %d %s".formatted(name, threads, rounds, RequestLine.of(request)));
	}

	/** Use some of several locks on many threads there; see {@link Users}. */
	void useSome(String name, LockRequest request, int threads, int rounds) {
		this.process.send("use-some %s %d %d %s".formatted(name, threads, rounds, RequestLine.of(request)));
	}

	/** Return the name of a key's holds. */
	static String nameOf(String name, String key) {
		return name + ":" + key;
	}

	/** Use a semaphore on many threads there; see {@link Users}. */
	void use(String name, SemaphoreRequest most, int threads, int rounds) {
		this.process.send("use %s %d %d %s".formatted(name, threads, rounds, RequestLine.of(most)));
	}

	/** Wait until all threads have ended their uses. */
	void awaitUsed(String name) {
		await("used " + name);
	}

	/** Wait until the instance holds a lease of the named uses. */
	void awaitUse(String name) {
		await("began " + name);
	}

	/** Return the number of holds at the kill. */
	int unreleased(String name) {
		return (int) holds(name).stream().filter((hold) -> hold.until() == this.killedAt).count();
	}

	/** Return the failures of its threads. */
	List<String> failures(String name) {
		return this.process.lines().stream().filter((line) -> line.startsWith("failed " + name + " ")).toList();
	}

	/** Return the number of refused requests. */
	long refusals(String name) {
		return this.process.lines().stream().filter(("refused " + name)::equals).count();
	}

	/**
	 * Return its holds so far; holds of a killed instance end at the kill. Not to be
	 * called while the uses go on.
	 */
	List<Hold> holds(String name) {
		List<Hold> open = new ArrayList<>();
		List<Hold> holds = new ArrayList<>();
		for (String line : this.process.lines()) {
			String[] words = line.split(" ");
			if (List.of("began", "ended").contains(words[0]) && words[1].equals(name)) {
				Hold hold = new Hold(Integer.parseInt(words[2]), Long.parseLong(words[3]), Long.parseLong(words[4]),
						Long.parseLong(words[5]));
				if (words[0].equals("began")) {
					open.add(hold);
				}
				else {
					open.remove(hold.until(Long.MAX_VALUE));
					holds.add(hold);
				}
			}
		}
		open.forEach((hold) -> holds.add(hold.until(this.killedAt)));
		return holds;
	}

	/** Shift its clock, and return the times it shows. */
	Shown shiftClock(String name, Duration shift) {
		this.process.send("shift %s %d".formatted(name, shift.toMillis()));
		String[] words = await("shifted " + name);
		return new Shown(Long.parseLong(words[2]), Long.parseLong(words[3]), Long.parseLong(words[4]));
	}

	private String[] await(String words) {
		return await(words, ChildProcess.PATIENCE);
	}

	private String[] await(String words, Duration timeout) {
		String line = this.process.awaitLine((said) -> said.equals(words) || said.startsWith(words + " ")
				|| said.startsWith("failed " + words.split(" ")[1] + " "), timeout);
		if (line.startsWith("failed ")) {
			throw new AssertionError("The other process " + line);
		}
		return line.split(" ");
	}

	void kill() {
		this.killedAt = System.nanoTime();
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
	 * A grant.
	 *
	 * @param fence the fencing token, 0 for permits
	 * @param at time of the grant, by {@link System#nanoTime()}
	 */
	record Grant(long fence, long at) {

	}

	/**
	 * Times of its clock, in milliseconds.
	 *
	 * @param millis by {@link System#currentTimeMillis()}
	 * @param instant by {@link java.time.Instant#now()}
	 * @param startedAt start time by Spring
	 */
	record Shown(long millis, long instant, long startedAt) {

	}

}
