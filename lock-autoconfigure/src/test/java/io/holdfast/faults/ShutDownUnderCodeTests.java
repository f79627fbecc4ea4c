package io.holdfast.faults;

import java.lang.reflect.Method;
import java.time.Duration;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.function.BiConsumer;

import io.holdfast.Lease;
import io.holdfast.LeaseContext;
import io.holdfast.LeaseLostEvent;
import io.holdfast.LeaseLostException;
import io.holdfast.LockLease;
import io.holdfast.LockMode;
import io.holdfast.LockRequest;
import io.holdfast.LockService;
import io.holdfast.LockView;
import io.holdfast.SemaphoreRequest;
import io.holdfast.SemaphoreService;
import io.holdfast.annotation.DistributedLock;
import io.holdfast.annotation.Semaphore;
import io.holdfast.reactive.ReactiveLeaseContext;
import io.holdfast.reactive.ReactiveLockService;
import io.holdfast.reactive.ReactiveSemaphoreService;
import io.holdfast.testing.TestApplication;
import io.holdfast.testing.TestTransactions;
import org.assertj.core.api.SoftAssertions;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Schedulers;

import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.event.EventListener;
import org.springframework.scheduling.annotation.Async;
import org.springframework.scheduling.annotation.EnableAsync;
import org.springframework.scheduling.annotation.EnableScheduling;
import org.springframework.scheduling.annotation.Scheduled;
import org.springframework.transaction.support.TransactionTemplate;

import static io.holdfast.faults.Fleet.SOON;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * An application shuts down while code runs under leases, for longer than the shut-down
 * waits.
 */
class ShutDownUnderCodeTests extends FaultTestCase {

	private static final String[] SHORT_PHASE = { "spring.lifecycle.timeout-per-shutdown-phase=500ms",
			"spring.task.scheduling.shutdown.await-termination=true",
			"spring.task.scheduling.shutdown.await-termination-period=20s", "holdfast.lock.lease-time=10m",
			"holdfast.semaphore.lease-time=10m" };

	private static LockRequest lock(String key) {
		return LockRequest.of(key).waitTime(Duration.ZERO);
	}

	private static SemaphoreRequest permit(String key) {
		return SemaphoreRequest.of(key, 1);
	}

	private static boolean isFree(Instance instance, Kind kind) {
		if (kind.semaphore) {
			return instance.semaphores().tryAcquire(permit(kind.name())).map(ShutDownUnderCodeTests::give).isPresent();
		}
		return instance.locks().tryAcquire(lock(kind.name())).map(ShutDownUnderCodeTests::give).isPresent();
	}

	private static Lease give(Lease lease) {
		lease.close();
		return lease;
	}

	private static boolean isTold(Work work) {
		try {
			work.lease().ensureHeld();
			return false;
		}
		catch (LeaseLostException ex) {
			return !work.lease().isHeld() && work.lost.getCount() == 0;
		}
	}

	@Test
	@DisplayName("No other instance gets the leases of running code, in any kind of execution, and the code is"
			+ " notified of the loss")
	void runningCode() {
		Instance instance = this.fleet.start(Application.class, SHORT_PHASE);
		Instance other = this.fleet.start();
		this.fleet.awaitListening(2);
		Code code = instance.context().getBean(Code.class);
		Losses losses = instance.context().getBean(Losses.class);
		Map<Kind, Work> works = new EnumMap<>(Kind.class);
		for (Kind kind : Kind.values()) {
			Work work = new Work(kind.name());
			works.put(kind, work);
			kind.start.accept(code, work);
			assertThat(work.begun).as("%s", kind).succeedsWithin(SOON);
		}
		instance.acquire("in no code");
		LockView view = instance.locks().asLock("by a view");
		view.lock();
		try (LogLines lines = new LogLines()) {
			CompletableFuture<Boolean> closing = closeInBackground(instance);
			// By then all releases of the shut-down are answered.
			this.fleet.awaitListening(1);
			assertThat(this.fleet.isLocked("in no code")).isFalse();
			assertThat(this.fleet.isLocked("by a view")).isFalse();
			assertNoneIsFree(works, other);
			works.forEach((kind, work) -> await(kind + " is notified of the loss").atMost(SOON)
				.until(() -> isTold(work) && losses.keys.contains(kind.name())));
			works.values().forEach((work) -> work.end.countDown());
			assertThat(closing).succeedsWithin(SOON);
			assertNoneIsFree(works, other);
			assertThat(lines.aboveDebug()).noneMatch((line) -> line.contains("not released at once"))
				.noneMatch((line) -> line.contains("repeated in the background"))
				.anyMatch((line) -> line
					.matches("WARN The lease of lock 'WITH_LOCK' \\(fencing token \\d+\\) was lost after \\d+ ms: "
							+ "this instance shut down before the code under it had ended. "
							+ "Others are kept out for \\d+ ms from now"));
		}
		works.forEach((kind, work) -> release(other, kind));
		other.locks().admin().forceRelease("another");
		this.fleet.awaitNothingLeft();
	}

	@Test
	@DisplayName("Code that closes its own context is not waited for, and keeps its lock in Redis")
	void closedByCode() {
		Instance instance = this.fleet.start("spring.lifecycle.timeout-per-shutdown-phase=10m");
		assertThat(Instance.inBackground(() -> {
			instance.locks().withLock("own", () -> instance.semaphores().withPermits(permit("own"), instance::close));
			return this.fleet.isLocked("own");
		})).succeedsWithin(SOON).isEqualTo(true);
	}

	private static CompletableFuture<Boolean> closeInBackground(Instance instance) {
		return Instance.inBackground(() -> {
			instance.close();
			return true;
		});
	}

	private static void assertNoneIsFree(Map<Kind, Work> works, Instance other) {
		SoftAssertions.assertSoftly((softly) -> works.forEach((kind, work) -> softly.assertThat(isFree(other, kind))
			.as("%s is granted to another instance", kind)
			.isFalse()));
	}

	private static void release(Instance other, Kind kind) {
		boolean released = kind.semaphore ? other.semaphores().admin().forceRelease(kind.name())
				: other.locks().admin().forceRelease(kind.name());
		assertThat(released).as("%s was stored", kind).isTrue();
	}

	/** Kinds of code that may run under a lease at the end of the patience. */
	private enum Kind {

		ANNOTATED(false, (code, work) -> inThread(() -> code.annotated.run(work))),

		VIRTUAL_THREAD(false, (code, work) -> inVirtualThread(() -> code.annotated.run(work))),

		ASYNC(false, (code, work) -> code.annotated.async(work)),

		SCHEDULED(false, (code, work) -> code.annotated.schedule(work)),

		FUTURE(false, (code, work) -> code.annotated.future(work)),

		MONO(false, (code, work) -> subscribe(code.annotated.mono(work))),

		ANNOTATED_PERMIT(true, (code, work) -> inThread(() -> code.annotated.permit(work))),

		ANNOTATED_TRANSACTION(false, (code, work) -> inThread(
				() -> new TransactionTemplate(new TestTransactions()).executeWithoutResult((status) -> {
					code.annotated.brief(work);
					work.await();
				}))),

		WITH_LOCK(false, (code, work) -> inThread(() -> code.locks.withLock(work.key(), work::run))),

		TRY_WITH_LOCK(false, (code, work) -> inThread(() -> code.locks.tryWithLock(work.key(), work::run))),

		READ(false,
				(code, work) -> inThread(
						() -> code.locks.withLock(LockRequest.of(work.key()).mode(LockMode.READ), work::run))),

		SEVERAL_KEYS(false,
				(code, work) -> inThread(
						() -> code.locks.withLock(LockRequest.ofAll(List.of(work.key(), "another")), work::run))),

		MIN_HOLD(false, (code, work) -> inThread(
				() -> code.locks.withLock(LockRequest.of(work.key()).minHold(Duration.ofMillis(1500)), work::run))),

		WITHOUT_RENEWAL(false,
				(code, work) -> inThread(
						() -> code.locks.withLock(LockRequest.of(work.key()).autoRenew(false), work::run))),

		ACQUIRED_FOR_CODE(false, (code, work) -> inThread(() -> {
			try (LockLease lease = code.locks.acquire(LockRequest.of(work.key()).forCode())) {
				work.beginUnder(lease);
				work.await();
			}
		})),

		/** The lease of the code is nested in a lease without code. */
		WITHIN(false, (code, work) -> inThread(() -> {
			LockLease outer = code.locks.acquire(work.key());
			code.locks.withLock(work.key(), work::run);
			outer.close();
		})),

		/** A lease that is acquired in the code belongs to the same hold. */
		NESTED(false, (code, work) -> inThread(() -> code.locks.withLock(work.key(), () -> {
			LockLease nested = code.locks.acquire(work.key());
			work.run();
			nested.close();
		}))),

		TRANSACTION(false, (code, work) -> inThread(
				() -> new TransactionTemplate(new TestTransactions()).executeWithoutResult((status) -> {
					code.locks.withLock(work.key(), work::begin);
					work.await();
				}))),

		WITH_LOCK_ASYNC(false, (code, work) -> code.locks.withLockAsync(work.key(), work::later)),

		TRY_WITH_LOCK_ASYNC(false, (code, work) -> code.locks.tryWithLockAsync(lock(work.key()), work::later)),

		WITH_LOCK_REACTIVE(false, (code, work) -> subscribe(code.reactiveLocks.withLock(work.key(), work.mono()))),

		WITH_PERMITS(true, (code, work) -> inThread(() -> code.semaphores.withPermits(permit(work.key()), work::run))),

		TRY_WITH_PERMITS(true,
				(code, work) -> inThread(() -> code.semaphores.tryWithPermits(permit(work.key()), work::run))),

		WITH_PERMITS_ASYNC(true, (code, work) -> code.semaphores.withPermitsAsync(permit(work.key()), work::later)),

		TRY_WITH_PERMITS_ASYNC(true,
				(code, work) -> code.semaphores.tryWithPermitsAsync(permit(work.key()), work::later)),

		WITH_PERMITS_REACTIVE(true,
				(code, work) -> subscribe(code.reactiveSemaphores.withPermits(permit(work.key()), work.mono())));

		private final boolean semaphore;

		private final BiConsumer<Code, Work> start;

		Kind(boolean semaphore, BiConsumer<Code, Work> start) {
			this.semaphore = semaphore;
			this.start = start;
		}

		private static void subscribe(Mono<?> chain) {
			chain.subscribe((value) -> {
			}, (lost) -> {
			});
		}

		private static void inThread(Runnable code) {
			Thread thread = new Thread(code, "test-code");
			thread.setDaemon(true);
			thread.start();
		}

		/** On a JVM without virtual threads, on another thread. */
		private static void inVirtualThread(Runnable code) {
			try {
				Method start = Thread.class.getMethod("startVirtualThread", Runnable.class);
				start.invoke(null, code);
			}
			catch (ReflectiveOperationException ex) {
				inThread(code);
			}
		}

	}

	/** Code of a kind: it begins, and runs until its end is requested. */
	static final class Work {

		private final String key;

		private final CompletableFuture<Lease> begun = new CompletableFuture<>();

		private final CountDownLatch lost = new CountDownLatch(1);

		private final CountDownLatch end = new CountDownLatch(1);

		Work(String key) {
			this.key = key;
		}

		public String key() {
			return this.key;
		}

		private Lease lease() {
			return this.begun.join();
		}

		void run() {
			begin();
			await();
		}

		void begin() {
			beginUnder(LeaseContext.current().lease());
		}

		private void beginUnder(Lease lease) {
			lease.onLost(this.lost::countDown);
			this.begun.complete(lease);
		}

		/** Ignores interrupts, since executors interrupt at their end. */
		void await() {
			boolean ended = false;
			while (!ended) {
				try {
					ended = this.end.await(1, TimeUnit.MINUTES);
				}
				catch (InterruptedException ex) {
					// Code may go on after an interrupt.
				}
			}
		}

		CompletableFuture<@Nullable Void> later() {
			begin();
			Executor executor = (task) -> Kind.inThread(task);
			return CompletableFuture.runAsync(this::await, executor);
		}

		/** Heeds no cancellation. */
		Mono<Boolean> mono() {
			return ReactiveLeaseContext.current()
				.doOnNext((context) -> beginUnder(context.lease()))
				.then(Mono.fromCallable(() -> {
					await();
					return true;
				}).subscribeOn(Schedulers.boundedElastic()));
		}

	}

	@Configuration(proxyBeanMethods = false)
	@EnableAsync
	@EnableScheduling
	static class Application extends TestApplication {

		@Bean
		Annotated annotated() {
			return new Annotated();
		}

		@Bean
		Code code(Annotated annotated, LockService locks, SemaphoreService semaphores,
				ReactiveLockService reactiveLocks, ReactiveSemaphoreService reactiveSemaphores) {
			return new Code(annotated, locks, semaphores, reactiveLocks, reactiveSemaphores);
		}

		@Bean
		Losses losses() {
			return new Losses();
		}

	}

	static class Losses {

		private final List<String> keys = new CopyOnWriteArrayList<>();

		@EventListener
		void lost(LeaseLostEvent event) {
			this.keys.add(event.key());
		}

	}

	/** The services of an application, and its annotated methods. */
	record Code(Annotated annotated, LockService locks, SemaphoreService semaphores, ReactiveLockService reactiveLocks,
			ReactiveSemaphoreService reactiveSemaphores) {
	}

	static class Annotated {

		private final CompletableFuture<Work> scheduled = new CompletableFuture<>();

		public void schedule(Work work) {
			this.scheduled.complete(work);
		}

		@DistributedLock(key = "#work.key()")
		public void run(Work work) {
			work.run();
		}

		@DistributedLock(key = "#work.key()")
		public void brief(Work work) {
			work.begin();
		}

		@Async
		@DistributedLock(key = "#work.key()")
		public void async(Work work) {
			work.run();
		}

		@Scheduled(fixedDelay = 1, timeUnit = TimeUnit.DAYS)
		@DistributedLock(key = "'SCHEDULED'")
		public void scheduled() {
			this.scheduled.join().run();
		}

		@DistributedLock(key = "#work.key()")
		public CompletableFuture<@Nullable Void> future(Work work) {
			return work.later();
		}

		@DistributedLock(key = "#work.key()")
		public Mono<Boolean> mono(Work work) {
			return work.mono();
		}

		@Semaphore(key = "#work.key()", limit = 1)
		public void permit(Work work) {
			work.run();
		}

	}

}
