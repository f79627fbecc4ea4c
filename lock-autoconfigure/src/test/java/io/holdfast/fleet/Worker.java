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
 * An instance in a JVM of its own, seen from the test: what it is told and what it
 * answers. See {@link WorkerMain}.
 */
final class Worker implements AutoCloseable {

	/**
	 * A property of workers whose releases may report losses that were none, as those of
	 * versions before 93709463 do in a cluster.
	 */
	static final String FALSE_LOSSES = "holdfast.test.false-losses=true";

	private final ChildJvm process;

	private volatile long killedAt;

	private Worker(ChildJvm process) {
		this.process = process;
	}

	/**
	 * Start one without a context, which does nothing but use a semaphore and a lock as
	 * soon as it is ready; see {@link UserMain}. It tells of its holds by their keys.
	 * @param most what permits it is to acquire at most at a time
	 * @param threads how many of its threads do so
	 * @param lock the lock it is to acquire
	 * @param lockThreads how many of its threads do so
	 */
	static Worker using(TestRedis redis, Order order, SemaphoreRequest most, int threads, LockRequest lock,
			int lockThreads) {
		return new Worker(ChildJvm.start(UserMain.class, redis.host(), Integer.toString(redis.port()),
				redis.keyPrefix(), most.key(), Integer.toString(threads), RequestLine.of(most), lock.key(),
				Integer.toString(lockThreads), RequestLine.of(lock), order.name()));
	}

	/**
	 * Start it.
	 * @param clockShift by how much its clock is wrong, or {@code null} if it is not to
	 * be put out of order
	 */
	Worker(TestRedis redis, @Nullable Duration clockShift, List<String> properties) {
		List<String> options = (clockShift != null) ? List.of(ClockAgent.option(clockShift)) : List.of();
		this.process = ChildJvm.start(options, WorkerMain.class, arguments(redis, properties));
	}

	/** Start it as an instance of another version. */
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
	 * Wait until it is refused, and return its output. It does not start then; but on a
	 * slow machine its start is over before the versions are compared.
	 */
	String awaitRefusal() {
		this.process.awaitLine((line) -> line.contains("cannot share locks"), ChildProcess.PATIENCE);
		Awaitility.await().atMost(ChildProcess.PATIENCE).until(() -> isReady() || !this.process.isAlive());
		if (!isReady()) {
			assertThat(this.process.awaitExit(ChildProcess.PATIENCE)).isNotZero();
		}
		return String.join("\n", this.process.lines());
	}

	/** Whether it has started and still runs. */
	boolean isReady() {
		return this.process.isAlive() && this.process.lines().contains("ready");
	}

	/** Have it acquire a key, on a thread of its own. */
	void acquire(String name, String key, Duration leaseTime, Duration waitTime) {
		acquire(name, LockRequest.of(key).leaseTime(leaseTime).waitTime(waitTime));
	}

	/** Have it acquire a lock, on a thread of its own. */
	void acquire(String name, LockRequest request) {
		this.process.send("acquire " + name + " " + RequestLine.of(request));
	}

	/** Have it acquire permits, on a thread of its own. */
	void acquire(String name, SemaphoreRequest request) {
		this.process.send("acquire " + name + " " + RequestLine.of(request));
	}

	/**
	 * Have it acquire a lock and then wait for another one, on a thread that it gives the
	 * name; {@link #awaitGranted} tells when it has the first, {@link #awaitUsed} the
	 * second.
	 */
	void acquireBoth(String name, String first, String second) {
		this.process.send("acquire-both %s %s %s".formatted(name, first, second));
	}

	/** Wait until it was granted what it was told to acquire by this name. */
	Grant awaitGranted(String name) {
		return awaitGranted(name, ChildProcess.PATIENCE);
	}

	/** Wait for so long until it was granted what it was told to acquire. */
	Grant awaitGranted(String name, Duration timeout) {
		String[] words = await("granted " + name, timeout);
		return new Grant(Long.parseLong(words[2]), Long.parseLong(words[3]));
	}

	/** Wait until it failed to acquire what it was told to. */
	void awaitFailed(String name) {
		this.process.awaitLine("failed " + name + " ", ChildProcess.PATIENCE);
	}

	/** Whether it has told that it was granted what it was told to acquire. */
	boolean isGranted(String name) {
		return this.process.lines().stream().anyMatch((line) -> line.startsWith("granted " + name + " "));
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
		return holds(name);
	}

	/** Have many threads use a lock; see {@link Users}. */
	void use(String name, LockRequest request, int threads, int rounds) {
		this.process.send("use %s %d %d %s".formatted(name, threads, rounds, RequestLine.of(request)));
	}

	/** Have many threads use some of several locks; see {@link Users}. */
	void useSome(String name, LockRequest request, int threads, int rounds) {
		this.process.send("use-some %s %d %d %s".formatted(name, threads, rounds, RequestLine.of(request)));
	}

	/** What the holds of one of several keys are told by. */
	static String nameOf(String name, String key) {
		return name + ":" + key;
	}

	/** Have many threads use a semaphore; see {@link Users}. */
	void use(String name, SemaphoreRequest most, int threads, int rounds) {
		this.process.send("use %s %d %d %s".formatted(name, threads, rounds, RequestLine.of(most)));
	}

	/** Wait until all its threads have used it as often as they were told to. */
	void awaitUsed(String name) {
		await("used " + name);
	}

	/** Wait until it holds something of what it uses. */
	void awaitUse(String name) {
		await("began " + name);
	}

	/** How many threads held something when it was killed. */
	int unreleased(String name) {
		return (int) holds(name).stream().filter((hold) -> hold.until() == this.killedAt).count();
	}

	/** What went wrong in its threads. */
	List<String> failures(String name) {
		return this.process.lines().stream().filter((line) -> line.startsWith("failed " + name + " ")).toList();
	}

	/** How often what it uses was not to be had. */
	long refusals(String name) {
		return this.process.lines().stream().filter(("refused " + name)::equals).count();
	}

	/**
	 * What it held by now; until it was killed what it had not released then. Not to be
	 * asked while it is at it.
	 */
	List<Hold> holds(String name) {
		List<Hold> open = new ArrayList<>();
		List<Hold> holds = new ArrayList<>();
		for (String line : this.process.lines()) {
			String[] words = line.split(" ");
			if (words.length == 7 && words[1].equals(name)) {
				Hold hold = new Hold(Integer.parseInt(words[2]), Long.parseLong(words[3]), Long.parseLong(words[4]),
						Long.parseLong(words[5]), Long.parseLong(words[6]));
				if (words[0].equals("began")) {
					open.add(hold);
				}
				else if (words[0].equals("ended")) {
					open.remove(hold.until(Long.MAX_VALUE));
					holds.add(hold);
				}
			}
		}
		open.forEach((hold) -> holds.add(hold.until(this.killedAt)));
		return holds;
	}

	/** Put its clock out of order, and ask what it shows. */
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
	 * What it was granted.
	 *
	 * @param fence the fencing token, 0 for permits
	 * @param at when, by {@link System#nanoTime()}
	 */
	record Grant(long fence, long at) {

	}

	/**
	 * What its clock shows, in milliseconds.
	 *
	 * @param millis by {@link System#currentTimeMillis()}
	 * @param instant by {@link java.time.Instant#now()}
	 * @param startedAt when Spring saw it start
	 */
	record Shown(long millis, long instant, long startedAt) {

	}

}
