package io.holdfast.async;

import java.lang.reflect.Method;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

import io.holdfast.LockLease;
import io.holdfast.LockRequest;
import io.holdfast.LockService;
import io.holdfast.testing.TestApplication;

import org.springframework.context.ConfigurableApplicationContext;

import static org.awaitility.Awaitility.await;

/**
 * Main class of a child JVM with few carriers: thousands of virtual threads wait for the
 * same lock. Arguments: host, port, key prefix, number of threads.
 */
final class VirtualThreadsMain {

	private static final LockRequest REQUEST = LockRequest.of("crowded").waitForever();

	/** Guarded by the lock. */
	private static int turns;

	private VirtualThreadsMain() {
	}

	public static void main(String[] args) throws Exception {
		int count = Integer.parseInt(args[3]);
		try (ConfigurableApplicationContext context = TestApplication.start(args[0], Integer.parseInt(args[1]), args[2],
				List.of("holdfast.redis.command-timeout=5s"))) {
			LockService locks = context.getBean(LockService.class);
			CountDownLatch ended = new CountDownLatch(count);
			List<Thread> threads = new ArrayList<>(count);
			try (LockLease first = locks.acquire(REQUEST)) {
				for (int i = 0; i < count; i++) {
					threads.add(startVirtual(() -> takeTurn(locks, ended)));
				}
				awaitWaiting(threads);
				System.out.println("waiting: " + threads.size() + " under fence " + first.fencingToken());
				CountDownLatch passed = new CountDownLatch(1);
				startVirtual(passed::countDown);
				System.out.println("carriers are free: " + passed.await(10, TimeUnit.SECONDS));
			}
			ended.await();
			System.out.println("turns: " + turns);
		}
	}

	private static void takeTurn(LockService locks, CountDownLatch ended) {
		try (LockLease lease = locks.acquire(REQUEST)) {
			int before = turns;
			lease.ensureHeld();
			Thread.yield();
			turns = before + 1;
		}
		ended.countDown();
	}

	private static void awaitWaiting(List<Thread> threads) {
		await("all wait").atMost(Duration.ofMinutes(1))
			.until(() -> threads.stream()
				.map(Thread::getState)
				.allMatch((state) -> state == Thread.State.WAITING || state == Thread.State.TIMED_WAITING));
	}

	/** By reflection, as the tests are compiled for Java 17. */
	private static Thread startVirtual(Runnable task) throws ReflectiveOperationException {
		Method method = Thread.class.getMethod("startVirtualThread", Runnable.class);
		return (Thread) method.invoke(null, task);
	}

}
