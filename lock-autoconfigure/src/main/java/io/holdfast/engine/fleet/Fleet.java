package io.holdfast.engine.fleet;

import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import java.util.stream.IntStream;
import java.util.stream.Stream;

import io.holdfast.LeaseStoreException;
import io.holdfast.LockHolder;
import io.holdfast.engine.EngineContext;
import io.holdfast.engine.EngineExceptions;
import io.holdfast.engine.EngineObserver.Command;
import io.holdfast.engine.InstanceDirectory;
import io.holdfast.engine.InstanceReport;
import io.holdfast.engine.InstanceReport.Entry;
import io.holdfast.engine.LeaseEngine;
import io.holdfast.engine.Reporter;
import io.holdfast.engine.fleet.FleetReport.KeySummary;
import io.holdfast.engine.store.FleetStore.Find;
import io.holdfast.engine.store.FleetStore.Page;
import io.holdfast.engine.store.InstanceInfo;
import io.holdfast.engine.store.InstanceStore.Member;
import io.holdfast.engine.store.LeaseStore.Standing;
import io.holdfast.engine.store.LeaseStore.TokenState;
import io.holdfast.engine.store.Resource;
import io.holdfast.engine.store.Resource.Kind;
import io.holdfast.engine.store.Tokens;
import org.jspecify.annotations.Nullable;

/**
 * View of the holders and waiters of all instances that share an engine's store, for
 * operators. Results never contain tokens or secret ids of instances. Unless stated
 * otherwise, methods block until the store answers, and throw {@link LeaseStoreException}
 * if the store fails. Thread-safe.
 */
public final class Fleet implements InstanceDirectory {

	/** Maximum number of holders, and of queue entries, for each key of a list. */
	public static final int MAX_PER_LISTED_KEY = 100;

	/** Maximum number of holders, and of queue entries, for a single key. */
	public static final int MAX_PER_SINGLE_KEY = 1000;

	/** Number of keys per step of a scan. */
	private static final int KEYS_PER_STEP = 500;

	/** Maximum number of concurrent answers to queries of other instances. */
	private static final int MAX_CONCURRENT_ANSWERS = 8;

	/**
	 * Time to fill a page, in nanoseconds. A page may be shorter when the time is over.
	 */
	private static final long PAGE_NANOS = TimeUnit.SECONDS.toNanos(1);

	private static final String OWN_REPORT = "The report of this instance";

	private final EngineContext context;

	private final Reporter reporter;

	private final AtomicInteger answering = new AtomicInteger();

	private volatile @Nullable InstanceRegistration membership;

	/**
	 * Unanswered queries by key, which concurrent callers share: instances limit their
	 * answers, and would seem silent.
	 */
	private final Map<Optional<String>, CompletableFuture<FleetReport>> questions = new ConcurrentHashMap<>();

	private final long startedAt;

	private final Map<Kind, FleetCatalog> catalogs = new EnumMap<>(Kind.class);

	private Fleet(LeaseEngine engine) {
		this.context = engine.context();
		this.startedAt = this.context.scheduler.nanoTime();
		this.reporter = engine.reporter();
		for (Kind kind : Kind.values()) {
			this.catalogs.put(kind,
					new FleetCatalog(this.context.scheduler::nanoTime, (cursor) -> part(kind, cursor, KEYS_PER_STEP, 1),
							(keys) -> lookAt(kind, keys, MAX_PER_LISTED_KEY)));
		}
	}

	/**
	 * Return the fleet of an engine. From the first call on, the engine answers queries
	 * of other instances.
	 * @param engine the engine
	 */
	public static Fleet of(LeaseEngine engine) {
		return (Fleet) engine.directory(Fleet::new);
	}

	/**
	 * Register this instance in the background, from the start of its engine until the
	 * shutdown. An instance that is incompatible with the fleet gets no leases. Other
	 * failures are logged once, and have no effect on leases.
	 * @param info supplies the description of this instance; called once, may block
	 */
	public void register(Supplier<InstanceInfo> info) {
		InstanceRegistration known = new InstanceRegistration(this.context, this::age, info);
		this.membership = known;
		if (this.context.isStarted()) {
			known.join();
		}
	}

	/**
	 * Wait for the check of this instance's compatibility with the fleet.
	 * @param patience the maximum wait
	 * @return the reason why this instance gets no leases, with a remedy; {@code null} if
	 * it gets leases, or if the result is not known yet
	 */
	public @Nullable String awaitCompatibilityCheck(Duration patience) {
		InstanceRegistration known = this.membership;
		if (known == null) {
			return null;
		}
		try {
			this.context.await(known.requestAdmission(), patience,
					(error) -> EngineExceptions.storeTrouble("The comparison of versions", error));
		}
		catch (LeaseStoreException ex) {
			// Requests will report the missing answer.
		}
		return known.incompatibility();
	}

	@Override
	public void answer(String name) {
		// Do not answer an instance that floods this instance with queries.
		if (this.answering.incrementAndGet() > MAX_CONCURRENT_ANSWERS) {
			this.answering.decrementAndGet();
			return;
		}
		this.context
			.call(() -> EngineContext.sendUnobserved(() -> this.reporter.answer(ReportCollector.wantedKey(name)))
				.thenCompose((report) -> this.context.sendInTime(Command.FLEET,
						() -> this.context.store.instances().answer(name, ReportCodec.of(report))))
				.whenComplete((done, error) -> this.answering.decrementAndGet()));
	}

	/**
	 * Return the public id of this instance. Does not block.
	 * @return 8 hexadecimal digits, from which the secret id cannot be derived
	 */
	public String instance() {
		return Tokens.shown(this.context.ensureStarted());
	}

	/**
	 * Return the description of this instance. Does not block.
	 * @return the description, or {@code null} if it is not known (yet)
	 */
	public @Nullable InstanceInfo info() {
		InstanceRegistration known = this.membership;
		return (known != null) ? known.info() : null;
	}

	/**
	 * Return the registered instances that share the store.
	 * @return the instances, the most recently refreshed first
	 */
	public List<Member> members() {
		List<Member> members = answer(
				this.context
					.sendInTime(Command.FLEET,
							() -> this.context.store.instances()
								.members(InstanceRegistration.RETENTION, MAX_PER_SINGLE_KEY)),
				"The search for instances");
		Optional.ofNullable(this.membership).ifPresent((known) -> known.copy(members));
		return members;
	}

	@Override
	public @Nullable LockHolder holder(String instance) {
		return members().stream()
			.filter((member) -> member.instance().equals(instance))
			.map((member) -> InstanceRegistration.holder(instance, member.info()))
			.findFirst()
			.orElse(null);
	}

	/**
	 * Return an instance from the local copy of the register. Does not block.
	 * @param instance the name of the instance, 8 hexadecimal digits
	 * @return the instance, or {@code null} if the copy does not have it
	 */
	public @Nullable LockHolder findKnown(String instance) {
		InstanceRegistration known = this.membership;
		return (known != null) ? known.findKnown(instance) : null;
	}

	/**
	 * Return the age of this instance. Does not block.
	 * @return the time since the creation of the engine
	 */
	public Duration age() {
		return Duration.ofNanos(this.context.scheduler.nanoTime() - this.startedAt);
	}

	/**
	 * Return the holds and waits of this instance. Does not ask the store.
	 * @param key the only key to include, or {@code null} for all keys
	 * @return the report
	 */
	public InstanceReport report(@Nullable String key) {
		return answer(this.reporter.report(key), OWN_REPORT);
	}

	/**
	 * Return the holds of this instance. Does not block.
	 * @return the report without waits, marked as cut
	 */
	public InstanceReport holds() {
		return this.reporter.holds();
	}

	/**
	 * Return the holds and waits of all instances. Queries all instances, and waits for
	 * their answers for one second at most. An instance that receives no notifications
	 * does not answer. Concurrent calls for one key share a query.
	 * @param key the key whose entries come first, so that a cut report has them; or
	 * {@code null}
	 * @return the reports
	 */
	public FleetReport reports(@Nullable String key) {
		String name = ReportCollector.name(key);
		InstanceReport own = answer(this.reporter.answer(ReportCollector.wantedKey(name)), OWN_REPORT);
		Optional<String> subject = Optional.ofNullable(key);
		CompletableFuture<FleetReport> question = this.questions.compute(subject,
				(k, current) -> (current != null && !current.isDone()) ? current
						: new ReportCollector(this.context, own, name).ask(this.context.ensureStarted()));
		try {
			return this.context.await(question,
					this.context.settings.commandTimeout().plusNanos(ReportCollector.PATIENCE),
					(error) -> EngineExceptions.storeTrouble("The question to all instances", error));
		}
		finally {
			// Later calls must not wait for a query without an answer.
			this.questions.remove(subject, question);
		}
	}

	@Override
	public @Nullable Entry find(String key, TokenState holder) {
		return reports(key).find(holder);
	}

	/**
	 * Return the deadlocks of the fleet. If the reports show cycles, queries the
	 * instances again, and ignores waits that have ended in between.
	 * @param reports the reports of the instances
	 * @return the deadlocks
	 */
	public List<Deadlock> cycles(FleetReport reports) {
		return DeadlockFinder.find(reports).isEmpty() ? List.of()
				: DeadlockFinder.find(reports.entriesAlsoIn(reports(null)));
	}

	/**
	 * Return a page of all resources that are held or waited for, or have an operator's
	 * limit, in no order.
	 * @param kind the kind of resource
	 * @param cursor the cursor of the previous page, or {@code null} for the first page
	 * @param wanted the desired size of the page, at least 1; the page may be slightly
	 * larger, or smaller if a search in the store takes too long
	 * @return the page
	 * @throws IllegalArgumentException if the cursor is invalid
	 */
	public Standings page(Kind kind, @Nullable String cursor, int wanted) {
		long until = this.context.scheduler.nanoTime() + PAGE_NANOS;
		List<Standing> found = new ArrayList<>();
		String next = cursor;
		do {
			Standings part = part(kind, next, wanted - found.size(), MAX_PER_LISTED_KEY);
			found.addAll(part.standings());
			next = part.cursor();
		}
		while (next != null && found.size() < wanted && this.context.scheduler.nanoTime() - until < 0);
		return new Standings(found, next);
	}

	private Standings part(Kind kind, @Nullable String cursor, int wanted, int most) {
		// Not inside send(..), where an invalid cursor would become a failure of the
		// store.
		CompletableFuture<Page> scan = this.context.store.fleet().scan(kind, cursor, wanted);
		Page page = answer(this.context.sendInTime(Command.INSPECT, () -> scan), "The search for " + what(kind));
		List<Find> finds = page.finds();
		List<Standing> standings = lookAt(kind, finds.stream().map(Find::key), most);
		return new Standings(IntStream.range(0, finds.size())
			.filter((i) -> finds.get(i).counts(standings.get(i)))
			.mapToObj(standings::get)
			.toList(), page.cursor());
	}

	/**
	 * Return a page of the resources that match a query, with totals. Scans the store for
	 * one second at most, and continues the scan with the next call.
	 * @param kind the kind of resource
	 * @param query the query
	 * @param summaries the summaries of the instances' reports, by key
	 * @return the page, with current holders, selected by a catalogue that may be older
	 */
	public Found find(Kind kind, StandingQuery query, Map<String, KeySummary> summaries) {
		return Objects.requireNonNull(this.catalogs.get(kind)).find(query, summaries);
	}

	private static String what(Kind kind) {
		return kind.name().toLowerCase(Locale.ROOT) + "s";
	}

	private List<Standing> lookAt(Kind kind, Stream<String> keys, int most) {
		List<CompletableFuture<Standing>> looks = keys
			.map((key) -> this.context.inspect(new Resource(kind, key), most, most))
			.toList();
		answer(CompletableFuture.allOf(looks.toArray(CompletableFuture[]::new)), "The inspection of " + what(kind));
		return looks.stream().map(CompletableFuture::join).toList();
	}

	/**
	 * Return the holders and waiters of a resource.
	 * @param resource the lock or semaphore
	 * @return the holders and waiters
	 */
	public Standing look(Resource resource) {
		return answer(this.context.inspect(resource, MAX_PER_SINGLE_KEY, MAX_PER_SINGLE_KEY).thenCompose((standing) -> {
			boolean seen = resource.kind() == Kind.SEMAPHORE || !standing.isEmpty();
			return seen ? CompletableFuture.completedFuture(standing) : lookForForeign(standing);
		}), "The inspection of '" + resource.key() + "'");
	}

	/**
	 * Check for a foreign value of another type at the key, which lists omit, but which
	 * blocks all requests.
	 */
	private CompletableFuture<Standing> lookForForeign(Standing empty) {
		Resource resource = empty.resource();
		CompletableFuture<Standing> answer = this.context.inspect(resource, 0, 0).thenApply((state) -> empty);
		return answer.exceptionallyCompose((error) -> EngineExceptions.isTemporary(error)
				? CompletableFuture.failedFuture(error) : CompletableFuture.completedFuture(new Standing(resource, -1,
						0, null, 0, 0, 1, List.of(new TokenState("", Resource.ALL, -1)), 0, List.of())));
	}

	private <T> T answer(CompletableFuture<T> command, String what) {
		return this.context.await(command, this.context.settings.commandTimeout(),
				(error) -> EngineExceptions.storeTrouble(what, error));
	}

	/**
	 * A page of all locks, or of all semaphores.
	 *
	 * @param standings the resources on the page
	 * @param cursor the cursor of the next page, or {@code null} if there is none
	 */
	public record Standings(List<Standing> standings, @Nullable String cursor) {
	}

	/**
	 * A page of matches of a query.
	 *
	 * @param standings the current state of the resources; without holders if a resource
	 * was released since the scan
	 * @param late the held keys that were not renewed in time
	 * @param matching the number of resources that match the query
	 * @param total the number of all resources
	 * @param held the number of held resources
	 * @param waiting the known number of waiters
	 * @param complete whether the numbers cover all resources
	 * @param age the age of the numbers
	 */
	public record Found(List<Standing> standings, Set<String> late, int matching, int total, int held, long waiting,
			boolean complete, Duration age) {
	}

}
