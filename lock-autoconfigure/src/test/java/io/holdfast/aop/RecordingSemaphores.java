package io.holdfast.aop;

import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;

import io.holdfast.PermitLease;
import io.holdfast.PermitNotAcquiredException;
import io.holdfast.SemaphoreAdmin;
import io.holdfast.SemaphoreRequest;
import io.holdfast.SemaphoreService;
import io.holdfast.SemaphoreStatus;

/**
 * Semaphore service that grants all requests by default, and records its events among the
 * events of the locks.
 */
class RecordingSemaphores extends RecordingService<SemaphoreRequest, PermitLease> implements SemaphoreService {

	private final RecordingLocks recorder;

	RecordingSemaphores(RecordingLocks recorder) {
		this.recorder = recorder;
	}

	@Override
	String key(SemaphoreRequest request) {
		return request.key();
	}

	@Override
	public PermitLease acquire(SemaphoreRequest request) {
		asks(request);
		if (this.reason != null) {
			throw new PermitNotAcquiredException(request.key(), request.permits(), request.limit(), this.reason,
					Duration.ZERO, null);
		}
		this.recorder.record("permit");
		return granted(new Permits(request));
	}

	@Override
	public Optional<PermitLease> tryAcquire(SemaphoreRequest request) {
		throw new UnsupportedOperationException();
	}

	@Override
	public CompletableFuture<PermitLease> acquireAsync(SemaphoreRequest request) {
		return later(() -> acquire(request));
	}

	@Override
	public CompletableFuture<Optional<PermitLease>> tryAcquireAsync(SemaphoreRequest request) {
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

	}

}
