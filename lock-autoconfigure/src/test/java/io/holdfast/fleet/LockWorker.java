package io.holdfast.fleet;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

import io.holdfast.HoldfastException;
import io.holdfast.LockLease;
import io.holdfast.LockRequest;
import io.holdfast.LockService;
import io.holdfast.testing.TestApplication;

import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.data.redis.core.StringRedisTemplate;

/**
 * Main class of a child JVM: an instance that obeys the lines that {@link Worker} sends.
 * Arguments: host, port, key prefix, properties.
 */
final class LockWorker {

	private static final long GLANCE = TimeUnit.MILLISECONDS.toNanos(1);

	private final LockService locks;

	private final Data data;

	/** By the names that the lines give them. */
	private final Map<String, LockLease> leases = new ConcurrentHashMap<>();

	private LockWorker(LockService locks, Data data) {
		this.locks = locks;
		this.data = data;
	}

	public static void main(String[] args) throws Exception {
		List<String> arguments = List.of(args);
		ConfigurableApplicationContext context = TestApplication.start(args[0], Integer.parseInt(args[1]), args[2],
				arguments.subList(3, args.length));
		LockWorker worker = new LockWorker(context.getBean(LockService.class),
				new Data(context.getBean(StringRedisTemplate.class), args[2]));
		System.out.println("ready");
		BufferedReader input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
		for (String line = input.readLine(); line != null; line = input.readLine()) {
			worker.obey(line.split(" "));
		}
		System.exit(0);
	}

	private void obey(String[] words) {
		String name = words[1];
		switch (words[0]) {
			case "acquire" -> inThread(() -> acquire(name,
					LockRequest.of(words[2]).leaseTime(millis(words[3])).waitTime(millis(words[4]))));
			case "held" -> say("held", name, leases(name).isHeld());
			case "release" -> say("released", name, leases(name).release());
			case "write" -> say("written", name, this.data.writeFenced(words[2], leases(name).fence(), words[3]));
			case "add" -> inThread(() -> add(name, words[2], Integer.parseInt(words[3]), Integer.parseInt(words[4])));
			default -> throw new IllegalArgumentException(words[0]);
		}
	}

	private LockLease leases(String name) {
		LockLease lease = this.leases.get(name);
		if (lease == null) {
			throw new IllegalStateException("Nothing was granted as " + name);
		}
		return lease;
	}

	private void acquire(String name, LockRequest request) {
		try {
			LockLease lease = this.locks.acquire(request);
			long grantedAt = System.nanoTime();
			this.leases.put(name, lease);
			lease.onLost(() -> say("lost", name));
			say("granted", name, lease.fence(), grantedAt);
			watch(name, lease);
		}
		catch (HoldfastException ex) {
			say("failed", name, ex);
		}
	}

	/** Look again and again whether it is held, and tell when it was the last time. */
	private void watch(String name, LockLease lease) {
		long before = System.nanoTime();
		long lastHeld = before;
		while (lease.isHeld()) {
			lastHeld = before;
			LockSupport.parkNanos(GLANCE);
			before = System.nanoTime();
		}
		say("unheld", name, lastHeld);
	}

	/** Add ones to a value, under a lock of the same name unless the lease time is 0. */
	private void add(String name, String leaseMillis, int threads, int rounds) {
		Queue<Hold> holds = new ConcurrentLinkedQueue<>();
		try {
			new Crowd().add(threads, () -> {
				for (int i = 0; i < rounds; i++) {
					if (leaseMillis.equals("0")) {
						this.data.add(name, 1);
					}
					else {
						holds.add(this.data.addLocked(this.locks, name, millis(leaseMillis)));
					}
				}
			}).run();
			holds.forEach((hold) -> say("hold", name, hold.fence(), hold.from(), hold.until()));
			say("added", name);
		}
		catch (Exception ex) {
			say("failed", name, ex);
		}
	}

	private static Duration millis(String text) {
		return Duration.ofMillis(Long.parseLong(text));
	}

	private static void inThread(Runnable action) {
		new Thread(action).start();
	}

	private static void say(Object... words) {
		StringBuilder line = new StringBuilder();
		for (Object word : words) {
			line.append(line.isEmpty() ? "" : " ").append(word);
		}
		System.out.println(line);
	}

}
