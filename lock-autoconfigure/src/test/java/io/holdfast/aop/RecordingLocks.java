package io.holdfast.aop;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;

import io.holdfast.LockAdmin;
import io.holdfast.LockLease;
import io.holdfast.LockNotAcquiredException;
import io.holdfast.LockRequest;
import io.holdfast.LockService;
import io.holdfast.LockStatus;
import io.holdfast.LockView;
import io.holdfast.ReadWriteLockView;
import org.jspecify.annotations.Nullable;

/**
 * Lock service that grants all requests by default, and records its own events and the
 * events of other beans.
 */
class RecordingLocks extends RecordingService<LockRequest, LockLease> implements LockService {

	private final List<String> events = new CopyOnWriteArrayList<>();

	private volatile boolean keyed;

	private volatile @Nullable RuntimeException failure;

	void free() {
		this.reason = null;
	}

	/** Record the name of the lock. */
	void withKeys() {
		this.keyed = true;
	}

	void failing(RuntimeException failure) {
		this.failure = failure;
	}

	void record(String event) {
		this.events.add(event);
	}

	private String event(String event, String key) {
		return this.keyed ? event + " " + key : event;
	}

	List<String> events() {
		return new ArrayList<>(this.events);
	}

	@Override
	void forget() {
		super.forget();
		this.events.clear();
	}

	@Override
	String key(LockRequest request) {
		return request.key();
	}

	@Override
	public LockLease acquire(LockRequest request) {
		asks(request);
		if (this.failure != null) {
			throw this.failure;
		}
		if (this.reason != null) {
			throw new LockNotAcquiredException(request.key(), this.reason, Duration.ZERO, null);
		}
		record(event("lock", request.key()));
		return granted(new RecordedLock(request.key()));
	}

	@Override
	public Optional<LockLease> tryAcquire(LockRequest request) {
		throw new UnsupportedOperationException();
	}

	@Override
	public CompletableFuture<LockLease> acquireAsync(LockRequest request) {
		return later(() -> acquire(request));
	}

	@Override
	public CompletableFuture<Optional<LockLease>> tryAcquireAsync(LockRequest request) {
		throw new UnsupportedOperationException();
	}

	@Override
	public LockView asLock(LockRequest request) {
		throw new UnsupportedOperationException();
	}

	@Override
	public ReadWriteLockView asReadWriteLock(LockRequest request) {
		throw new UnsupportedOperationException();
	}

	@Override
	public LockStatus status(String key) {
		throw new UnsupportedOperationException();
	}

	@Override
	public LockAdmin admin() {
		throw new UnsupportedOperationException();
	}

	private final class RecordedLock extends RecordingLease implements LockLease {

		RecordedLock(String key) {
			super(key, RecordingLocks.this.outcome, () -> record(event("unlock", key)));
		}

		@Override
		public long fencingToken() {
			return 1;
		}

	}

}
