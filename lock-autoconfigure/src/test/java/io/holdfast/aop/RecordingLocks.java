package io.holdfast.aop;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Executor;

import io.holdfast.LockLease;
import io.holdfast.LockNotAcquiredException;
import io.holdfast.LockRequest;
import io.holdfast.LockAdmin;
import io.holdfast.LockService;
import io.holdfast.LockStatus;
import io.holdfast.LockView;
import io.holdfast.NotAcquiredException.Reason;
import io.holdfast.ReadWriteLockView;
import io.holdfast.aop.RecordingLease.Outcome;
import org.jspecify.annotations.Nullable;

/**
 * A lock service that grants all it is asked for, unless told otherwise, and writes down
 * what happens, with what others tell it.
 */
class RecordingLocks implements LockService {

	private final List<String> events = new CopyOnWriteArrayList<>();

	private final List<LockRequest> requests = new CopyOnWriteArrayList<>();

	private final List<CompletableFuture<LockLease>> asked = new CopyOnWriteArrayList<>();

	/** Who asks asynchronously waits for this. */
	private volatile CompletableFuture<?> turn = CompletableFuture.completedFuture("yours");

	/** On a thread of its own, as continuations may block. */
	private volatile Executor threads = (task) -> new Thread(task, "grants").start();

	private volatile boolean keyed;

	private volatile @Nullable RuntimeException failure;

	private volatile @Nullable Reason reason;

	private final List<RecordedLock> leases = new CopyOnWriteArrayList<>();

	private volatile Outcome outcome = Outcome.RELEASED;

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
	List<CompletableFuture<LockLease>> asked() {
		return new ArrayList<>(this.asked);
	}

	void busy() {
		refusing(Reason.TIMED_OUT);
	}

	void free() {
		this.reason = null;
	}

	void refusing(Reason reason) {
		this.reason = reason;
	}

	/** Write down which lock it is. */
	void withKeys() {
		this.keyed = true;
	}

	void failing(RuntimeException failure) {
		this.failure = failure;
	}

	void releasing(Outcome outcome) {
		this.outcome = outcome;
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

	List<String> keys() {
		return this.requests.stream().map(LockRequest::key).toList();
	}

	List<LockRequest> requests() {
		return new ArrayList<>(this.requests);
	}

	LockRequest lastRequest() {
		return this.requests.get(this.requests.size() - 1);
	}

	void forget() {
		this.events.clear();
		this.requests.clear();
		this.leases.clear();
	}

	/** The latest lease of a key. */
	RecordingLease lease(String key) {
		return this.leases.stream()
			.filter((lease) -> lease.key().equals(key))
			.reduce((earlier, later) -> later)
			.orElseThrow();
	}

	@Override
	public LockLease acquire(LockRequest request) {
		this.requests.add(request);
		if (this.failure != null) {
			throw this.failure;
		}
		if (this.reason != null) {
			throw new LockNotAcquiredException(request.key(), this.reason, Duration.ZERO, null);
		}
		record(event("lock", request.key()));
		RecordedLock lease = new RecordedLock(request.key());
		this.leases.add(lease);
		return lease;
	}

	@Override
	public Optional<LockLease> tryAcquire(LockRequest request) {
		throw new UnsupportedOperationException();
	}

	@Override
	public CompletableFuture<LockLease> acquireAsync(LockRequest request) {
		CompletableFuture<LockLease> asked = this.turn.thenApplyAsync((mine) -> acquire(request), this.threads);
		this.asked.add(asked);
		return asked;
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
