package io.holdfast.engine;

import java.util.Comparator;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;
import java.util.stream.Stream;

import io.holdfast.engine.InstanceReport.Entry;
import io.holdfast.engine.store.Tokens;
import org.jspecify.annotations.Nullable;

/**
 * Creates the report of this instance on demand. Thread-safe.
 */
public final class Reporter {

	private static final Comparator<Entry> OLDEST_FIRST = Comparator.comparingLong(Entry::millis)
		.reversed()
		.thenComparingLong(Entry::number);

	private static final String CALLER_GONE = " (its caller has gone)";

	private final EngineContext context;

	private final ResourceQueues queues;

	Reporter(ResourceQueues queues) {
		this.context = queues.context;
		this.queues = queues;
	}

	/**
	 * Create a report of holds and waits.
	 * @param key the only key to include, or {@code null} for all keys
	 * @return a future of the report, whose parts are from slightly different moments
	 */
	public CompletableFuture<InstanceReport> report(@Nullable String key) {
		return report((entry) -> key == null || entry.resource().key().equals(key), OLDEST_FIRST);
	}

	/**
	 * Create a report of holds and waits, for a query of any instance.
	 * @param wanted the keys whose entries come first, so that a cut report has them
	 * @return a future of the report, whose parts are from slightly different moments
	 */
	public CompletableFuture<InstanceReport> answer(Predicate<String> wanted) {
		Comparator<Entry> wantedFirst = Comparator.comparing((entry) -> !wanted.test(entry.resource().key()));
		return report((entry) -> true, wantedFirst.thenComparing(OLDEST_FIRST));
	}

	private CompletableFuture<InstanceReport> report(Predicate<Entry> filter, Comparator<Entry> order) {
		return this.queues.waiters().thenApply((waiters) -> {
			List<Entry> holds = held().filter(filter).toList();
			List<Entry> waits = waiters.stream()
				.filter((waiter) -> waiter.request.waits() && !waiter.result.isDone())
				.map(this::entry)
				.filter(filter)
				.toList();
			boolean cut = Math.max(holds.size(), waits.size()) > InstanceReport.MOST;
			return new InstanceReport(instance(), first(holds, order), first(waits, order), cut);
		});
	}

	/**
	 * Create a report of all holds, without the waits in the queues.
	 * @return the report, marked as cut
	 */
	public InstanceReport holds() {
		return new InstanceReport(instance(), first(held().toList(), OLDEST_FIRST), List.of(), true);
	}

	private String instance() {
		return Tokens.shown(this.context.ensureStarted());
	}

	private Stream<Entry> held() {
		long now = this.context.scheduler.nanoTime();
		return this.queues.renewer.holds().stream().filter((hold) -> hold.isHeld(now)).map((hold) -> entry(hold, now));
	}

	private static List<Entry> first(List<Entry> entries, Comparator<Entry> order) {
		return entries.stream().sorted(order).limit(InstanceReport.MOST).toList();
	}

	private Entry entry(Hold hold, long now) {
		return entry(Tokens.number(hold.token), hold.request, hold.permits(), hold.thread,
				hold.isCallerGone() ? CALLER_GONE : "", hold.heldFor(now).toMillis(),
				TimeUnit.NANOSECONDS.toMillis(hold.validUntil() - now), hold.fence);
	}

	private Entry entry(Waiter waiter) {
		return entry(waiter.numberInStore(), waiter.request, waiter.request.permits(), waiter.thread, "",
				TimeUnit.NANOSECONDS.toMillis(waiter.waitedNanos()), 0, 0);
	}

	private Entry entry(long number, ResolvedRequest request, int permits, @Nullable Thread thread, String remark,
			long millis, long ttlMillis, long fence) {
		String name = (thread != null) ? thread.getName() : remark.isEmpty() ? null : "none";
		return new Entry(instance(), number, request.resource(), permits, request.name(),
				(name != null) ? name + remark : null, (thread != null) ? thread.getId() : 0, millis, ttlMillis, fence,
				request.note());
	}

}
