package io.holdfast.fleet;

import io.holdfast.Lease;
import io.holdfast.LockRequest;
import io.holdfast.LockService;
import io.holdfast.SemaphoreRequest;
import io.holdfast.SemaphoreService;

/**
 * One request, of whichever context or JVM.
 */
interface Turn {

	/** Whether it was granted by now. */
	boolean isGranted();

	/**
	 * Wait until it is granted, promptly.
	 * @return when it was, by {@link System#nanoTime()}
	 */
	long awaitGranted();

	/** Release what was granted. */
	void release();

	/** Ask for permits in this JVM. */
	static Turn of(SemaphoreService semaphores, SemaphoreRequest request) {
		return of(Attempt.start(semaphores, request), request);
	}

	/** Ask for a lock in this JVM. */
	static Turn of(LockService locks, LockRequest request) {
		return of(Attempt.start(locks, request), request);
	}

	/** Ask for permits in another JVM, by a name that nothing else has there. */
	static Turn of(Worker worker, String name, SemaphoreRequest request) {
		worker.acquire(name, request);
		return of(worker, name, (Object) request);
	}

	/** Ask for a lock in another JVM, by a name that nothing else has there. */
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
