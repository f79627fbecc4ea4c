package io.holdfast.engine.fleet;

import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
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
import io.holdfast.engine.fleet.FleetReport.Told;
import io.holdfast.engine.store.FleetStore.Find;
import io.holdfast.engine.store.FleetStore.Page;
import io.holdfast.engine.store.FleetStore.Standing;
import io.holdfast.engine.store.FleetStore.TokenState;
import io.holdfast.engine.store.InstanceInfo;
import io.holdfast.engine.store.InstanceStore.Member;
import io.holdfast.engine.store.Resource;
import io.holdfast.engine.store.Resource.Kind;
import io.holdfast.engine.store.Tokens;
import org.jspecify.annotations.Nullable;

/**
 * View of holders and waiters in all instances that share an engine's store, for
 * operators. Nothing here contains a token or an instance's id. Its methods block until
 * the store has answered, and throw {@link LeaseStoreException} if it fails. Thread-safe.
 */
public final class Fleet implements InstanceDirectory {

	/** How many holders and how many of a queue are named in a list. */
	public static final int MOST_IN_LIST = 100;

	/** How many holders and how many of a queue are named of one key. */
	public static final int MOST_OF_ONE = 1000;

	/** How many are looked at in one step of a walk over all of them. */
	private static final int KEYS_PER_STEP = 500;

	/** How many questions of others are answered at a time. */
	private static final int MOST_ANSWERS = 8;

	/** How long a page is looked for; then it is as long as it is. */
	private static final long PAGE_NANOS = TimeUnit.SECONDS.toNanos(1);

	private static final String LOOK_HERE = "The look at this instance";

	private final EngineContext context;

	private final Reporter reporter;

	private final AtomicInteger answering = new AtomicInteger();

	private volatile @Nullable InstanceRegistration membership;

	/** The questions that are not answered yet, by the key asked for; guards itself. */
	private final Map<@Nullable String, CompletableFuture<FleetReport>> questions = new HashMap<>();

	private final long startedAt;

	private final Map<Kind, FleetCatalog> catalogs = new EnumMap<>(Kind.class);

	private Fleet(LeaseEngine engine) {
		this.context = engine.context();
		this.startedAt = this.context.scheduler.nanoTime();
		this.reporter = engine.reporter();
		for (Kind kind : Kind.values()) {
			this.catalogs.put(kind, new FleetCatalog(this.context.scheduler::nanoTime,
					(cursor) -> part(kind, cursor, KEYS_PER_STEP, 1), (keys) -> lookAt(kind, keys, MOST_IN_LIST)));
		}
	}

	/**
	 * Return the fleet as an instance sees it. The first call lets the instance answer
	 * the questions of others.
	 * @param engine the engine of the instance
	 */
	public static Fleet of(LeaseEngine engine) {
		return (Fleet) engine.directory(Fleet::new);
	}

	/**
	 * Show this instance to operators, from its engine's start on until that is shut
	 * down. Done in the background. It gets no leases if others do not fit it; other
	 * trouble is logged once, and harms nothing.
	 * @param info tells of this instance, once; may block
	 */
	public void introduce(Supplier<InstanceInfo> info) {
		InstanceRegistration known = new InstanceRegistration(this.context, this::age, info);
		this.membership = known;
		if (this.context.isStarted()) {
			known.join();
		}
	}

	/**
	 * Wait until it is known whether the other instances fit this one.
	 * @param patience for how long at most
	 * @return why this one gets no leases, with a cure; {@code null} if it does, or if
	 * that is not known yet
	 */
	public @Nullable String awaitMisfit(Duration patience) {
		InstanceRegistration known = this.membership;
		if (known == null) {
			return null;
		}
		try {
			this.context.await(known.requestAdmission(), patience,
					(error) -> EngineExceptions.storeTrouble("The comparison of versions", error));
		}
		catch (LeaseStoreException ex) {
			// Without an answer, requests are told so.
		}
		return known.misfit();
	}

	@Override
	public void answer(String name) {
		// An instance that floods this one with questions gets no more answers.
		if (this.answering.incrementAndGet() > MOST_ANSWERS) {
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
	 * Public id of this instance.
	 * @return eight hexadecimal digits, from which its id cannot be told
	 */
	public String instance() {
		return Tokens.shown(this.context.ensureStarted());
	}

	/**
	 * Return whether the store has answered this instance. Does not block.
	 * @return whether leases may be asked for, as far as is known
	 */
	public boolean isAdmitted() {
		return this.context.isAdmitted();
	}

	/**
	 * Return the description of this instance.
	 * @return its application and so on, or {@code null} if that is not known (yet)
	 */
	public @Nullable InstanceInfo info() {
		InstanceRegistration known = this.membership;
		return (known != null) ? known.info() : null;
	}

	/**
	 * Return the instances that share the store, as far as they are known.
	 * @return the instances, the latest sign of life first
	 */
	public List<Member> members() {
		List<Member> members = answer(
				this.context.sendInTime(Command.FLEET,
						() -> this.context.store.instances().members(InstanceRegistration.RETENTION, MOST_OF_ONE)),
				"The look for instances");
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
	 * Return an instance as it was registered when this one looked last. Does not block.
	 * @param instance the name of the instance, 8 hexadecimal digits
	 * @return the instance, or {@code null} if it was not seen
	 */
	public @Nullable LockHolder named(String instance) {
		InstanceRegistration known = this.membership;
		return (known != null) ? known.named(instance) : null;
	}

	/**
	 * Return how long this instance is there.
	 * @return since its engine was created
	 */
	public Duration age() {
		return Duration.ofNanos(this.context.scheduler.nanoTime() - this.startedAt);
	}

	/**
	 * Return the holds and waits of this instance itself. Asks no store, but fails in the
	 * same way if commands under way are not answered.
	 * @param key the key of the only thing that is wanted, of which all is looked at, or
	 * {@code null}
	 * @return its report
	 */
	public InstanceReport report(@Nullable String key) {
		return answer(this.reporter.report(key), LOOK_HERE);
	}

	/**
	 * Return the holds of this instance itself. Does not wait.
	 * @return its report without its waits, as one that is cut
	 */
	public InstanceReport holds() {
		return this.reporter.holds();
	}

	/**
	 * Return the holds and waits of all instances, as they know them themselves. They are
	 * asked, and have a second to answer; an instance that does not receive wake-ups is
	 * silent. A call during the same question of another thread gets its answers.
	 * @param key the most important key: its holds and waits are in a report that is cut,
	 * too; or {@code null}
	 * @return their reports
	 */
	public FleetReport reports(@Nullable String key) {
		String name = ReportCollector.name(key);
		InstanceReport own = answer(this.reporter.answer(ReportCollector.wantedKey(name)), LOOK_HERE);
		CompletableFuture<FleetReport> question = question(key, name, own);
		try {
			return this.context.await(question,
					this.context.settings.commandTimeout().plusNanos(ReportCollector.PATIENCE),
					(error) -> EngineExceptions.storeTrouble("The question to all instances", error));
		}
		finally {
			// Later calls must not wait for one that is never answered.
			synchronized (this.questions) {
				this.questions.remove(key, question);
			}
		}
	}

	@Override
	public @Nullable Entry find(String key, TokenState holder) {
		return reports(key).find(holder);
	}

	/** Many questions at a time would not be answered, and the living seem silent. */
	private CompletableFuture<FleetReport> question(@Nullable String key, String name, InstanceReport own) {
		synchronized (this.questions) {
			CompletableFuture<FleetReport> current = this.questions.get(key);
			if (current == null || current.isDone()) {
				current = new ReportCollector(this.context, own, name).ask(this.context.ensureStarted());
				this.questions.put(key, current);
			}
			return current;
		}
	}

	/**
	 * Threads that wait for each other's locks in a circle. If there seem to be any the
	 * instances are asked again, so that waits which ended in between are not taken for a
	 * circle.
	 * @param reports the reports of the instances
	 * @return the circles
	 */
	public List<Deadlock> cycles(FleetReport reports) {
		return DeadlockFinder.find(reports).isEmpty() ? List.of() : DeadlockFinder.find(reports.lasting(reports(null)));
	}

	/**
	 * Some of all that is held or waited for, or has a limit, in no order.
	 * @param kind the kind
	 * @param cursor where the page before ended, or {@code null} to begin
	 * @param wanted how many are enough, at least 1; there may be a few more, or fewer if
	 * they are far between in the store
	 * @return a page
	 * @throws IllegalArgumentException if no page ends like that
	 */
	public Standings page(Kind kind, @Nullable String cursor, int wanted) {
		long until = this.context.scheduler.nanoTime() + PAGE_NANOS;
		List<Standing> found = new ArrayList<>();
		String at = cursor;
		do {
			Standings part = part(kind, at, wanted - found.size(), MOST_IN_LIST);
			found.addAll(part.standings());
			at = part.cursor();
		}
		while (at != null && found.size() < wanted && this.context.scheduler.nanoTime() - until < 0);
		return new Standings(found, at);
	}

	private Standings part(Kind kind, @Nullable String cursor, int wanted, int most) {
		// Not inside of send(..), where a mistake of the caller would be a failure of the
		// store.
		CompletableFuture<Page> scan = this.context.store.fleet().scan(kind, cursor, wanted);
		Page page = answer(this.context.sendInTime(Command.INSPECT, () -> scan), "The look for " + what(kind));
		List<Find> finds = page.finds();
		List<Standing> standings = lookAt(kind, finds.stream().map(Find::key), most);
		return new Standings(IntStream.range(0, finds.size())
			.filter((i) -> finds.get(i).counts(standings.get(i)))
			.mapToObj(standings::get)
			.toList(), page.cursor());
	}

	/**
	 * Some of all that is held or waited for, or has a limit, and of how much. Looks
	 * through all of it for a second at most, and goes on there when it is asked again.
	 * @param kind the kind
	 * @param query which of it
	 * @param told the reports of instances by key
	 * @return a page as of now, by a catalogue that may be older
	 */
	public Found find(Kind kind, StandingQuery query, Map<String, Told> told) {
		return Objects.requireNonNull(this.catalogs.get(kind)).find(query, told);
	}

	private static String what(Kind kind) {
		return kind.name().toLowerCase(Locale.ROOT) + "s";
	}

	private List<Standing> lookAt(Kind kind, Stream<String> keys, int most) {
		List<CompletableFuture<Standing>> looks = keys.map((key) -> lookAt(new Resource(kind, key), most)).toList();
		answer(CompletableFuture.allOf(looks.toArray(CompletableFuture[]::new)), "The look at " + what(kind));
		return looks.stream().map(CompletableFuture::join).toList();
	}

	/**
	 * Look at one thing.
	 * @param resource the lock or semaphore
	 * @return the holders and waiters
	 */
	public Standing look(Resource resource) {
		return answer(lookAt(resource, MOST_OF_ONE).thenCompose((standing) -> {
			boolean seen = resource.kind() == Kind.SEMAPHORE || !standing.isEmpty();
			return seen ? CompletableFuture.completedFuture(standing) : lookForForeign(standing);
		}), "The look at '" + resource.key() + "'");
	}

	/** Look for something else at the key, which lists leave out: it keeps all away. */
	private CompletableFuture<Standing> lookForForeign(Standing empty) {
		Resource resource = empty.resource();
		CompletableFuture<Standing> answer = this.context
			.sendInTime(Command.INSPECT, () -> this.context.store.inspect(resource, 0))
			.thenApply((state) -> empty);
		return answer.exceptionallyCompose((error) -> EngineExceptions.isTemporary(error)
				? CompletableFuture.failedFuture(error) : CompletableFuture.completedFuture(new Standing(resource, 0,
						null, 0, 0, 1, List.of(new TokenState(null, 0, Kind.LOCK, Resource.ALL, -1)), 0, List.of())));
	}

	private CompletableFuture<Standing> lookAt(Resource resource, int most) {
		return this.context.sendInTime(Command.INSPECT, () -> this.context.store.fleet().look(resource, most));
	}

	private <T> T answer(CompletableFuture<T> command, String what) {
		return this.context.await(command, this.context.settings.commandTimeout(),
				(error) -> EngineExceptions.storeTrouble(what, error));
	}

	/**
	 * A page of all locks, or of all semaphores.
	 *
	 * @param standings the keys on the page
	 * @param cursor where the next page begins, or {@code null} if there is none
	 */
	public record Standings(List<Standing> standings, @Nullable String cursor) {
	}

	/**
	 * A page of a query's matches.
	 *
	 * @param standings the keys as they are now; one that was released since has no
	 * holders
	 * @param late the held keys that were not renewed in time
	 * @param matching how many match the query
	 * @param total how many there are
	 * @param held how many of them are held
	 * @param waiting how many wait, as far as is known
	 * @param complete whether these numbers count all of it
	 * @param age how old these numbers are
	 */
	public record Found(List<Standing> standings, Set<String> late, int matching, int total, int held, long waiting,
			boolean complete, Duration age) {
	}

}
