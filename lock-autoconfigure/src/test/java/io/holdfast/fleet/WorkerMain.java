package io.holdfast.fleet;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

import io.holdfast.HoldfastException;
import io.holdfast.Lease;
import io.holdfast.LockLease;
import io.holdfast.LockRequest;
import io.holdfast.LockService;
import io.holdfast.SemaphoreService;
import io.holdfast.testing.ShiftedClock;
import io.holdfast.testing.TestApplication;

import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.data.redis.core.StringRedisTemplate;

import static io.holdfast.fleet.SpokenDiary.say;

/**
 * Main class of a child JVM: an instance under the commands of {@link Worker}. Arguments:
 * host, port, key prefix, properties.
 */
final class WorkerMain {

	private static final long GLANCE = TimeUnit.MILLISECONDS.toNanos(1);

	private final ConfigurableApplicationContext context;

	private final LockService locks;

	private final SemaphoreService semaphores;

	private final Data data;

	/** Leases by their names in the lines. */
	private final Map<String, Lease> leases = new ConcurrentHashMap<>();

	private WorkerMain(ConfigurableApplicationContext context, String keyPrefix) {
		this.context = context;
		this.locks = context.getBean(LockService.class);
		this.semaphores = context.getBean(SemaphoreService.class);
		this.data = new Data(context.getBean(StringRedisTemplate.class), keyPrefix);
	}

	public static void main(String[] args) throws Exception {
		WorkerMain worker = new WorkerMain(TestApplication.start(args[0], Integer.parseInt(args[1]), args[2],
				List.of(args).subList(3, args.length)), args[2]);
		System.out.println("ready");
		BufferedReader input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
		for (String line = input.readLine(); line != null; line = input.readLine()) {
			worker.obey(List.of(line.split(" ")));
		}
		System.exit(0);
	}

	private void obey(List<String> words) {
		String name = words.get(1);
		switch (words.get(0)) {
			case "acquire" -> inThread(() -> acquire(name, words.subList(2, words.size())));
			case "acquire-both" -> inThread(() -> acquireBoth(name, words.get(2), words.get(3)));
			case "held" -> say("held", name, lease(name).isHeld());
			case "release" -> say("released", name, lease(name).release());
			case "write" -> say("written", name, this.data.writeFenced(words.get(2), fence(lease(name)), words.get(3)));
			case "add" -> inThread(() -> add(name, Duration.ofMillis(number(words.get(2))), number(words.get(3)),
					number(words.get(4))));
			case "use-some" -> inThread(
					() -> useSome(name, number(words.get(2)), number(words.get(3)), words.subList(4, words.size())));
			case "use" ->
				inThread(() -> use(name, number(words.get(2)), number(words.get(3)), words.subList(4, words.size())));
			case "shift" -> shiftClock(name, Duration.ofMillis(number(words.get(2))));
			default -> throw new IllegalArgumentException(words.get(0));
		}
	}

	private Lease lease(String name) {
		Lease lease = this.leases.get(name);
		if (lease == null) {
			throw new IllegalStateException("Nothing was granted as " + name);
		}
		return lease;
	}

	private static long fence(Lease lease) {
		return (lease instanceof LockLease lock) ? lock.fencingToken(lock.keys().get(0)) : 0;
	}

	private void acquire(String name, List<String> request) {
		try {
			Lease lease = RequestLine.isForLock(request) ? this.locks.acquire(RequestLine.lock(request))
					: this.semaphores.acquire(RequestLine.semaphore(request));
			long grantedAt = System.nanoTime();
			this.leases.put(name, lease);
			lease.onLost(() -> say("lost", name));
			say("granted", name, fence(lease), grantedAt);
			watch(name, lease);
		}
		catch (HoldfastException ex) {
			say("failed", name, ex);
		}
	}

	/** Acquire a lock and then, on the same thread, wait for a second lock. */
	private void acquireBoth(String name, String first, String second) {
		Thread.currentThread().setName(name);
		try (LockLease lease = this.locks.acquire(first)) {
			say("granted", name, lease.fencingToken(), System.nanoTime());
			this.locks.acquire(LockRequest.of(second).waitTime(Duration.ofMinutes(2))).close();
			say("used", name);
		}
		catch (HoldfastException ex) {
			say("failed", name, ex);
		}
	}

	/** Check repeatedly whether the lease is held, and print when it last was. */
	private void watch(String name, Lease lease) {
		long before = System.nanoTime();
		long lastHeld = before;
		while (lease.isHeld()) {
			lastHeld = before;
			LockSupport.parkNanos(GLANCE);
			before = System.nanoTime();
		}
		say("unheld", name, lastHeld);
	}

	/** Increment a value, under a lock of the same name. */
	private void add(String name, Duration leaseTime, int threads, int rounds) {
		Queue<Hold> holds = new ConcurrentLinkedQueue<>();
		try {
			new Crowd().add(threads, () -> {
				for (int i = 0; i < rounds; i++) {
					holds.add(this.data.addLocked(this.locks, name, leaseTime));
				}
			}).run();
			holds.forEach(new SpokenDiary(name)::ended);
			say("added", name);
		}
		catch (Exception ex) {
			say("failed", name, ex);
		}
	}

	/** Acquire and release, and print each begin and end when it happens. */
	private void use(String name, int threads, int rounds, List<String> request) {
		Users.Diary diary = new SpokenDiary(name);
		Crowd.Task user = RequestLine.isForLock(request)
				? Users.of(this.locks, RequestLine.lock(request), rounds, diary)
				: Users.of(this.semaphores, RequestLine.semaphore(request), rounds, diary);
		try {
			new Crowd().add(threads, user).run(Duration.ofMinutes(2));
			say("used", name);
		}
		catch (Exception ex) {
			say("failed", name, ex);
		}
	}

	/** Acquire some of several locks and release them, and print each hold at its end. */
	private void useSome(String name, int threads, int rounds, List<String> request) {
		try {
			new Crowd().add(threads, Users.ofSome(this.locks, RequestLine.lock(request), rounds,
					(key) -> new SpokenDiary(Worker.nameOf(name, key))))
				.run(Duration.ofMinutes(2));
			say("used", name);
		}
		catch (Exception ex) {
			say("failed", name, ex);
		}
	}

	/**
	 * Shift this process' clock, and print its times: for this class, and for Spring.
	 */
	private void shiftClock(String name, Duration shift) {
		ShiftedClock.shiftBy(shift);
		say("shifted", name, System.currentTimeMillis(), Instant.now().toEpochMilli(), this.context.getStartupDate());
	}

	private static int number(String text) {
		return Integer.parseInt(text);
	}

	private static void inThread(Runnable action) {
		new Thread(action).start();
	}

}
