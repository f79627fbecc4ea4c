package io.holdfast.aop;

import java.io.IOException;
import java.time.Duration;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutionException;

import io.holdfast.LeaseContext;
import io.holdfast.LockLease;
import io.holdfast.LockNotAcquiredException;
import io.holdfast.PermitLease;
import io.holdfast.PermitNotAcquiredException;
import io.holdfast.annotation.DistributedLock;
import io.holdfast.annotation.Semaphore;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.mockito.AdditionalAnswers;
import org.mockito.BDDMockito;
import org.mockito.Mockito;

import org.springframework.scheduling.annotation.Async;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.InstanceOfAssertFactories.throwable;
import static org.awaitility.Awaitility.await;

/**
 * Annotated methods that return a stage.
 */
class CompletionStageInvocationTests {

	private static final Duration SOON = Duration.ofSeconds(10);

	@AutoClose
	private LockedContext context;

	private RecordingLocks locks;

	private Work work;

	private Shop shop;

	@BeforeEach
	void start() {
		this.context = LockedContext.of(AdviceOrderTests.Asynchronous.class, Work.class, Shop.class, AsyncShop.class);
		this.locks = this.context.locks();
		this.work = this.context.bean(Work.class);
		this.shop = this.context.bean(Shop.class);
	}

	private void awaitEvents(String... events) {
		await().atMost(SOON).untilAsserted(() -> assertThat(this.locks.events()).containsExactly(events));
	}

	@Test
	@DisplayName("Permit and lock are kept until the stage completes; the result reaches the caller after their release")
	void keptUntilCompletion() {
		CompletableFuture<String> result = this.shop.sell("a");
		awaitEvents("permit", "lock", "body");
		assertThat(result).isNotDone();
		result.whenComplete((value, failure) -> this.locks.record("result"));
		this.work.future.complete("sold");
		assertThat(result).succeedsWithin(SOON).isEqualTo("sold");
		awaitEvents("permit", "lock", "body", "unlock", "return", "result");
		assertThat(this.locks.keys()).containsExactly("stock:a");
	}

	@Test
	@DisplayName("The caller never waits; the method runs on another thread, also after an immediate grant")
	void neverOnTheCallersThread() {
		this.locks.waiting();
		assertThat(this.shop.sell("a")).isNotDone();
		await().atMost(SOON).until(() -> !this.locks.asyncRequests().isEmpty());
		this.locks.immediate();
		this.context.semaphores().immediate();
		this.locks.waiting().complete(null);
		CompletableFuture<String> result = this.shop.sell("b");
		this.work.future.complete("sold");
		assertThat(result).succeedsWithin(SOON);
		assertThat(this.work.thread).isNotNull().isNotSameAs(Thread.currentThread());
		assertThat(this.work.thread.isDaemon()).isTrue();
	}

	@Test
	@DisplayName("The method runs under its leases, which end with it on that thread")
	void leaseContext() {
		this.work.future.complete("sold");
		RecordingLease outer = new RecordingLease("outer");
		LeaseContext.Scope scope = LeaseContext.empty().with(outer).open();
		try {
			assertThat(this.shop.sell("a")).succeedsWithin(SOON);
		}
		finally {
			scope.close();
		}
		assertThat(this.work.context.leases()).hasSize(3);
		assertThat(this.work.context.leases().get(0)).isInstanceOf(LockLease.class);
		assertThat(this.work.context.leases().get(1)).isInstanceOf(PermitLease.class);
		assertThat(this.work.context.leases().get(2)).isSameAs(outer);
		assertThat(this.locks.lastRequest().context()).isNotNull()
			.satisfies((context) -> assertThat(context.leases()).isEqualTo(this.work.context.leases().subList(1, 3)));
		CompletableFuture<LeaseContext> after = new CompletableFuture<>();
		this.shop.sell("a").whenComplete((value, failure) -> after.complete(LeaseContext.current()));
		assertThat(after).succeedsWithin(SOON).isSameAs(LeaseContext.empty());
	}

	@Test
	@DisplayName("A failed stage, an exception and a null stage release all leases before the caller's future fails")
	void failures() throws IOException {
		this.work.future.completeExceptionally(new IOException("failed later"));
		assertThat(this.shop.sell("a")).failsWithin(SOON)
			.withThrowableOfType(ExecutionException.class)
			.havingCause()
			.isExactlyInstanceOf(IOException.class)
			.withMessage("failed later");
		assertThat(this.shop.fail()).failsWithin(SOON)
			.withThrowableThat()
			.havingCause()
			.isExactlyInstanceOf(IOException.class)
			.withMessage("from the method");
		assertThat(this.shop.nothing()).failsWithin(SOON)
			.withThrowableThat()
			.havingCause()
			.isInstanceOf(IllegalStateException.class)
			.withMessageContaining("Shop.nothing() returned null");
		assertThat(this.locks.events()).containsExactly("permit", "lock", "body", "unlock", "return", "lock", "unlock",
				"lock", "unlock");
	}

	@Test
	@DisplayName("A call without a key fails through its future and acquires nothing")
	void noKey() {
		assertThat(this.shop.sell(null)).isCompletedExceptionally()
			.failsWithin(Duration.ZERO)
			.withThrowableThat()
			.havingCause()
			.isInstanceOf(IllegalArgumentException.class);
		assertThat(this.locks.events()).isEmpty();
		assertThat(this.locks.requests()).isEmpty();
	}

	@Test
	@DisplayName("Without the lock the method does not run, the permit is returned, and the caller's future fails")
	void notAcquired() {
		this.locks.busy();
		CompletableFuture<String> result = this.shop.sell("a");
		assertThat(result).failsWithin(SOON)
			.withThrowableThat()
			.havingCause()
			.isInstanceOf(LockNotAcquiredException.class);
		assertThat(this.locks.events()).containsExactly("permit", "return");
		this.context.semaphores().busy();
		assertThat(this.shop.sell("a")).failsWithin(SOON)
			.withThrowableThat()
			.havingCause()
			.isInstanceOf(PermitNotAcquiredException.class);
		assertThat(this.locks.events()).containsExactly("permit", "return");
	}

	@Test
	@DisplayName("Cancellation during the wait for the lock ends the wait, returns the permit, and the method never runs")
	void cancelledWait() {
		this.locks.waiting();
		CompletableFuture<String> result = this.shop.sell("a");
		await().atMost(SOON).until(() -> !this.locks.asyncRequests().isEmpty());
		result.cancel(true);
		assertThat(this.locks.asyncRequests().get(0)).isCancelled();
		awaitEvents("permit", "return");
	}

	@Test
	@DisplayName("Cancellation during the wait for the permit requests no lock")
	void cancelledFirstWait() {
		CompletableFuture<?> turn = this.context.semaphores().waiting();
		CompletableFuture<String> result = this.shop.sell("a");
		result.cancel(true);
		assertThat(this.context.semaphores().asyncRequests().get(0)).isCancelled();
		turn.complete(null);
		assertThat(this.locks.events()).isEmpty();
		assertThat(this.locks.asyncRequests()).isEmpty();
	}

	@Test
	@DisplayName("Cancellation or completion by the caller during the method's work neither cancels the work nor releases a lease")
	void cancelledCall() {
		CompletableFuture<String> cancelled = this.shop.sell("a");
		awaitEvents("permit", "lock", "body");
		cancelled.cancel(true);
		assertThat(this.locks.events()).containsExactly("permit", "lock", "body");
		assertThat(this.work.future.complete("late")).isTrue();
		awaitEvents("permit", "lock", "body", "unlock", "return");
		assertThat(cancelled).isCancelled();
		this.work.future = new CompletableFuture<>();
		CompletableFuture<String> completed = this.shop.sell("a");
		await().atMost(SOON).until(() -> this.locks.events().size() == 8);
		completed.complete("enough");
		assertThat(this.locks.events()).hasSize(8);
		assertThat(this.work.future.complete("late")).isTrue();
		await().atMost(SOON).until(() -> this.locks.events().size() == 10);
		assertThat(completed).isCompletedWithValue("enough");
	}

	@Test
	@DisplayName("A stage that is no future keeps its lock until it completes")
	void minimalStage() {
		CompletableFuture<String> result = this.shop.minimal().toCompletableFuture();
		awaitEvents("lock", "body");
		result.cancel(true);
		assertThat(this.locks.events()).containsExactly("lock", "body");
		this.work.future.complete("late");
		awaitEvents("lock", "body", "unlock");
	}

	@Test
	@DisplayName("A stage without toCompletableFuture() keeps its lock until it completes, too")
	void noFuture() {
		// The first mock takes long on a busy machine: too long for the time limits
		// below.
		Mockito.mock(CompletionStage.class);
		CompletableFuture<String> result = this.shop.strange().toCompletableFuture();
		awaitEvents("lock", "body");
		this.work.future.complete("sold");
		assertThat(result).succeedsWithin(SOON).isEqualTo("sold");
		awaitEvents("lock", "body", "unlock");
	}

	@Test
	@DisplayName("Cancellation by the caller while the method still runs does not cancel the method's future")
	void cancelledBody() {
		CompletableFuture<Void> leave = new CompletableFuture<>();
		CompletableFuture<String> result = this.shop.slow(leave);
		awaitEvents("lock", "body");
		result.cancel(true);
		assertThat(this.locks.events()).containsExactly("lock", "body");
		leave.complete(null);
		assertThat(this.work.future.complete("late")).isTrue();
		awaitEvents("lock", "body", "unlock");
		assertThat(result).isCancelled();
	}

	@Test
	@DisplayName("A method's future that other code cancels counts as a failure")
	void cancelledInside() {
		this.work.future.cancel(true);
		assertThat(this.shop.sell("a").handle((value, failure) -> failure))
			.succeedsWithin(SOON, throwable(Throwable.class))
			.isInstanceOf(CancellationException.class);
	}

	@Test
	@DisplayName("With @Async, its thread waits and runs the method, and the lock is kept until the stage completes")
	void async() {
		AsyncShop async = this.context.bean(AsyncShop.class);
		CompletableFuture<String> result = async.sell();
		awaitEvents("async", "lock", "body");
		assertThat(result).isNotDone();
		assertThat(this.work.thread).isNotNull()
			.satisfies((thread) -> assertThat(thread.getName()).isNotEqualTo("grants"));
		this.work.future.complete("sold");
		assertThat(result).succeedsWithin(SOON).isEqualTo("sold");
		awaitEvents("async", "lock", "body", "unlock", "done");
		assertThat(this.locks.asyncRequests()).isEmpty();
	}

	@Test
	@DisplayName("With @Async, too, the caller's future has the failure")
	void asyncFailures() {
		AsyncShop async = this.context.bean(AsyncShop.class);
		this.work.future.completeExceptionally(new IOException("failed"));
		assertThat(async.sell()).failsWithin(SOON).withThrowableThat().withStackTraceContaining("failed");
		awaitEvents("async", "lock", "body", "unlock", "done");
		this.locks.busy();
		assertThat(async.sell()).failsWithin(SOON)
			.withThrowableThat()
			.withStackTraceContaining(LockNotAcquiredException.class.getName());
	}

	/** Work of the methods, and their observations. */
	static class Work extends Recorded {

		volatile CompletableFuture<String> future = new CompletableFuture<>();

		volatile Thread thread;

		volatile LeaseContext context;

		CompletableFuture<String> begin() {
			this.thread = Thread.currentThread();
			this.context = LeaseContext.current();
			this.recorder.record("body");
			return this.future;
		}

	}

	static class Shop {

		private final Work work;

		Shop(Work work) {
			this.work = work;
		}

		@DistributedLock(key = "'stock:' + #sku")
		@Semaphore(name = "sales", limit = 3)
		CompletableFuture<String> sell(String sku) {
			return this.work.begin();
		}

		@DistributedLock
		CompletableFuture<String> fail() throws IOException {
			throw new IOException("from the method");
		}

		@DistributedLock
		CompletableFuture<String> nothing() {
			return null;
		}

		@DistributedLock
		CompletionStage<String> minimal() {
			return this.work.begin().minimalCompletionStage();
		}

		@DistributedLock
		CompletionStage<String> strange() {
			CompletionStage<String> stage = Mockito.mock(AdditionalAnswers.delegatesTo(this.work.begin()));
			BDDMockito.willThrow(IllegalStateException.class).given(stage).toCompletableFuture();
			return stage;
		}

		@DistributedLock
		CompletableFuture<String> slow(CompletableFuture<Void> leave) {
			CompletableFuture<String> future = this.work.begin();
			leave.join();
			return future;
		}

	}

	static class AsyncShop {

		private final Work work;

		AsyncShop(Work work) {
			this.work = work;
		}

		@Async
		@DistributedLock(name = "async")
		CompletableFuture<String> sell() {
			return this.work.begin();
		}

	}

}
