package io.holdfast.engine.queue;

import java.util.Collection;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Stream;

import io.holdfast.LeaseContext;
import io.holdfast.engine.context.EngineContext;
import io.holdfast.engine.handover.HandOverRules;
import io.holdfast.engine.lease.HoldLosses;
import io.holdfast.engine.lease.LeaseRenewer;
import io.holdfast.engine.observe.RequestObservation;
import io.holdfast.engine.release.TokenReleases;
import io.holdfast.engine.request.ResolvedRequest;
import io.holdfast.engine.store.Resource;
import io.holdfast.engine.store.Resource.Kind;
import io.holdfast.engine.store.Tokens;
import org.jspecify.annotations.Nullable;

/**
 * The coordinators of an instance, each for as long as something needs it, and what waits
 * at them. A request enters by {@link #acquire}. Thread-safe.
 */
public final class CoordinatorRegistry implements CoordinatorParts.Registry {

	private final EngineContext context;

	private final CoordinatorParts parts;

	/** By kind and key. */
	private final Map<Kind, Map<String, ResourceCoordinator>> coordinators = new EnumMap<>(Kind.class);

	/** The contenders of this instance in the store, by token. */
	private final Map<String, Contender> contenders = new ConcurrentHashMap<>();

	/** How many requests stand in the queues of the coordinators. */
	private final AtomicInteger queued = new AtomicInteger();

	/** The number of the last request. */
	final AtomicLong lastNumber = new AtomicLong();

	/**
	 * Create the registry of an instance.
	 * @param context the surroundings of the instance
	 * @param losses reports lost holds
	 * @param renewer renews what is held
	 * @param releases ends tokens in the store
	 */
	public CoordinatorRegistry(EngineContext context, HoldLosses losses, LeaseRenewer renewer, TokenReleases releases) {
		this.context = context;
		for (Kind kind : Kind.values()) {
			this.coordinators.put(kind, new ConcurrentHashMap<>());
		}
		this.parts = new CoordinatorParts(context, losses, renewer, releases, this, new HandOverRules(context));
	}

	/**
	 * Begin to wait for a resource.
	 * @param request what is asked for
	 * @param thread the thread that asks, or {@code null} if it is asynchronous
	 * @param context the leases under which it asks
	 * @param whole what it is a part of, or {@code null}
	 * @param observation what observes it, or {@code null}
	 * @return the waiter
	 */
	public Waiter acquire(ResolvedRequest request, @Nullable Thread thread, LeaseContext context,
			Waiter.@Nullable WholeAcquisition whole, @Nullable RequestObservation observation) {
		// First: a start that fails must leave no user behind.
		String instanceId = this.context.ensureStarted();
		ResourceCoordinator coordinator = addUser(request.resource());
		Waiter waiter = new Waiter(coordinator, instanceId, this.lastNumber.incrementAndGet(), request, thread, context,
				whole, observation);
		if (whole != null) {
			whole.waitFor(waiter);
		}
		coordinator.begin(waiter);
		return waiter;
	}

	private ResourceCoordinator addUser(Resource resource) {
		return ofKind(resource.kind()).compute(resource.key(), (key, existing) -> {
			if (existing == null) {
				return create(resource);
			}
			existing.addUser();
			return existing;
		});
	}

	private Map<String, ResourceCoordinator> ofKind(Kind kind) {
		return Objects.requireNonNull(this.coordinators.get(kind));
	}

	private ResourceCoordinator create(Resource resource) {
		return switch (resource.kind()) {
			case LOCK -> new LockCoordinator(this.parts, resource);
			case SEMAPHORE -> new PermitCoordinator(this.parts, resource);
		};
	}

	/** Return the coordinator of a resource, or {@code null} if nothing needs one. */
	public @Nullable ResourceCoordinator find(Resource resource) {
		return ofKind(resource.kind()).get(resource.key());
	}

	/** Return the coordinators that there are. */
	public Stream<ResourceCoordinator> coordinators() {
		return this.coordinators.values().stream().flatMap((some) -> some.values().stream());
	}

	/** Return the waiters at all coordinators, when each coordinator has answered. */
	public CompletableFuture<List<Waiter>> waiters() {
		return waiters(coordinators());
	}

	/**
	 * Return how many requests wait for some resources, when each coordinator has
	 * answered. Requests that try once are not counted.
	 */
	public CompletableFuture<Integer> waiting(Resource... resources) {
		return waiters(Stream.of(resources).map(this::find).filter(Objects::nonNull))
			.thenApply((waiters) -> (int) waiters.stream()
				.filter((waiter) -> waiter.request.waits() && !waiter.result().isDone())
				.count());
	}

	private static CompletableFuture<List<Waiter>> waiters(Stream<ResourceCoordinator> coordinators) {
		List<CompletableFuture<List<Waiter>>> answers = coordinators.map(ResourceCoordinator::waiters).toList();
		return CompletableFuture.allOf(answers.toArray(CompletableFuture[]::new))
			.thenApply((done) -> answers.stream().map(CompletableFuture::join).flatMap(List::stream).toList());
	}

	/** Return whether nothing is held or waited for, as far as coordinators know. */
	public boolean isEmpty() {
		return this.coordinators.values().stream().allMatch(Map::isEmpty) && this.contenders.isEmpty();
	}

	/** Return the contenders of this instance in the store. */
	public Collection<Contender> contenders() {
		return this.contenders.values();
	}

	@Override
	public @Nullable Contender contender(String token) {
		return this.contenders.get(token);
	}

	@Override
	public Contender addContender(ContenderHost coordinator, Waiter waiter) {
		String token = Tokens.of(waiter.instanceId, waiter.number);
		Contender contender = new Contender(coordinator, token, waiter);
		this.contenders.put(token, contender);
		return contender;
	}

	@Override
	public void removeContender(String token) {
		this.contenders.remove(token);
	}

	@Override
	public void addQueued(int more) {
		this.queued.addAndGet(more);
	}

	@Override
	public int waiting() {
		return this.queued.get() + this.contenders.size();
	}

	@Override
	public void removeUser(Resource resource) {
		ofKind(resource.kind()).computeIfPresent(resource.key(),
				(key, coordinator) -> coordinator.removeUser() ? null : coordinator);
	}

}
