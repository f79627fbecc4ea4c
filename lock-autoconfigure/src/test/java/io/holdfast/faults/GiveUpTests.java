package io.holdfast.faults;

import java.time.Duration;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.Lock;
import java.util.stream.IntStream;
import java.util.stream.Stream;

import io.holdfast.Lease;
import io.holdfast.LockLease;
import io.holdfast.LockMode;
import io.holdfast.LockRequest;
import io.holdfast.NotAcquiredException;
import io.holdfast.NotAcquiredException.Reason;
import io.holdfast.ReleaseResult;
import io.holdfast.SemaphoreRequest;
import io.holdfast.annotation.DistributedLock;
import io.holdfast.annotation.Semaphore;
import io.holdfast.reactive.ReactiveLockService;
import io.holdfast.reactive.ReactiveSemaphoreService;
import io.holdfast.testing.Order;
import io.holdfast.testing.Slow;
import io.holdfast.testing.TestApplication;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Named;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;

import static io.holdfast.faults.Fleet.SOON;
import static org.assertj.core.api.Assertions.assertThat;

/**
 * A caller that gives up, by any call and at any moment, leaves nothing held and nothing
 * queued.
 */
@ParameterizedClass
@EnumSource
@Slow
class GiveUpTests extends FaultTestCase {

	private static final String KEY = "given-up";

	private static final LockRequest LOCK = LockRequest.of(KEY).waitTime(Duration.ofMinutes(1)).reentrant(false);

	private static final SemaphoreRequest PERMIT = SemaphoreRequest.of(KEY, 1).waitTime(Duration.ofMinutes(1));

	private static final int TIMES = 200;

	private final Order order;

	GiveUpTests(Order order) {
		this.order = order;
	}

	static Stream<Arguments> interruptions() {
		return Stream.of(
				interrupted("an exclusive owner or reader",
						(instance, got) -> got.release(instance.acquire(LOCK.mode(any(LockMode.values()))))),
				interrupted("a blocking attempt",
						(instance, got) -> instance.locks().tryAcquire(LOCK).ifPresent(got::release)),
				interrupted("permits",
						(instance, got) -> got.release(instance.acquire(
								SemaphoreRequest.of(KEY, 3).permits(any(1, 2, 3)).waitTime(Duration.ofMinutes(1))))),
				interrupted("Lock.lockInterruptibly", (instance, got) -> {
					Lock lock = instance.locks().asLock(KEY);
					lock.lockInterruptibly();
					got.count();
					lock.unlock();
				}), interrupted("Lock.tryLock", (instance, got) -> {
					Lock lock = instance.locks().asLock(KEY);
					if (lock.tryLock(1, TimeUnit.MINUTES)) {
						got.count();
						lock.unlock();
					}
				}), interrupted("an annotated method", (instance, got) -> shop(instance).plain(got)));
	}

	@SafeVarargs
	private static <T> T any(T... choice) {
		return choice[ThreadLocalRandom.current().nextInt(choice.length)];
	}

	private static Arguments interrupted(String name, Blocking face) {
		return Arguments.of(Named.of(name, face));
	}

	@ParameterizedTest
	@MethodSource("interruptions")
	@DisplayName("F16 F17 Hundreds of interrupts each: of blocking calls, views and annotated methods")
	void interrupts(Blocking face) {
		List<Instance> instances = instances();
		Got got = new Got();
		AtomicInteger interrupted = new AtomicInteger();
		List<Thread> threads = instances.stream().map((instance) -> new Thread(() -> {
			while (interrupted.get() < TIMES) {
				try {
					face.use(instance, got);
				}
				catch (InterruptedException ex) {
					interrupted.incrementAndGet();
				}
				catch (NotAcquiredException ex) {
					assertThat(ex.getReason()).isEqualTo(Reason.INTERRUPTED);
					assertThat(Thread.currentThread().isInterrupted()).as("flag").isTrue();
					interrupted.incrementAndGet();
				}
				Thread.interrupted();
			}
		}, "given-up")).toList();
		List<CompletableFuture<Throwable>> failures = threads.stream().map(GiveUpTests::startChecked).toList();
		Random random = new Random(18);
		Patience patience = new Patience(got, random);
		while (interrupted.get() < TIMES && failures.stream().noneMatch(CompletableFuture::isDone)) {
			threads.get(random.nextInt(threads.size())).interrupt();
			patience.pass();
		}
		failures.forEach((failure) -> assertThat(failure).succeedsWithin(SOON).isNull());
		assertNothingLeft(got, instances);
	}

	private static CompletableFuture<Throwable> startChecked(Thread thread) {
		CompletableFuture<Throwable> failure = new CompletableFuture<>();
		thread.setDaemon(true);
		thread.setUncaughtExceptionHandler((failed, ex) -> failure.complete(ex));
		thread.start();
		Instance.inBackground(() -> {
			thread.join();
			return failure.complete(null);
		});
		return failure;
	}

	static Stream<Arguments> cancellations() {
		return Stream.of(cancelled("a future of a lock", (instance, got) -> {
			CompletableFuture<LockLease> future = instance.locks().acquireAsync(LOCK);
			future.thenAccept(got::accept);
			return () -> future.cancel(true);
		}), cancelled("a future of permits", (instance, got) -> {
			CompletableFuture<? extends Lease> future = instance.semaphores().acquireAsync(PERMIT);
			future.thenAccept(got::accept);
			return () -> future.cancel(true);
		}), cancelled(
				"a Mono of a lock", (instance,
						got) -> reactive(instance).acquire(LOCK).doOnNext(got::accept).subscribe()::dispose),
				cancelled("a Mono with a lock",
						(instance,
								got) -> reactive(instance).withLock(LOCK, Mono.fromRunnable(got::count))
									.subscribe()::dispose),
				cancelled("a Flux with a lock",
						(instance,
								got) -> reactive(instance).withLock(LOCK, Flux.range(1, 3).doOnNext((i) -> got.count()))
									.subscribe()::dispose),
				cancelled("a Flux with permits", (instance, got) -> {
					ReactiveSemaphoreService semaphores = instance.context().getBean(ReactiveSemaphoreService.class);
					return semaphores.withPermits(PERMIT, Flux.range(1, 3).doOnNext((i) -> got.count()))
						.subscribe()::dispose;
				}), cancelled("a method with a future", (instance, got) -> {
					CompletableFuture<Void> future = shop(instance).future(got);
					return () -> future.cancel(true);
				}),
				cancelled("a method with a Mono", (instance, got) -> shop(instance).mono(got).subscribe()::dispose));
	}

	private static Arguments cancelled(String name, Later face) {
		return Arguments.of(Named.of(name, face));
	}

	@ParameterizedTest
	@MethodSource("cancellations")
	@DisplayName("F18 Hundreds of cancellations each: of futures, reactive chains and annotated methods")
	void cancellations(Later face) {
		List<Instance> instances = instances();
		Got got = new Got();
		List<CompletableFuture<String>> workers = IntStream.range(0, instances.size())
			.mapToObj((i) -> Instance.inBackground(() -> {
				Patience patience = new Patience(got, new Random(i));
				for (int attempt = 0; attempt < TIMES / instances.size(); attempt++) {
					Runnable cancellation = face.begin(instances.get(i), got);
					patience.pass();
					cancellation.run();
				}
				return "done";
			}))
			.toList();
		workers.forEach((worker) -> assertThat(worker).succeedsWithin(Duration.ofMinutes(1)));
		assertNothingLeft(got, instances);
	}

	/** Return the users; two of these are threads of the same instance. */
	private List<Instance> instances() {
		Instance one = this.fleet.start(Application.class, this.order.properties());
		return List.of(one, one, this.fleet.start(Application.class, this.order.properties()));
	}

	private void assertNothingLeft(Got got, List<Instance> instances) {
		this.fleet.awaitNothingLeft();
		assertThat(got.times).as("attempts that were not given up").hasPositiveValue();
		for (Instance instance : instances) {
			assertThat(instance.tryAcquire(KEY)).hasValueSatisfying(LockLease::release);
			assertThat(instance.semaphores().tryAcquire(SemaphoreRequest.of(KEY, 1)))
				.hasValueSatisfying(Lease::release);
		}
	}

	private static Shop shop(Instance instance) {
		return instance.context().getBean(Shop.class);
	}

	private static ReactiveLockService reactive(Instance instance) {
		return instance.context().getBean(ReactiveLockService.class);
	}

	/** A face that blocks. */
	private interface Blocking {

		void use(Instance instance, Got got) throws InterruptedException;

	}

	/** A face that does not. */
	private interface Later {

		/** Begin an attempt, and return the action to give up. */
		Runnable begin(Instance instance, Got got);

	}

	/**
	 * Time before giving up: about as long as an acquisition takes, so that both outcomes
	 * happen.
	 */
	private static final class Patience {

		private final Got got;

		private final Random random;

		private int before;

		private double nanos = 200_000;

		Patience(Got got, Random random) {
			this.got = got;
			this.random = random;
		}

		void pass() {
			long until = System.nanoTime() + (long) (2 * this.nanos * this.random.nextDouble());
			while (System.nanoTime() - until < 0) {
				Thread.onSpinWait();
			}
			int now = this.got.times.get();
			this.nanos = Math.min(this.nanos * ((now > this.before) ? 0.8 : 1.1), 10_000_000);
			this.before = now;
		}

	}

	/** Counts grants in spite of giving up, and releases these leases. */
	static final class Got {

		private final AtomicInteger times = new AtomicInteger();

		void count() {
			this.times.incrementAndGet();
		}

		/** Release a lease, possibly interrupted. */
		void release(Lease lease) {
			count();
			assertThat(lease.release()).isEqualTo(ReleaseResult.RELEASED);
		}

		void accept(Lease lease) {
			count();
			lease.releaseAsync();
		}

	}

	static class Shop {

		@DistributedLock(name = KEY, waitTime = "1m")
		@Semaphore(name = KEY, limit = 2, waitTime = "1m")
		public void plain(Got got) {
			got.count();
		}

		@DistributedLock(name = KEY, waitTime = "1m")
		@Semaphore(name = KEY, limit = 2, waitTime = "1m")
		public CompletableFuture<Void> future(Got got) {
			got.count();
			return CompletableFuture.completedFuture(null);
		}

		@DistributedLock(name = KEY, waitTime = "1m")
		@Semaphore(name = KEY, limit = 2, waitTime = "1m")
		public Mono<Void> mono(Got got) {
			return Mono.fromRunnable(got::count);
		}

	}

	@Configuration(proxyBeanMethods = false)
	@Import(Shop.class)
	static class Application extends TestApplication {

	}

}
