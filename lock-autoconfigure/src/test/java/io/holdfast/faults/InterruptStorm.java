package io.holdfast.faults;

import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;

import io.holdfast.Lease;
import io.holdfast.NotAcquiredException;
import io.holdfast.NotAcquiredException.Reason;
import io.holdfast.ReleaseResult;

import static io.holdfast.faults.Fleet.SOON;
import static org.assertj.core.api.Assertions.assertThat;

/**
 * Threads that acquire and release again and again, and are interrupted at any moment of
 * it.
 */
final class InterruptStorm {

	private InterruptStorm() {
	}

	/**
	 * Run until so many interrupts have ended an attempt. Checks that they ended it as
	 * documented, and that all threads got something between them.
	 * @param acquisitions what each thread acquires with
	 * @param interrupts how many attempts are to end so
	 */
	static void run(List<Supplier<? extends Lease>> acquisitions, int interrupts) {
		List<Worker> workers = acquisitions.stream().map(Worker::new).toList();
		workers.forEach(Thread::start);
		Random random = new Random(16);
		while (workers.stream().mapToInt((worker) -> worker.interrupted.get()).sum() < interrupts) {
			Worker worker = workers.get(random.nextInt(workers.size()));
			assertThat(worker.isAlive()).as("a worker without failure").isTrue();
			spin(random.nextInt(400_000));
			worker.interrupt();
		}
		int granted = 0;
		for (Worker worker : workers) {
			worker.enough = true;
			assertThat(worker.ended).succeedsWithin(SOON);
			granted += worker.granted.get();
		}
		assertThat(granted).as("acquired between the interrupts").isPositive();
	}

	private static void spin(long nanos) {
		for (long until = System.nanoTime() + nanos; System.nanoTime() - until < 0;) {
			Thread.onSpinWait();
		}
	}

	/** Acquires and releases, and takes interrupts as they come. */
	private static final class Worker extends Thread {

		private final Supplier<? extends Lease> acquisition;

		private final AtomicInteger interrupted = new AtomicInteger();

		private final AtomicInteger granted = new AtomicInteger();

		private final CompletableFuture<String> ended = new CompletableFuture<>();

		private volatile boolean enough;

		Worker(Supplier<? extends Lease> acquisition) {
			super("worker");
			this.acquisition = acquisition;
			setDaemon(true);
		}

		@Override
		public void run() {
			try {
				while (!this.enough) {
					acquireAndRelease();
				}
				this.ended.complete("well");
			}
			catch (Throwable ex) {
				this.ended.completeExceptionally(ex);
			}
		}

		private void acquireAndRelease() {
			try {
				Lease lease = this.acquisition.get();
				this.granted.incrementAndGet();
				assertThat(lease.release()).isEqualTo(ReleaseResult.RELEASED);
			}
			catch (NotAcquiredException ex) {
				assertThat(ex.getReason()).isEqualTo(Reason.INTERRUPTED);
				assertThat(isInterrupted()).as("flag").isTrue();
				this.interrupted.incrementAndGet();
			}
			interrupted();
		}

	}

}
