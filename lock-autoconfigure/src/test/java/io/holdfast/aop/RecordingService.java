package io.holdfast.aop;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Executor;
import java.util.function.Supplier;

import io.holdfast.Lease;
import io.holdfast.NotAcquiredException.Reason;
import io.holdfast.aop.RecordingLease.Outcome;
import io.holdfast.async.EngineFuture;
import org.jspecify.annotations.Nullable;

/**
 * Service that grants all requests by default.
 *
 * @param <R> the requests
 * @param <L> the leases
 */
abstract class RecordingService<R, L extends Lease> {

	private final List<R> requests = new CopyOnWriteArrayList<>();

	private final List<CompletableFuture<L>> asyncRequests = new CopyOnWriteArrayList<>();

	private final List<RecordingLease> leases = new CopyOnWriteArrayList<>();

	/** Start of asynchronous grants. */
	private volatile CompletableFuture<?> turn = CompletableFuture.completedFuture("yours");

	/** On a thread of its own, as continuations may block. */
	private volatile Executor threads = (task) -> new Thread(task, "grants").start();

	/** Reason of a refusal; null for a grant. */
	volatile @Nullable Reason reason;

	volatile Outcome outcome = Outcome.RELEASED;

	/** Delay asynchronous grants. */
	CompletableFuture<?> waiting() {
		this.turn = new CompletableFuture<>();
		return this.turn;
	}

	/** Grant before the asynchronous request returns. */
	void immediate() {
		this.threads = Runnable::run;
	}

	/**
	 * Grant before the asynchronous request returns, and continue calls by an executor.
	 */
	void immediate(Executor calls) {
		immediate();
		this.turn = new EngineFuture<>(calls);
		this.turn.complete(null);
	}

	/** Results of the asynchronous requests. */
	List<CompletableFuture<L>> asyncRequests() {
		return new ArrayList<>(this.asyncRequests);
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

	List<R> requests() {
		return new ArrayList<>(this.requests);
	}

	List<String> keys() {
		return this.requests.stream().map(this::key).toList();
	}

	R lastRequest() {
		return this.requests.get(this.requests.size() - 1);
	}

	void forget() {
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

	abstract String key(R request);

	final void asks(R request) {
		this.requests.add(request);
	}

	final <T extends RecordingLease> T granted(T lease) {
		this.leases.add(lease);
		return lease;
	}

	final CompletableFuture<L> later(Supplier<L> acquisition) {
		CompletableFuture<L> request = this.turn.thenApplyAsync((mine) -> acquisition.get(), this.threads);
		this.asyncRequests.add(request);
		return request;
	}

}
