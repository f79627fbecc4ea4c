package io.holdfast.aop;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Executor;

import io.holdfast.NotAcquiredException.Reason;
import io.holdfast.PermitLease;
import io.holdfast.ReleaseResult;
import io.holdfast.PermitNotAcquiredException;
import io.holdfast.SemaphoreRequest;
import io.holdfast.SemaphoreAdmin;
import io.holdfast.SemaphoreService;
import io.holdfast.SemaphoreStatus;
import io.holdfast.SemaphoreView;
import io.holdfast.aop.RecordingLease.Outcome;
import org.jspecify.annotations.Nullable;

/**
 * A semaphore service that grants all it is asked for, unless told otherwise, and writes
 * down what happens among what the locks record.
 */
class RecordingSemaphores implements SemaphoreService {

	private final RecordingLocks recorder;

	private final List<SemaphoreRequest> requests = new CopyOnWriteArrayList<>();

	private volatile @Nullable Reason reason;

	private final List<CompletableFuture<PermitLease>> asked = new CopyOnWriteArrayList<>();

	/** Who asks asynchronously waits for this. */
	private volatile CompletableFuture<?> turn = CompletableFuture.completedFuture("yours");

	/** On a thread of its own, as continuations may block. */
	private volatile Executor threads = (task) -> new Thread(task, "grants").start();

	private final List<Permits> leases = new CopyOnWriteArrayList<>();

	private volatile Outcome outcome = Outcome.RELEASED;

	RecordingSemaphores(RecordingLocks recorder) {
		this.recorder = recorder;
	}

	/** Let who asks asynchronously wait. */
	CompletableFuture<?> waiting() {
		this.turn = new CompletableFuture<>();
		return this.turn;
	}

	/** Grant before the asynchronous request returns. */
	void immediate() {
		this.threads = Runnable::run;
	}

	/** What was asked for asynchronously. */
	List<CompletableFuture<PermitLease>> asked() {
		return new ArrayList<>(this.asked);
	}

	void busy() {
		refusing(Reason.TIMED_OUT);
	}

	void refusing(Reason reason) {
		this.reason = reason;
	}

	void releasing(Outcome outcome) {
		this.outcome = outcome;
	}

	List<SemaphoreRequest> requests() {
		return new ArrayList<>(this.requests);
	}

	List<String> keys() {
		return this.requests.stream().map(SemaphoreRequest::key).toList();
	}

	SemaphoreRequest lastRequest() {
		return this.requests.get(this.requests.size() - 1);
	}

	/** The latest lease of a key. */
	RecordingLease lease(String key) {
		return this.leases.stream()
			.filter((lease) -> lease.key().equals(key))
			.reduce((earlier, later) -> later)
			.orElseThrow();
	}

	@Override
	public PermitLease acquire(SemaphoreRequest request) {
		this.requests.add(request);
		if (this.reason != null) {
			throw new PermitNotAcquiredException(request.key(), request.permits(), request.limit(), this.reason,
					Duration.ZERO, null);
		}
		this.recorder.record("permit");
		Permits lease = new Permits(request);
		this.leases.add(lease);
		return lease;
	}

	@Override
	public Optional<PermitLease> tryAcquire(SemaphoreRequest request) {
		throw new UnsupportedOperationException();
	}

	@Override
	public CompletableFuture<PermitLease> acquireAsync(SemaphoreRequest request) {
		CompletableFuture<PermitLease> asked = this.turn.thenApplyAsync((mine) -> acquire(request), this.threads);
		this.asked.add(asked);
		return asked;
	}

	@Override
	public CompletableFuture<Optional<PermitLease>> tryAcquireAsync(SemaphoreRequest request) {
		throw new UnsupportedOperationException();
	}

	@Override
	public SemaphoreView asSemaphore(SemaphoreRequest request) {
		throw new UnsupportedOperationException();
	}

	@Override
	public SemaphoreStatus status(String key) {
		throw new UnsupportedOperationException();
	}

	@Override
	public SemaphoreAdmin admin() {
		throw new UnsupportedOperationException();
	}

	private final class Permits extends RecordingLease implements PermitLease {

		private final int permits;

		Permits(SemaphoreRequest request) {
			super(request.key(), RecordingSemaphores.this.outcome,
					() -> RecordingSemaphores.this.recorder.record("return"));
			this.permits = request.permits();
		}

		@Override
		public int permits() {
			return this.permits;
		}

		@Override
		public ReleaseResult release(int permits) {
			throw new UnsupportedOperationException();
		}

		@Override
		public CompletableFuture<ReleaseResult> releaseAsync(int permits) {
			throw new UnsupportedOperationException();
		}

	}

}
