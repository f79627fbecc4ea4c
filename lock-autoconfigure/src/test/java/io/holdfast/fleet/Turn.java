package io.holdfast.fleet;

import io.holdfast.SemaphoreRequest;
import io.holdfast.SemaphoreService;

/**
 * One request for permits, of whichever context or JVM.
 */
interface Turn {

	/** How many permits it is for. */
	int permits();

	/** Whether it was granted by now. */
	boolean isGranted();

	/**
	 * Wait until it is granted, promptly.
	 * @return when it was, by {@link System#nanoTime()}
	 */
	long awaitGranted();

	/** Release what was granted. */
	void release();

	/**
	 * Ask in this JVM.
	 * @param semaphores the context's
	 * @param request for what
	 */
	static Turn of(SemaphoreService semaphores, SemaphoreRequest request) {
		Attempt<?> attempt = Attempt.start(semaphores, request);
		return new Turn() {

			@Override
			public int permits() {
				return request.permits();
			}

			@Override
			public boolean isGranted() {
				return attempt.isDone();
			}

			@Override
			public long awaitGranted() {
				attempt.lease(Fleet.PROMPT);
				return attempt.endedAt();
			}

			@Override
			public void release() {
				attempt.lease().close();
			}

			@Override
			public String toString() {
				return "of a context, for " + request;
			}

		};
	}

	/**
	 * Ask in another JVM.
	 * @param worker the other JVM
	 * @param name a name that nothing else has there
	 * @param request for what
	 */
	static Turn of(Worker worker, String name, SemaphoreRequest request) {
		worker.acquire(name, request);
		return new Turn() {

			@Override
			public int permits() {
				return request.permits();
			}

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
				return "of another JVM, for " + request;
			}

		};
	}

}
