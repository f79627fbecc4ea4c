package io.holdfast.engine;

import java.lang.ref.WeakReference;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;

import io.holdfast.LeaseContext;
import io.holdfast.LeaseLostException;
import io.holdfast.LockLease;
import io.holdfast.LockMode;
import io.holdfast.LockNotAcquiredException;
import io.holdfast.LockRequest;
import io.holdfast.NotAcquiredException.Reason;
import io.holdfast.SemaphoreRequest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Requests within a context: a lease of the key in the context gives a nested lease.
 */
class ContextRulesTests extends ScriptedEngine {

	private static final LockRequest READ = REQUEST.mode(LockMode.READ);

	private static final LockRequest WRITE = REQUEST.mode(LockMode.EXCLUSIVE);

	private static final LockRequest ONCE = REQUEST.waitTime(Duration.ZERO);

	@Test
	void anAsynchronousRequestNestsInItsContext() {
		LockLease outer = granted(REQUEST, 10);
		LeaseContext context = within(outer);
		CompletableFuture<LockLease> inner = this.service.acquireAsync(REQUEST.within(context));
		assertThat(inner.join().fencingToken()).isEqualTo(10);
		assertThat(this.service.tryAcquireAsync(ONCE.within(context)).join()).isPresent();
		assertThat(this.store.sent()).containsExactly("acquire 1");
	}

	@Test
	void anAsynchronousRequestIgnoresTheContextOfItsThread() {
		LockLease outer = granted(REQUEST, 10);
		try (LeaseContext.Scope scope = within(outer).open()) {
			assertThat(this.service.tryAcquireAsync(ONCE)).isCompletedWithValue(Optional.empty());
			assertThat(this.service.acquireAsync(REQUEST)).isNotDone();
			assertThat(scope).isNotNull();
		}
	}

	@Test
	void aBlockingRequestUsesTheContextOfItsThreadByDefault() throws Exception {
		LockLease outer = granted(REQUEST, 10);
		LeaseContext context = within(outer);
		LockLease inner = onAnotherThread(context, () -> this.service.acquire(REQUEST));
		assertThat(inner.fencingToken()).isEqualTo(10);
		assertThat(onAnotherThread(LeaseContext.empty(), () -> this.service.acquire(REQUEST.within(context)))
			.fencingToken()).isEqualTo(10);
		assertThat(onAnotherThread(context, () -> this.service.tryAcquire(ONCE.within(LeaseContext.empty()))))
			.isEmpty();
		onAnotherThread(context, () -> {
			this.service.asLock("k").lock();
			assertThat(this.service.asLock("k").isHeldByCurrentThread()).isTrue();
			this.service.asLock("k").unlock();
			return true;
		});
		assertThat(onAnotherThread(LeaseContext.empty(), () -> this.service.tryAcquire(ONCE))).as("without a lease")
			.isEmpty();
		assertThat(this.store.sent()).containsExactly("acquire 1");
	}

	@Test
	void anEndedNestedLeaseLeavesNothing() {
		LockLease outer = granted(REQUEST, 10);
		List<String> lost = new ArrayList<>();
		outer.onLost(() -> lost.add("outer"));
		WeakReference<Runnable> action = watchNested(outer, lost);
		await().untilAsserted(() -> {
			System.gc();
			assertThat(action.get()).isNull();
		});
		this.engine.queues.renewer.holds().forEach((hold) -> this.engine.queues.renewer.lose(hold, "it is a test"));
		assertThat(lost).containsExactly("outer");
	}

	private WeakReference<Runnable> watchNested(LockLease outer, List<String> lost) {
		LockLease inner = this.service.acquireAsync(REQUEST.within(within(outer))).join();
		Runnable action = new ArrayList<>(List.of("inner"))::clear;
		inner.onLost(action);
		inner.onLost(() -> lost.add("inner"));
		inner.release();
		return new WeakReference<>(action);
	}

	@Test
	void theLastLeaseReleasesTheKeyInAnyOrder() {
		LockLease outer = granted(REQUEST, 10);
		LockLease inner = this.service.acquireAsync(REQUEST.within(within(outer))).join();
		LockLease innermost = this.service.acquireAsync(REQUEST.within(within(inner))).join();
		this.store.sent();
		outer.releaseAsync();
		inner.releaseAsync();
		assertThat(outer.isHeld()).isFalse();
		assertThat(innermost.isHeld()).isTrue();
		assertThat(this.store.sent()).isEmpty();
		innermost.releaseAsync();
		assertThat(this.store.sent()).containsExactly("release 1");
		this.store.last("release 1").released(true);
		assertThat(this.engine.isIdle()).isTrue();
	}

	@Test
	void aContextWithAReleasedLeaseDoesNotNest() {
		LockLease outer = granted(REQUEST, 10);
		LeaseContext context = within(outer);
		outer.releaseAsync();
		this.store.last("release 1").released(true);
		this.service.acquireAsync(REQUEST.within(context));
		assertThat(this.store.sent()).containsExactly("acquire 1", "release 1", "acquire 2");
	}

	@ParameterizedTest
	@EnumSource
	void aContextWithALostLeaseFailsItsRequests(LockMode mode) {
		LockLease outer = granted(REQUEST.mode(mode), 10);
		LeaseContext context = within(outer);
		this.store.elapse(10_000);
		this.store.last("renew 1").renewed(false);
		this.store.sent();
		granted(REQUEST, 20);
		for (LockRequest request : List.of(READ, WRITE)) {
			assertFailed(this.service.acquireAsync(request.within(context)), LeaseLostException.class,
					"Lock 'k' was not acquired again: the caller's thread or context has a lost lease of it");
		}
		outer.releaseAsync();
		assertThat(this.service.acquireAsync(REQUEST.within(context))).as("without an open lease").isNotDone();
	}

	@Test
	void aContextWithAnExpiredLeaseWithoutRenewalDoesNotNest() {
		LeaseContext context = within(granted(REQUEST.autoRenew(false), 10));
		this.store.elapse(29_698);
		this.store.sent();
		this.service.acquireAsync(REQUEST.within(context));
		assertThat(this.store.sent()).containsExactly("acquire 2");
	}

	@Test
	void aRequestNestsOnlyInLeasesOfItsKeyAndService() {
		LeaseContext context = within(granted(REQUEST, 10));
		this.service.acquireAsync(REQUEST.only("other").within(context));
		this.semaphores.acquireAsync(SemaphoreRequest.of("k", 3));
		assertThat(this.store.sent()).containsExactly("acquire 1", "acquire 2", "acquire 3 at once");
		ScriptedStore otherStore = new ScriptedStore();
		LeaseEngine otherEngine = new LeaseEngine(otherStore, EngineSettings.defaults(), otherStore, Runnable::run,
				() -> ID, () -> 1.0);
		new DefaultLockService(otherEngine).acquireAsync(REQUEST.within(context));
		assertThat(otherStore.sent()).containsExactly("acquire 1");
	}

	@Test
	void aRequestThatIsNotReentrantDoesNotNest() {
		LeaseContext context = within(granted(REQUEST, 10));
		assertThat(this.service.tryAcquireAsync(ONCE.within(context).reentrant(false)))
			.isCompletedWithValue(Optional.empty());
		assertThat(this.service.tryAcquireAsync(ONCE.mode(LockMode.READ).within(context).reentrant(false)))
			.isCompletedWithValue(Optional.empty());
		CompletableFuture<LockLease> separate = this.service.acquireAsync(READ.within(context).reentrant(false));
		assertThat(separate).isNotDone();
		assertThat(this.store.sent()).containsExactly("acquire 1", "acquire 4");
	}

	@ParameterizedTest
	@CsvSource({ "READ, READ", "EXCLUSIVE, EXCLUSIVE", "EXCLUSIVE, READ" })
	void aNestedRequestDoesNotUseTheStore(LockMode outer, LockMode inner) {
		LeaseContext context = within(granted(REQUEST.mode(outer), 10));
		// Other waiters do not matter.
		this.service.acquireAsync(WRITE);
		this.store.sent();
		assertThat(this.service.acquireAsync(REQUEST.mode(inner).within(context)).join().fencingToken()).isEqualTo(10);
		assertThat(this.store.sent()).isEmpty();
	}

	@Test
	void aRequestThatWouldWaitForItselfFailsAtOnce() {
		LockLease held = granted(READ, 10);
		LeaseContext context = within(held);
		this.store.sent();
		CompletableFuture<LockLease> refused = this.service.acquireAsync(WRITE.within(context));
		LockNotAcquiredException failure = assertFailed(refused, LockNotAcquiredException.class,
				"the caller holds it and would wait for itself");
		assertThat(failure.getReason()).isEqualTo(Reason.SELF_BLOCKED);
		assertThat(this.store.sent()).isEmpty();
		held.releaseAsync();
		assertThat(this.service.acquireAsync(WRITE.within(context))).as("without an open lease").isNotDone();
	}

	@Test
	void aWriterMayReadInItsContextAndKeepTheReadLease() {
		LockLease write = granted(WRITE, 10);
		CompletableFuture<LockLease> read = this.service.acquireAsync(READ.within(within(write)));
		assertThat(read.join().fencingToken()).isEqualTo(10);
		write.releaseAsync();
		LeaseContext reading = within(read.join());
		assertThat(this.service.acquireAsync(WRITE.within(reading)).join().fencingToken()).isEqualTo(10);
		assertThat(this.store.sent()).containsExactly("acquire 1");
	}

	@ParameterizedTest
	@EnumSource
	void aThreadNestsWhileItHasAnOpenLease(LockMode mode) {
		LockRequest request = REQUEST.mode(mode);
		LockLease outer = this.store.answering("acquire 1", 10, () -> this.service.acquire(request));
		this.service.acquireAsync(request.within(within(outer))).join();
		LockLease nested = this.service.acquire(request);
		outer.releaseAsync();
		assertThat(this.service.acquire(request).fencingToken()).isEqualTo(10);
		assertThat(nested.isHeld()).isTrue();
		assertThat(this.store.sent()).containsExactly("acquire 1");
	}

	@ParameterizedTest
	@EnumSource
	void aThreadWithoutOpenLeaseDoesNotNestInItsSharedHold(LockMode mode) throws Exception {
		LockRequest request = REQUEST.mode(mode);
		LockLease outer = this.store.answering("acquire 1", 10, () -> this.service.acquire(request));
		LockLease inner = onAnotherThread(within(outer), () -> this.service.acquire(request));
		outer.releaseAsync();
		this.store.answerAtOnce("acquire 3 at once", (command) -> command.busy(30_000, 10));
		assertThat(this.service.tryAcquire(request.waitTime(Duration.ZERO))).isEmpty();
		assertThat(inner.isHeld()).isTrue();
		inner.releaseAsync();
		assertThat(this.store.sent()).endsWith("release 1");
	}

	@Test
	void aThreadWithoutOpenLeaseIsUnaffectedByTheLossOfItsSharedHold() {
		LockLease outer = this.store.answering("acquire 1", 10, () -> this.service.acquire(REQUEST));
		LockLease inner = this.service.acquireAsync(REQUEST.within(within(outer))).join();
		outer.releaseAsync();
		this.store.elapse(10_000);
		this.store.last("renew 1").renewed(false);
		assertThat(this.store.answering("acquire 3", 20, () -> this.service.acquire(REQUEST)).fencingToken())
			.isEqualTo(20);
		assertFailed(this.service.acquireAsync(REQUEST.within(within(inner))), LeaseLostException.class, "'k'");
	}

	@Test
	void aRequestNestsInALeaseOfSeveralKeysByEachKey() {
		CompletableFuture<LockLease> both = this.service.acquireAsync(LockRequest.ofAll(List.of("a", "b")));
		this.store.last("acquire 1").granted(10, 30_000);
		this.store.last("acquire 2").granted(20, 30_000);
		LeaseContext context = within(both.join());
		this.store.sent();
		assertThat(this.service.acquireAsync(REQUEST.only("b").within(context)).join().fencingToken()).isEqualTo(20);
		CompletableFuture<LockLease> more = this.service
			.acquireAsync(LockRequest.ofAll(List.of("a", "b", "c")).within(context));
		this.store.last("acquire 6").granted(30, 30_000);
		assertThat(List.of(more.join().fencingToken("a"), more.join().fencingToken("b"), more.join().fencingToken("c")))
			.containsExactly(10L, 20L, 30L);
		both.join().releaseAsync();
		more.join().releaseAsync();
		assertThat(this.store.sent()).as("b is held by the nested lease").hasSize(3).doesNotContain("release 2");
		CompletableFuture<LockLease> late = this.service.acquireAsync(REQUEST.only("a").within(context));
		assertThat(late).as("not nested in a released lease").isNotDone();
	}

	private static LeaseContext within(LockLease lease) {
		return LeaseContext.empty().with(lease);
	}

	/** Run an action on another thread, within a context. */
	private static <T> T onAnotherThread(LeaseContext context, Supplier<T> action) throws Exception {
		return CompletableFuture.supplyAsync(() -> {
			try (LeaseContext.Scope scope = context.open()) {
				assertThat(scope).isNotNull();
				return action.get();
			}
		}, (task) -> new Thread(task).start()).get();
	}

}
