package io.holdfast.fleet;

import java.lang.reflect.Method;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;

import io.holdfast.LockLease;
import io.holdfast.LockRequest;
import io.holdfast.LockService;
import io.holdfast.LockView;
import io.holdfast.ReleaseResult;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/**
 * Releases on another thread than the acquiring thread: possible by handle, refused by
 * view.
 */
class ReleaseOnOtherThreadTests extends FleetTestCase {

	private static LockService locks;

	@BeforeAll
	static void start() {
		locks = fleet.start();
	}

	@Test
	@DisplayName("F25 Another thread releases: possible by handle, refused by view")
	void anotherThread() throws Exception {
		LockLease lease = locks.acquire(this.key);
		assertThat(Attempt.onAnotherThread(lease::release)).isEqualTo(ReleaseResult.RELEASED);
		assertThat(fleet.owner(this.key)).isNull();
		assertThat(lease.isHeld()).isFalse();
		assertThat(lease.release()).isEqualTo(ReleaseResult.ALREADY_RELEASED);
		assertRefusedByView(Attempt::onAnotherThread);
	}

	@Test
	@DisplayName("F25 A virtual thread acquires and releases, also for other threads: possible by handle, refused by"
			+ " view")
	void virtualThread() throws Exception {
		Assumptions.assumeTrue(Runtime.version().feature() >= 21, "This JDK has no virtual threads");
		LockLease lease = locks.acquire(this.key);
		assertThat(inVirtualThread(lease::release)).isEqualTo(ReleaseResult.RELEASED);
		assertRefusedByView(ReleaseOnOtherThreadTests::inVirtualThread);
		LockLease virtual = inVirtualThread(() -> locks.acquire(this.key));
		assertThat(virtual.release()).isEqualTo(ReleaseResult.RELEASED);
		int holds = inVirtualThread(() -> {
			LockView view = locks.asLock(this.key);
			view.lock();
			view.lock();
			int count = view.getHoldCount();
			view.unlock();
			view.unlock();
			return count;
		});
		assertThat(holds).isEqualTo(2);
		assertThat(fleet.owner(this.key)).isNull();
	}

	@Test
	@DisplayName("F25 The completing thread of a future releases: possible by handle, refused by view")
	void completionThread() throws Exception {
		LockRequest request = LockRequest.of(this.key);
		CompletableFuture<ReleaseResult> released = locks.acquireAsync(request).thenApply(LockLease::release);
		assertThat(released.get(20, TimeUnit.SECONDS)).isEqualTo(ReleaseResult.RELEASED);
		CompletableFuture<ReleaseResult> chained = locks.acquireAsync(request).thenCompose(LockLease::releaseAsync);
		assertThat(chained.get(20, TimeUnit.SECONDS)).isEqualTo(ReleaseResult.RELEASED);
		assertThat(fleet.owner(this.key)).isNull();
		assertRefusedByView((action) -> {
			// Held for now: a function of a completed future would run on this thread.
			LockLease another = locks.acquire("another");
			CompletableFuture<?> completed = locks.acquireAsync(LockRequest.of("another")).thenApply((lease) -> {
				lease.close();
				return call(action);
			});
			another.release();
			try {
				return completed.join();
			}
			catch (CompletionException ex) {
				throw (Exception) ex.getCause();
			}
		});
	}

	@Test
	@DisplayName("S14 A view nests in the lease of its thread, and gives up only its own locks")
	void viewInLease() {
		LockLease lease = locks.acquire(this.key);
		LockView view = locks.asLock(this.key);
		assertThat(view.isHeldByCurrentThread()).as("held by a view").isFalse();
		view.lock();
		assertThat(locks.status(this.key).fencingToken()).isEqualTo(lease.fencingToken());
		assertThat(view.isHeldByCurrentThread()).isTrue();
		view.unlock();
		assertThatExceptionOfType(IllegalMonitorStateException.class).isThrownBy(view::unlock);
		assertThat(lease.isHeld()).isTrue();
		assertThat(view.isLocked()).isTrue();
		assertThat(lease.release()).isEqualTo(ReleaseResult.RELEASED);
	}

	/** Lock on this thread by a view, and try to unlock on the other thread. */
	private void assertRefusedByView(OtherThread otherThread) {
		LockView view = locks.asLock(this.key);
		view.lock();
		assertThatExceptionOfType(IllegalMonitorStateException.class).isThrownBy(() -> otherThread.call(() -> {
			view.unlock();
			return true;
		}));
		assertThat(view.isHeldByCurrentThread()).isTrue();
		view.unlock();
	}

	private static <T> T call(Callable<T> action) {
		try {
			return action.call();
		}
		catch (Exception ex) {
			throw new CompletionException(ex);
		}
	}

	/** By reflection, since the tests are compiled for Java 17. */
	private static <T> T inVirtualThread(Callable<T> action) throws Exception {
		Method start = Thread.class.getMethod("startVirtualThread", Runnable.class);
		FutureTask<T> task = new FutureTask<>(action);
		start.invoke(null, task);
		try {
			return task.get(20, TimeUnit.SECONDS);
		}
		catch (ExecutionException ex) {
			throw (Exception) ex.getCause();
		}
	}

	/** A way to run an action on another thread. */
	private interface OtherThread {

		Object call(Callable<?> action) throws Exception;

	}

}
