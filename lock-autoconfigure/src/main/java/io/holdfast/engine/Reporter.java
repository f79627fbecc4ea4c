package io.holdfast.engine;

import java.util.Comparator;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;

import org.jspecify.annotations.Nullable;

import io.holdfast.engine.Report.Entry;

/**
 * Writes the report of its instance: when somebody asks, so that it costs nothing
 * otherwise. Thread-safe.
 */
final class Reporter {

	private final EngineContext context;

	private final LeaseRenewer renewer;

	private final Supplier<CompletableFuture<List<Waiter>>> waiters;

	/**
	 * Create a reporter.
	 * @param context the surroundings of this instance
	 * @param renewer knows what is held
	 * @param waiters tells who waits
	 */
	Reporter(EngineContext context, LeaseRenewer renewer, Supplier<CompletableFuture<List<Waiter>>> waiters) {
		this.context = context;
		this.renewer = renewer;
		this.waiters = waiters;
	}

	/**
	 * Look at all holds and waits.
	 * @return the report; its parts are of slightly different moments
	 */
	CompletableFuture<Report> report() {
		return this.waiters.get().thenApply((waiters) -> {
			List<Entry> holds = entries();
			List<Entry> waits = waiters.stream()
				.filter((waiter) -> waiter.demand.waits() && !waiter.result.isDone())
				.map(Reporter::entry)
				.toList();
			boolean cut = Math.max(holds.size(), waits.size()) > Report.MOST;
			return new Report(Tokens.shown(this.context.instanceId()), oldest(holds), oldest(waits), cut);
		});
	}

	/**
	 * Look at all holds, for which nobody has to answer.
	 * @return a report that says that there may be more
	 */
	Report holds() {
		return new Report(Tokens.shown(this.context.instanceId()), oldest(entries()), List.of(), true);
	}

	private List<Entry> entries() {
		long now = this.context.now();
		return this.renewer.holds()
			.stream()
			.filter((hold) -> hold.isHeld(now))
			.map((hold) -> entry(hold, now))
			.toList();
	}

	private static List<Entry> oldest(List<Entry> entries) {
		return entries.stream()
			.sorted(Comparator.comparingLong(Entry::millis).reversed().thenComparingLong(Entry::number))
			.limit(Report.MOST)
			.toList();
	}

	private static Entry entry(Hold hold, long now) {
		return entry(hold.token, hold.demand, hold.permits, hold.thread, hold.heldFor(now).toMillis(),
				TimeUnit.NANOSECONDS.toMillis(hold.validUntil() - now), hold.fence);
	}

	private static Entry entry(Waiter waiter) {
		return entry(waiter.attempt.token, waiter.demand, waiter.demand.permits(), waiter.thread,
				TimeUnit.NANOSECONDS.toMillis(waiter.waitedNanos()), 0, 0);
	}

	private static Entry entry(String token, Demand demand, int permits, @Nullable Thread owner, long millis,
			long ttlMillis, long fence) {
		return new Entry(Tokens.number(token), demand.resource(), permits, demand.name(),
				(owner != null) ? owner.getName() : null, (owner != null) ? owner.getId() : 0, millis, ttlMillis,
				fence);
	}

}
