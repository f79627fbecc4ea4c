package io.holdfast.faults;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.function.IntFunction;
import java.util.stream.IntStream;

import io.holdfast.Lease;
import io.holdfast.LeaseStoreException;
import io.holdfast.LockRequest;
import io.holdfast.NotAcquiredException;
import io.holdfast.NotAcquiredException.Reason;
import io.holdfast.ReleaseResult;
import io.holdfast.engine.Idleness;
import io.holdfast.engine.LeaseEngine;
import io.holdfast.testing.RedisServer;
import io.holdfast.testing.Slow;
import io.holdfast.testing.TestApplication;
import io.holdfast.testing.TestRedis;
import io.holdfast.testing.WithRedis;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.parallel.Isolated;

import org.springframework.boot.convert.DurationStyle;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Heavy use in rounds. After each round all leases are released, and the remaining
 * resources do not grow. The figures are written to {@code target/soak.txt}. Runs alone,
 * since threads and descriptors of other tests would be counted.
 */
@WithRedis
@Isolated
@Timeout(value = 1, unit = TimeUnit.DAYS)
class SoakTests {

	private static final Log logger = LogFactory.getLog(SoakTests.class);

	private static final Path SEEN = Path.of("target/soak.txt");

	/** The whole time, for example by {@code -Dholdfast.test.soak-time=15m}. */
	private static final Duration TIME = DurationStyle
		.detectAndParse(System.getProperty("holdfast.test.soak-time", "1h"));

	/** For tens of thousands of commands, on a busy machine. */
	private static final Duration LONG = Duration.ofMinutes(2);

	private static final Duration HOURS = Duration.ofHours(10);

	private static final Duration SHORT_LEASE = Duration.ofMillis(1500);

	@Test
	@Tag("soak")
	@DisplayName("F21 F47 A million keys in turn, 10,000 waiters, contexts that start and stop: flat for hours")
	void soak(TestRedis redis) throws Exception {
		Soak soak = new Soak(redis, 1_000_000, 30_000, 10_000, Duration.ofSeconds(15));
		List<String> seen;
		try (soak) {
			long end = System.nanoTime() + TIME.toNanos();
			while (System.nanoTime() - end < 0 || soak.figures.isTooFew()) {
				soak.round();
			}
			seen = soak.seen();
		}
		seen.forEach(logger::info);
		write(seen);
		soak.figures.assertFlat();
	}

	@Slow
	@Test
	@DisplayName("F21 F47 A short run: contexts, waiters and keys leave nothing behind")
	void inSmall(TestRedis redis) throws Exception {
		try (Soak soak = new Soak(redis, 1_500, 500, 300, Duration.ofSeconds(2))) {
			while (soak.figures.isTooFew()) {
				soak.round();
			}
			soak.seen().forEach(logger::debug);
			soak.figures.assertFlat();
		}
	}

	private static void write(List<String> lines) throws IOException {
		Files.createDirectories(SEEN.toAbsolutePath().getParent());
		Files.write(SEEN, lines);
	}

	/**
	 * Two applications for the whole run, and a third in each round.
	 */
	private static final class Soak implements AutoCloseable {

		private static final int AT_ONCE = 400;

		/** Of each kind. */
		private static final int LOST = 5;

		private static final int KINDS = 4;

		private static final String[] PROPERTIES = {
				// Fences expire before the end of each round.
				"holdfast.lock.fence-retention=1s",
				// So that thousands of polling waiters do not overload a busy machine.
				"holdfast.wake-up.handoff-timeout=30s", "holdfast.redis.command-timeout=60s" };

		private final TestRedis redis;

		private final RedisServer server;

		private final Fleet fleet;

		private final Instance holder;

		private final Instance waiter;

		/** Number of all keys, and number of keys of a round. */
		private final int keys;

		private final int keysPerRound;

		private final int waiters;

		private final Duration waitTime;

		private final SoakFigures figures;

		private long used;

		private long granted;

		private long timedOut;

		/** Requests without an answer, on a busy machine. */
		private long unanswered;

		private long cancelled;

		private long lost;

		private long mostThreads;

		private int rounds;

		private final long startedAt = System.nanoTime();

		Soak(TestRedis redis, int keys, int keysPerRound, int waiters, Duration waitTime) {
			this.redis = redis;
			this.keys = keys;
			this.keysPerRound = keysPerRound;
			this.waiters = waiters;
			this.waitTime = waitTime;
			this.server = redis.startServer();
			this.fleet = Fleet.on(redis, this.server);
			this.holder = this.fleet.start(PROPERTIES);
			this.waiter = this.fleet.start(limited());
			this.fleet.awaitListening(2);
			this.figures = new SoakFigures(this.fleet);
		}

		/** Allow the most waiters, half of them for one key. */
		private String[] limited() {
			List<String> properties = new ArrayList<>(List.of(PROPERTIES));
			properties.add("holdfast.limits.waiters=" + this.waiters);
			properties.add("holdfast.limits.waiters-per-key=" + this.waiters / 2);
			return properties.toArray(String[]::new);
		}

		void round() throws Exception {
			long threads = SoakFigures.threads();
			List<Lease> held = all(this.waiters / 2 + 1,
					(i) -> ask(this.holder, crowded(i), "crowd" + i, Duration.ZERO));
			List<CompletableFuture<? extends Lease>> waiting = crowd();
			this.mostThreads = Math.max(this.mostThreads, SoakFigures.threads() - threads);
			// A third application that starts, works and stops at the same time.
			Instance other = new Instance(TestApplication.start(this.server.host(), this.server.port(),
					this.redis.keyPrefix(), List.of(PROPERTIES)));
			use(this.holder, this.keysPerRound / 2);
			use(other, this.keysPerRound / 2);
			lose(other);
			leave(other);
			end(waiting, held);
			await("all given back").atMost(LONG)
				.until(() -> Idleness.of(this.holder.locks()) && Idleness.of(this.waiter.locks()));
			// Expired keys are deleted when they are read.
			await("only the key of two instances").atMost(LONG)
				.until(() -> this.fleet.observer().keys("*").size() <= 1);
			this.rounds++;
			this.figures.measure();
		}

		/** Return a kind for a single owner at a time, in turn with each round. */
		private int crowded(int key) {
			return (this.rounds + key) % 3;
		}

		/** Start all waiters; a third of them times out. */
		private List<CompletableFuture<? extends Lease>> crowd() {
			List<CompletableFuture<? extends Lease>> waiting = new ArrayList<>();
			for (int i = 0; i < this.waiters; i++) {
				int key = (i % 2 == 0) ? 0 : i / 2 + 1;
				// Short waits come last, so that all waits overlap.
				waiting.add(ask(this.waiter, crowded(key), "crowd" + key,
						(i < this.waiters / 3 * 2) ? HOURS : this.waitTime));
			}
			LeaseEngine engine = this.waiter.engine();
			await("all who wait").atMost(LONG).until(() -> engine.status().waiting() == this.waiters);
			assertThat(ask(this.waiter, 0, "one-more", HOURS)).failsWithin(LONG)
				.withThrowableThat()
				.havingCause()
				.isInstanceOfSatisfying(NotAcquiredException.class,
						(ex) -> assertThat(ex.getReason()).isEqualTo(Reason.TOO_MANY_WAITERS));
			return waiting;
		}

		private void end(List<CompletableFuture<? extends Lease>> waiting, List<Lease> held) {
			int third = this.waiters / 3;
			List<CompletableFuture<? extends Lease>> late = waiting.subList(third * 2, this.waiters);
			for (CompletableFuture<? extends Lease> each : late) {
				Throwable why = each.<Throwable>handle((lease, ex) -> ex)
					.orTimeout(LONG.toSeconds(), TimeUnit.SECONDS)
					.join();
				if (why instanceof LeaseStoreException) {
					this.unanswered++;
				}
				else {
					assertThat(why).isInstanceOfSatisfying(NotAcquiredException.class,
							(ex) -> assertThat(ex.getReason()).isEqualTo(Reason.TIMED_OUT));
					this.timedOut++;
				}
			}
			assertThat(waiting.subList(0, third * 2)).noneMatch(CompletableFuture::isDone);
			waiting.subList(0, third).forEach((each) -> each.cancel(true));
			this.cancelled += third;
			List<CompletableFuture<ReleaseResult>> rest = waiting.subList(third, third * 2)
				.stream()
				.map(Soak::release)
				.toList();
			join(held.stream().map(Lease::releaseAsync).toList());
			assertThat(join(rest)).containsOnly(ReleaseResult.RELEASED);
			this.granted += rest.size();
		}

		/** Use keys in turn, some at a time, each for a moment. */
		private void use(Instance instance, int count) throws InterruptedException {
			Semaphore free = new Semaphore(AT_ONCE);
			CompletableFuture<?> trouble = new CompletableFuture<>();
			for (int i = 0; i < count; i++) {
				free.acquire();
				int key = (int) (this.used++ % this.keys);
				release(ask(instance, key, "key" + key, Duration.ZERO)).whenComplete((result, error) -> {
					free.release();
					if (error != null) {
						trouble.completeExceptionally(error);
					}
				});
			}
			free.acquire(AT_ONCE);
			assertThat(trouble).isNotCompletedExceptionally();
		}

		/** Delete the keys of held leases, like another program. */
		private void lose(Instance instance) throws InterruptedException {
			List<Lease> held = all(KINDS * LOST, (i) -> ask(instance, i, "lost" + i, Duration.ZERO, SHORT_LEASE));
			CountDownLatch losses = new CountDownLatch(held.size());
			held.forEach((lease) -> lease.onLost(losses::countDown));
			this.fleet.observer().delete(Objects.requireNonNull(this.fleet.observer().keys("*lost*")));
			assertThat(losses.await(LONG.toSeconds(), TimeUnit.SECONDS)).as("all losses noticed").isTrue();
			assertThat(join(held.stream().map(Lease::releaseAsync).toList())).containsOnly(ReleaseResult.LOST);
			this.lost += held.size();
		}

		/** Close a context with holds and waiters. */
		private void leave(Instance instance) {
			// On a machine that is too busy to release the leases in time, they end by
			// themselves.
			all(KINDS * LOST, (i) -> ask(instance, i, "left" + i, Duration.ZERO, SHORT_LEASE));
			List<CompletableFuture<? extends Lease>> waiting = IntStream.range(0, KINDS * LOST)
				.<CompletableFuture<? extends Lease>>mapToObj((i) -> ask(instance, crowded(i), "crowd" + i, HOURS))
				.toList();
			instance.close();
			assertThat(waiting).allMatch(CompletableFuture::isCompletedExceptionally);
		}

		/** By each kind in turn. */
		private static CompletableFuture<? extends Lease> ask(Instance instance, int kind, String key,
				Duration waitTime) {
			return ask(instance, kind, key, waitTime, Duration.ofMinutes(1));
		}

		private static CompletableFuture<? extends Lease> ask(Instance instance, int kind, String key,
				Duration waitTime, Duration leaseTime) {
			return switch (kind % KINDS) {
				case 0 -> instance.locks().acquireAsync(LockRequest.of(key).waitTime(waitTime).leaseTime(leaseTime));
				case 1 -> pool(Pool.SEMAPHORE, key, waitTime, leaseTime).all().acquireAsync(instance);
				case 2 -> pool(Pool.READ_WRITE, key, waitTime, leaseTime).all().acquireAsync(instance);
				default -> pool(Pool.READ_WRITE, key, waitTime, leaseTime).acquireAsync(instance);
			};
		}

		private static PoolRequest pool(Pool pool, String key, Duration waitTime, Duration leaseTime) {
			return new PoolRequest(pool, key).waitTime(waitTime).leaseTime(leaseTime);
		}

		private static List<Lease> all(int count, IntFunction<CompletableFuture<? extends Lease>> ask) {
			return IntStream.range(0, count)
				.<CompletableFuture<? extends Lease>>mapToObj(ask)
				.toList()
				.stream()
				.<Lease>map((lease) -> lease.orTimeout(LONG.toSeconds(), TimeUnit.SECONDS).join())
				.toList();
		}

		private static CompletableFuture<ReleaseResult> release(CompletableFuture<? extends Lease> lease) {
			return lease.thenCompose(Lease::releaseAsync);
		}

		private static List<ReleaseResult> join(List<CompletableFuture<ReleaseResult>> releases) {
			return releases.stream()
				.map((release) -> release.orTimeout(LONG.toSeconds(), TimeUnit.SECONDS).join())
				.toList();
		}

		List<String> seen() {
			List<String> lines = new ArrayList<>();
			lines.add("%d rounds in %d min: %,d uses of %,d keys; %,d waiters at a time, of whom %,d were granted, %,d"
				.formatted(this.rounds, TimeUnit.NANOSECONDS.toMinutes(System.nanoTime() - this.startedAt), this.used,
						Math.min(this.used, this.keys), this.waiters, this.granted, this.timedOut)
					+ " timed out, %,d were not answered in time and %,d cancelled; %,d leases lost; %d contexts opened and closed"
						.formatted(this.unanswered, this.cancelled, this.lost, this.rounds));
			lines.add("threads more while all wait: %d at most".formatted(this.mostThreads));
			lines.addAll(this.figures.table());
			return lines;
		}

		@Override
		public void close() {
			this.fleet.close();
		}

	}

}
