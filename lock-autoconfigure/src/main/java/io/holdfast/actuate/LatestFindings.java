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
 * Latest diagnostics of a store, not older than ten seconds if the store answers. At most
 * one examination runs at a time. Thread-safe.
 */
final class LatestFindings {

	private static final long FRESH_NANOS = TimeUnit.SECONDS.toNanos(10);

	private final Supplier<CompletableFuture<List<StoreDiagnostic>>> examination;

	private final long patienceNanos;

	private final LongSupplier clock;

	/** Running or last examination. */
	private @Nullable CompletableFuture<List<StoreDiagnostic>> current;

	private long startedAt;

	/** Last findings, returned while there is no answer. */
	private volatile List<StoreDiagnostic> lastFindings = List.of();

	/** Reason of the last failed examination, or {@code null}. */
	private volatile @Nullable String trouble;

	/**
	 * Create the diagnostics.
	 * @param examination starts an examination
	 * @param patience the maximum wait for the end of an examination
	 * @param clock the clock, in nanoseconds
	 */
	LatestFindings(Supplier<CompletableFuture<List<StoreDiagnostic>>> examination, Duration patience,
			LongSupplier clock) {
		this.examination = examination;
		this.patienceNanos = patience.toNanos();
		this.clock = clock;
	}

	/**
	 * Return the findings. Blocks until the examination has ended, for the patience at
	 * most, counted from the beginning of the examination.
	 * @return the last findings, and a finding for the missing answer if the store does
	 * not answer
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
			this.lastFindings = BlockingWait.get(examined, Math.max(0, left));
			this.trouble = null;
			return this.lastFindings;
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
	 * Return the reason why the last examination failed.
	 * @return the reason, or {@code null} if the last examination succeeded
	 */
	@Nullable String trouble() {
		return this.trouble;
	}

	private List<StoreDiagnostic> unknown(String why) {
		this.trouble = why;
		List<StoreDiagnostic> findings = new ArrayList<>(this.lastFindings);
		findings.add(new StoreDiagnostic(false, "Redis could not be examined now: " + why));
		return findings;
	}

}
