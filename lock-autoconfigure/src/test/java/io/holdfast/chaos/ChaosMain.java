package io.holdfast.chaos;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;

import io.holdfast.HoldfastException;
import io.holdfast.LockMode;
import io.holdfast.LockRequest;
import io.holdfast.LockService;
import io.holdfast.SemaphoreRequest;
import io.holdfast.SemaphoreService;
import io.holdfast.engine.Idleness;
import io.holdfast.history.Event;
import io.holdfast.history.Event.Type;
import io.holdfast.history.HistoryFile;
import io.holdfast.observation.HoldfastObservationDocumentation;
import io.holdfast.observation.LeaseObservationContext;
import io.holdfast.testing.TestApplication;
import io.micrometer.observation.Observation;
import io.micrometer.observation.ObservationHandler;
import io.micrometer.observation.ObservationRegistry;
import org.awaitility.core.ConditionTimeoutException;

import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

import static org.awaitility.Awaitility.await;

/**
 * Main class of a child JVM: an instance whose threads use locks and semaphores until the
 * line {@code end}, when they end their uses, or {@code shut-down} during them. After
 * {@link #OBSERVE_SLOWLY} an observation handler takes a second for each request, for the
 * given milliseconds. Arguments: file of its history, name, seed, threads, host, port,
 * key prefix, properties.
 */
final class ChaosMain {

	static final String OBSERVE_SLOWLY = "observe-slowly ";

	/** The delay of a slow observer. */
	static final Duration SLOWNESS = Duration.ofSeconds(1);

	private static final Duration PATIENCE = Duration.ofSeconds(30);

	/** An instance with a longer start prints the reason. */
	private static final Duration READY = Duration.ofMinutes(3);

	private static volatile boolean ready;

	private ChaosMain() {
	}

	public static void main(String[] args) throws Exception {
		Thread main = Thread.currentThread();
		CompletableFuture.delayedExecutor(READY.toSeconds(), TimeUnit.SECONDS).execute(() -> {
			if (!ready) {
				System.out.println("not ready, but at " + Arrays.toString(main.getStackTrace()));
			}
		});
		try (HistoryFile history = new HistoryFile(Path.of(args[0]))) {
			run(history, args[1], new Random(Long.parseLong(args[2])), Integer.parseInt(args[3]),
					TestApplication.start(Observed.class, args[4], Integer.parseInt(args[5]), args[6],
							List.of(args).subList(7, args.length)));
		}
		System.out.println("ended");
		System.exit(0);
	}

	private static void run(HistoryFile history, String name, Random random, int threads,
			ConfigurableApplicationContext context) throws Exception {
		LockService locks = context.getBean(LockService.class);
		SemaphoreService semaphores = context.getBean(SemaphoreService.class);
		warmUp(locks, semaphores);
		AtomicBoolean goesOn = new AtomicBoolean(true);
		new Stalls(() -> {
		}, (from, until) -> history.write(Event.of(from, Type.PAUSED, name).until(until))).start();
		List<Thread> users = new ArrayList<>();
		Map<String, String> byToken = new ConcurrentHashMap<>();
		for (int i = 0; i < threads; i++) {
			users.add(new Thread(new ChaosUser(name, "u" + i, new Random(random.nextLong()), locks, semaphores, history,
					byToken, goesOn::get)));
		}
		users.forEach(Thread::start);
		ready = true;
		System.out.println("ready");
		BufferedReader input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
		String line = input.readLine();
		while (line != null && line.startsWith(OBSERVE_SLOWLY)) {
			Duration time = Duration.ofMillis(Long.parseLong(line.substring(OBSERVE_SLOWLY.length())));
			context.getBean(SlowHandler.class).slowUntil = System.nanoTime() + time.toNanos();
			line = input.readLine();
		}
		if ("shut-down".equals(line)) {
			history.write(Event.of(System.nanoTime(), Type.SHUT_DOWN, name));
			goesOn.set(false);
			context.close();
		}
		goesOn.set(false);
		for (Thread user : users) {
			user.join(PATIENCE.toMillis());
			if (user.isAlive()) {
				history.write(left(name, user.getName() + "-did-not-end"));
			}
		}
		if (context.isActive()) {
			if (!isIdleSoon(locks)) {
				history.write(left(name, "keys-in-memory"));
			}
			context.close();
		}
	}

	/** The first of all calls are late because they load classes for all later calls. */
	private static void warmUp(LockService locks, SemaphoreService semaphores) {
		boolean warm = false;
		long late = System.nanoTime() + READY.toNanos();
		while (!warm) {
			try {
				for (LockMode mode : LockMode.values()) {
					locks.acquire(LockRequest.of("warm-up").mode(mode)).release();
				}
				semaphores.acquire(SemaphoreRequest.of("warm-up", Wish.LIMIT)).release();
				warm = true;
			}
			catch (HoldfastException ex) {
				// Or late because Redis is.
				if (System.nanoTime() - late > 0) {
					System.out.println("not warm: " + ex);
					late += READY.toNanos();
				}
			}
		}
	}

	private static boolean isIdleSoon(LockService locks) {
		try {
			await("all forgotten").atMost(PATIENCE).until(() -> Idleness.of(locks));
			return true;
		}
		catch (ConditionTimeoutException ex) {
			return false;
		}
	}

	@Configuration(proxyBeanMethods = false)
	static class Observed extends TestApplication {

		@Bean
		SlowHandler slowHandler() {
			return new SlowHandler();
		}

		@Bean
		ObservationRegistry observationRegistry(SlowHandler handler) {
			ObservationRegistry registry = ObservationRegistry.create();
			registry.observationConfig().observationHandler(handler);
			return registry;
		}

	}

	/** Slow at each request for a lease, for a given time. */
	static final class SlowHandler implements ObservationHandler<LeaseObservationContext> {

		private static final Set<HoldfastObservationDocumentation> REQUESTS = EnumSet
			.of(HoldfastObservationDocumentation.LOCK_ACQUIRE, HoldfastObservationDocumentation.SEMAPHORE_ACQUIRE);

		private volatile long slowUntil = System.nanoTime();

		@Override
		public boolean supportsContext(Observation.Context context) {
			return context instanceof LeaseObservationContext lease && REQUESTS.contains(lease.getObserved());
		}

		@Override
		public void onStop(LeaseObservationContext context) {
			if (System.nanoTime() - this.slowUntil < 0) {
				LockSupport.parkNanos(SLOWNESS.toNanos());
			}
		}

	}

	private static Event left(String name, String what) {
		return Event.of(System.nanoTime(), Type.LEFT, name).why(what).permits(1, 0);
	}

}
