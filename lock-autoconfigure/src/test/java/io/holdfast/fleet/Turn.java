package io.holdfast.fleet;

import io.holdfast.Lease;
import io.holdfast.LockRequest;
import io.holdfast.LockService;
import io.holdfast.SemaphoreRequest;
import io.holdfast.SemaphoreService;

/**
 * A request in any context or JVM.
 */
interface Turn {

	/** Return whether the request is granted by now. */
	boolean isGranted();

	/**
	 * Wait for the grant, which must be prompt.
	 * @return the time of the grant, by {@link System#nanoTime()}
	 */
	long awaitGranted();

	/** Release the lease. */
	void release();

	/** Request permits in this JVM. */
	static Turn of(SemaphoreService semaphores, SemaphoreRequest request) {
		return of(Attempt.start(semaphores, request), request);
	}

	/** Request a lock in this JVM. */
	static Turn of(LockService locks, LockRequest request) {
		return of(Attempt.start(locks, request), request);
	}

	/** Request permits in another JVM, by a name of their own there. */
	static Turn of(Worker worker, String name, SemaphoreRequest request) {
		worker.acquire(name, request);
		return of(worker, name, (Object) request);
	}

	/** Request a lock in another JVM, by a name of its own there. */
	static Turn of(Worker worker, String name, LockRequest request) {
		worker.acquire(name, request);
		return of(worker, name, (Object) request);
	}

	private static Turn of(Attempt<? extends Lease> attempt, Object request) {
		return new Turn() {

			@Override
			public boolean isGranted() {
				return attempt.isDone();
			}

			@Override
			public long awaitGranted() {
				attempt.get(Fleet.PROMPT);
				return attempt.endedAt();
			}

			@Override
			public void release() {
				attempt.get().release();
			}

			@Override
			public String toString() {
				return "a context's " + request;
			}

		};
	}

	private static Turn of(Worker worker, String name, Object request) {
		return new Turn() {

			@Override
			public boolean isGranted() {
				return worker.isGranted(name);
			}

			@Override
			public long awaitGranted() {
				return worker.awaitGranted(name, Fleet.PROMPT).at();
			}

			@Override
			public void release() {
				worker.release(name);
			}

			@Override
			public String toString() {
				return "another JVM's " + request;
			}

		};
	}

}
