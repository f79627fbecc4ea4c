package io.holdfast.actuate;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.LongSupplier;
import java.util.function.Supplier;

import io.holdfast.async.BlockingWait;
import io.holdfast.engine.store.StoreDiagnostic;
import org.jspecify.annotations.Nullable;

/**
 * The latest diagnostics of a store, not older than ten seconds if it answers. However
 * often it is asked for, one examination runs at a time. Thread-safe.
 */
final class LatestFindings {

	private static final long FRESH_NANOS = TimeUnit.SECONDS.toNanos(10);

	private final Supplier<CompletableFuture<List<StoreDiagnostic>>> examination;

	private final long patienceNanos;

	private final LongSupplier clock;

	/** The examination that runs, or the last one. */
	private @Nullable CompletableFuture<List<StoreDiagnostic>> current;

	private long startedAt;

	/** The findings to tell while there is no answer. */
	private volatile List<StoreDiagnostic> known = List.of();

	/** Why there was no answer the last time, or {@code null}. */
	private volatile @Nullable String trouble;

	/**
	 * Create it.
	 * @param examination begins an examination
	 * @param patience how long to wait for its end
	 * @param clock tells nanoseconds
	 */
	LatestFindings(Supplier<CompletableFuture<List<StoreDiagnostic>>> examination, Duration patience,
			LongSupplier clock) {
		this.examination = examination;
		this.patienceNanos = patience.toNanos();
		this.clock = clock;
	}

	/**
	 * Return the findings. Blocks until an examination has ended, no longer than its
	 * patience counted from its beginning.
	 * @return the last findings; if the store does not answer, also that
	 */
	List<StoreDiagnostic> get() {
		CompletableFuture<List<StoreDiagnostic>> examined;
		long left;
		synchronized (this) {
			long now = this.clock.getAsLong();
			CompletableFuture<List<StoreDiagnostic>> last = this.current;
			if (last == null || last.isDone() && now - this.startedAt >= FRESH_NANOS) {
				last = this.examination.get();
				this.current = last;
				this.startedAt = now;
			}
			examined = last;
			left = this.startedAt + this.patienceNanos - now;
		}
		try {
			this.known = BlockingWait.get(examined, Math.max(0, left));
			this.trouble = null;
			return this.known;
		}
		catch (ExecutionException ex) {
			return unknown(String.valueOf(((ex.getCause() != null) ? ex.getCause() : ex).getMessage()));
		}
		catch (TimeoutException ex) {
			return unknown("Redis does not answer");
		}
		catch (InterruptedException ex) {
			Thread.currentThread().interrupt();
			return unknown("Interrupted");
		}
	}

	/**
	 * Return the reason why the store is not examined.
	 * @return why there was no answer the last time, or {@code null} if there was
	 */
	@Nullable String trouble() {
		return this.trouble;
	}

	private List<StoreDiagnostic> unknown(String why) {
		this.trouble = why;
		List<StoreDiagnostic> findings = new ArrayList<>(this.known);
		findings.add(new StoreDiagnostic(false, "Redis could not be examined now: " + why));
		return findings;
	}

}
