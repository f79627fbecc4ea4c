package io.holdfast.async;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import java.util.function.Supplier;

import io.holdfast.LockLease;
import io.holdfast.LockMode;
import io.holdfast.LockRequest;
import io.holdfast.LockService;
import io.holdfast.SemaphoreRequest;
import io.holdfast.SemaphoreService;
import io.holdfast.annotation.DistributedLock;
import io.holdfast.annotation.OnLoss;
import io.holdfast.annotation.OnTimeout;
import io.holdfast.annotation.Semaphore;
import io.holdfast.testing.TestApplication;
import io.holdfast.testing.TestRedis;
import io.holdfast.testing.TestTransactions;
import io.holdfast.testing.WithRedis;
import org.awaitility.core.ConditionFactory;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.mockito.ArgumentMatchers;
import org.mockito.BDDMockito;
import org.mockito.Mockito;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Schedulers;
import reactor.test.StepVerifier;

import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.scheduling.annotation.Async;
import org.springframework.scheduling.annotation.EnableAsync;
import org.springframework.transaction.support.TransactionTemplate;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Futures whose caller gives up during the work, in two instances of an application with
 * a common Redis.
 */
@WithRedis
class GoneCallerTests {

	private static final Duration SOON = Duration.ofSeconds(10);

	private static ConfigurableApplicationContext first;

	private static ConfigurableApplicationContext second;

	@BeforeAll
	static void start(TestRedis redis) {
		first = TestApplication.start(redis, Application.class);
		second = TestApplication.start(redis, Application.class);
	}

	private static LockService locks(ConfigurableApplicationContext instance) {
		return instance.getBean(LockService.class);
	}

	private static SemaphoreService semaphores(ConfigurableApplicationContext instance) {
		return instance.getBean(SemaphoreService.class);
	}

	private static Shop shop(ConfigurableApplicationContext instance) {
		return instance.getBean(Shop.class);
	}

	private static ConditionFactory soon() {
		return await().atMost(SOON).pollDelay(Duration.ZERO).pollInterval(Duration.ofMillis(2));
	}

	/** Return whether the other instance can acquire the lock, or the permit, now. */
	private static boolean isFree(String key) {
		// A release that this instance has begun is complete before the try.
		locks(first).status(key);
		semaphores(first).status(key);
		return locks(second).tryWithLock(key, () -> {
		}) && semaphores(second).tryWithPermits(SemaphoreRequest.of(key, 1), () -> {
		});
	}

	@Test
	@DisplayName("A caller that cancels between the grant and the code leaves no lease, and the code never runs")
	void cancelledAfterGrant() {
		List<Runnable> calls = new ArrayList<>();
		LockService granting = Mockito.mock(Mockito.CALLS_REAL_METHODS);
		BDDMockito.given(granting.acquireAsync(ArgumentMatchers.<LockRequest>any())).willAnswer((call) -> {
			CompletableFuture<LockLease> grant = new EngineFuture<>(calls::add);
			grant.complete(locks(first).acquire(call.<LockRequest>getArgument(0)));
			return grant;
		});
		Work work = new Work();
		CompletableFuture<?> caller = granting.withLockAsync("cancelled", work::begin);
		assertThat(isFree("cancelled")).isFalse();
		caller.cancel(true);
		calls.forEach(Runnable::run);
		soon().until(() -> isFree("cancelled"));
		assertThat(work.begun.getCount()).isOne();
	}

	@ParameterizedTest
	@EnumSource
	@DisplayName("A caller that cancels, completes or times out ends at once; the work goes on, and the next caller follows it")
	void heldUntilTheWorkHasEnded(Face face) {
		for (Way way : Way.values()) {
			String key = face + " " + way;
			Work work = new Work();
			CompletableFuture<?> caller = face.call(first, key, work::begin);
			work.awaitBegun();
			way.leave.accept(caller);
			soon().until(caller::isDone);
			assertThat(isFree(key)).as(key).isFalse();
			Work next = new Work();
			CompletableFuture<?> after = face.call(second, key, () -> {
				next.alone = work.stage.isDone();
				return next.begin();
			});
			assertThat(work.stage).as(key).isNotDone();
			work.end();
			assertThat(work.stage).as(key).succeedsWithin(SOON).isEqualTo("done");
			next.awaitBegun();
			assertThat(next.alone).as(key).isTrue();
			next.end();
			assertThat(after).as(key).succeedsWithin(SOON);
			soon().until(() -> isFree(key));
		}
	}

	@Test
	@DisplayName("A future that a method gives to several callers is not cancelled by a single caller")
	void sharedFuture() {
		Work work = new Work();
		CompletableFuture<String> cached = work.begin();
		CompletableFuture<String> impatient = shop(first).reading("shared", () -> cached);
		CompletableFuture<String> patient = shop(second).reading("shared", () -> cached);
		CompletableFuture<String> ofService = locks(second).withLockAsync("another", () -> cached);
		soon().until(() -> locks(second).status("shared").readers() == 2);
		impatient.cancel(true);
		ofService.orTimeout(1, TimeUnit.MILLISECONDS);
		soon().until(ofService::isDone);
		work.end();
		assertThat(patient).succeedsWithin(SOON).isEqualTo("done");
		assertThat(shop(second).reading("shared", () -> cached)).succeedsWithin(SOON).isEqualTo("done");
	}

	@Test
	@DisplayName("The future of a fallback is not cancelled by its caller either")
	void fallback() {
		Work fallback = new Work();
		locks(second).withLock("busy", () -> {
			CompletableFuture<String> caller = shop(first).falling(fallback::begin);
			fallback.awaitBegun();
			caller.cancel(true);
		});
		fallback.end();
		assertThat(fallback.stage).succeedsWithin(SOON).isEqualTo("done");
	}

	@Test
	@DisplayName("INTERRUPT cancels the work at the loss of the lock, also after its caller has gone")
	void lostAfterwards() {
		CompletableFuture<String> work = new CompletableFuture<>();
		CompletableFuture<String> caller = shop(first).interrupted(work);
		soon().until(() -> work.getNumberOfDependents() == 1);
		caller.cancel(true);
		assertThat(work).isNotDone();
		assertThat(locks(second).admin().forceRelease("interrupted")).isTrue();
		soon().until(work::isCancelled);
		soon().until(() -> isFree("interrupted"));
	}

	@Test
	@DisplayName("In the caller's transaction, abandoned work keeps the lock until work and transaction have ended")
	void transaction() {
		TransactionTemplate transaction = new TransactionTemplate(new TestTransactions());
		for (Face face : List.of(Face.METHOD, Face.SERVICE)) {
			String key = face + " in a transaction";
			Work longer = new Work();
			transaction.executeWithoutResult((status) -> {
				CompletableFuture<?> caller = face.call(first, key, longer::begin);
				longer.awaitBegun();
				caller.cancel(true);
				status.setRollbackOnly();
			});
			assertThat(isFree(key)).isFalse();
			longer.end();
			soon().until(() -> isFree(key));
			Work shorter = new Work();
			transaction.executeWithoutResult((status) -> {
				CompletableFuture<?> caller = face.call(first, key, shorter::begin);
				shorter.awaitBegun();
				caller.cancel(true);
				shorter.end();
				assertThat(shorter.stage).succeedsWithin(SOON);
				assertThat(isFree(key)).isFalse();
			});
			soon().until(() -> isFree(key));
		}
	}

	@Test
	@DisplayName("The cancellation of a chain releases its lease at once, which is visible to work that goes on")
	void cancelledChain() {
		Work work = new Work();
		AtomicReference<LockLease> lease = new AtomicReference<>();
		Mono<String> chain = shop(first).chain("chain", () -> {
			lease.set(LockLease.current());
			return work.begin();
		});
		StepVerifier.create(chain.timeout(Duration.ofMillis(500))).expectError(TimeoutException.class).verify(SOON);
		soon().until(() -> isFree("chain"));
		assertThat(work.stage).isNotDone();
		assertThat(lease.get().isHeld()).isFalse();
		work.end();
	}

	@ParameterizedTest
	@EnumSource(Hostility.class)
	@DisplayName("A stage that throws on registration, or completes twice, frees the lock and fails its caller")
	void hostileStage(Hostility hostility) {
		String key = "hostile " + hostility;
		CompletionStage<String> stage = new HostileStage(hostility);
		List<CompletableFuture<?>> callers = List.of(shop(first).given(key, stage).toCompletableFuture(),
				shop(first).asyncGiven(key, stage).toCompletableFuture(),
				locks(first).withLockAsync(LockRequest.of(key).waitTime(SOON), () -> stage),
				semaphores(first).withPermitsAsync(SemaphoreRequest.of(key, 1).waitTime(SOON), () -> stage));
		callers.forEach((caller) -> soon().until(caller::isDone));
		if (hostility != Hostility.TOLD_TWICE) {
			assertThat(callers).allSatisfy((caller) -> assertThat(caller).failsWithin(SOON)
				.withThrowableThat()
				.withStackTraceContaining("Hostile"));
		}
		soon().until(() -> isFree(key));
	}

	@ParameterizedTest
	@EnumSource(mode = EnumSource.Mode.EXCLUDE, names = "ASYNC")
	@DisplayName("A caller that gives up its wait leaves the queue, and its work never begins")
	void givenUpWhileWaiting(Face face) {
		String key = "waited for by " + face;
		Work holder = new Work();
		CompletableFuture<?> held = face.call(second, key, holder::begin);
		holder.awaitBegun();
		Work never = new Work();
		CompletableFuture<?> waiting = face.call(first, key, never::begin);
		soon().until(() -> locks(second).status(key).waiting() + semaphores(second).status(key).waiting() > 0);
		waiting.cancel(true);
		soon().until(() -> locks(second).status(key).waiting() + semaphores(second).status(key).waiting() == 0);
		holder.end();
		assertThat(held).succeedsWithin(SOON);
		soon().until(() -> isFree(key));
		assertThat(never.begun.getCount()).isEqualTo(1);
	}

	/** Work on its own thread, ended by the test. */
	static class Work {

		final CountDownLatch begun = new CountDownLatch(1);

		private final CountDownLatch end = new CountDownLatch(1);

		volatile boolean alone;

		volatile CompletableFuture<String> stage = new CompletableFuture<>();

		CompletableFuture<String> begin() {
			this.stage = CompletableFuture.supplyAsync(() -> {
				this.begun.countDown();
				try {
					return this.end.await(30, TimeUnit.SECONDS) ? "done" : "timed out";
				}
				catch (InterruptedException ex) {
					return "interrupted";
				}
			}, (task) -> new Thread(task, "work").start());
			return this.stage;
		}

		void awaitBegun() {
			soon().until(() -> this.begun.getCount() == 0);
		}

		void end() {
			this.end.countDown();
		}

	}

	/** Kinds of misbehaviour of a stage. */
	enum Hostility {

		THROWS, THROWS_ERROR, TELLS_AND_THROWS, TOLD_TWICE

	}

	/** Stage that violates its contract. */
	static class HostileStage extends CompletableFuture<String> {

		private final Hostility hostility;

		HostileStage(Hostility hostility) {
			this.hostility = hostility;
		}

		@Override
		public CompletableFuture<String> whenComplete(BiConsumer<? super String, ? super Throwable> action) {
			return switch (this.hostility) {
				case THROWS -> throw new IllegalStateException("Hostile");
				case THROWS_ERROR -> throw new AssertionError("Hostile");
				case TELLS_AND_THROWS -> {
					action.accept(null, new IllegalStateException("Hostile"));
					throw new IllegalStateException("Hostile");
				}
				case TOLD_TWICE -> {
					action.accept("first", null);
					action.accept("second", null);
					yield this;
				}
			};
		}

		@Override
		public CompletableFuture<String> toCompletableFuture() {
			throw new AssertionError("Hostile");
		}

	}

	/** Ways in which a caller gives up. */
	enum Way {

		CANCEL((caller) -> caller.cancel(true)),

		COMPLETE((caller) -> caller.complete(null)),

		FAIL((caller) -> caller.completeExceptionally(new IllegalStateException("Given up"))),

		TIME_OUT((caller) -> caller.orTimeout(1, TimeUnit.MILLISECONDS)),

		DEFAULT_ON_TIME_OUT((caller) -> caller.completeOnTimeout(null, 1, TimeUnit.MILLISECONDS));

		final Consumer<CompletableFuture<?>> leave;

		Way(Consumer<CompletableFuture<?>> leave) {
			this.leave = leave;
		}

	}

	/** APIs for work under a lock, or with a permit. */
	enum Face {

		METHOD((instance, key, work) -> shop(instance).alone(key, work)),

		STAGE((instance, key, work) -> shop(instance).stage(key, work).toCompletableFuture()),

		PERMIT((instance, key, work) -> shop(instance).permitted(key, work)),

		PERMIT_AND_LOCK((instance, key, work) -> shop(instance).both(key, work)),

		NESTED((instance, key, work) -> shop(instance).alone(key, () -> shop(instance).alone(key, work))),

		SEVERAL_KEYS((instance, key, work) -> shop(instance).several(List.of(key, key + ", more"), work)),

		ASYNC((instance, key, work) -> shop(instance).async(key, work)),

		MONO_OF_METHOD((instance, key, work) -> Mono.fromFuture(() -> shop(instance).alone(key, work)).toFuture()),

		CHAIN_AS_FUTURE((instance, key, work) -> shop(instance).alone(key,
				() -> Mono.fromCallable(() -> work.get().join()).subscribeOn(Schedulers.boundedElastic()).toFuture())),

		MONO_OF_SERVICE((instance, key, work) -> Mono.fromFuture(() -> locks(instance).withLockAsync(lock(key), work))
			.toFuture()),

		SERVICE((instance, key, work) -> locks(instance).withLockAsync(lock(key), work)),

		SERVICE_IF_ACQUIRED((instance, key, work) -> locks(instance).tryWithLockAsync(lock(key), work)),

		PERMITS_OF_SERVICE((instance, key, work) -> semaphores(instance).withPermitsAsync(permit(key), work)),

		PERMITS_OF_SERVICE_IF_ACQUIRED(
				(instance, key, work) -> semaphores(instance).tryWithPermitsAsync(permit(key), work));

		private final Call call;

		Face(Call call) {
			this.call = call;
		}

		CompletableFuture<?> call(ConfigurableApplicationContext instance, String key, Body work) {
			return this.call.begin(instance, key, work);
		}

		private static LockRequest lock(String key) {
			return LockRequest.of(key).waitTime(SOON);
		}

		private static SemaphoreRequest permit(String key) {
			return SemaphoreRequest.of(key, 1).waitTime(SOON);
		}

	}

	interface Call {

		CompletableFuture<?> begin(ConfigurableApplicationContext instance, String key, Body work);

	}

	/** Starts work. */
	interface Body extends Supplier<CompletableFuture<String>> {

	}

	static class Shop {

		@DistributedLock(key = "#key", waitTime = "10s")
		public CompletableFuture<String> alone(String key, Body work) {
			return work.get();
		}

		@DistributedLock(key = "#key", waitTime = "10s", mode = LockMode.READ)
		public CompletableFuture<String> reading(String key, Body work) {
			return work.get();
		}

		@DistributedLock(key = "#key", waitTime = "10s")
		public CompletionStage<String> stage(String key, Body work) {
			return work.get().minimalCompletionStage();
		}

		@DistributedLock(key = "#key", waitTime = "10s")
		public CompletionStage<String> given(String key, CompletionStage<String> stage) {
			return stage;
		}

		@Async
		@DistributedLock(key = "#key", waitTime = "10s")
		public CompletableFuture<String> asyncGiven(String key, CompletionStage<String> stage) {
			return (CompletableFuture<String>) stage;
		}

		@DistributedLock(key = "#key", waitTime = "10s")
		public Mono<String> chain(String key, Body work) {
			return Mono.fromFuture(work.get(), true);
		}

		@Semaphore(key = "#key", limit = 1, waitTime = "10s")
		public CompletableFuture<String> permitted(String key, Body work) {
			return work.get();
		}

		@Semaphore(key = "#key", limit = 1, waitTime = "10s")
		@DistributedLock(key = "#key", waitTime = "10s", minHold = "1ms")
		public CompletableFuture<String> both(String key, Body work) {
			return work.get();
		}

		@DistributedLock(key = "#keys", waitTime = "10s")
		public CompletableFuture<String> several(List<String> keys, Body work) {
			return work.get();
		}

		@Async
		@DistributedLock(key = "#key", waitTime = "10s")
		public CompletableFuture<String> async(String key, Body work) {
			return work.get();
		}

		@DistributedLock(name = "busy", waitTime = "0", fallback = "instead", onTimeout = OnTimeout.THROW)
		public CompletableFuture<String> falling(Body work) {
			throw new IllegalStateException("Not to be run");
		}

		@SuppressWarnings("unused")
		private CompletableFuture<String> instead(Body work) {
			return work.get();
		}

		@DistributedLock(name = "interrupted", leaseTime = "1s", onLoss = OnLoss.INTERRUPT)
		public CompletableFuture<String> interrupted(CompletableFuture<String> work) {
			return work;
		}

	}

	@Configuration(proxyBeanMethods = false)
	@EnableAsync
	@Import(Shop.class)
	static class Application extends TestApplication {

	}

}
