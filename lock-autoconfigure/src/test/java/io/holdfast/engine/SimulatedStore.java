package io.holdfast.engine;

import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;

import io.holdfast.engine.store.Commands;
import io.holdfast.engine.store.FleetStore;
import io.holdfast.engine.store.InstanceStore;
import io.holdfast.engine.store.LeaseStore;
import io.holdfast.engine.store.LeaseStore.AcquireReply.Busy;
import io.holdfast.engine.store.LeaseStore.AcquireReply.Granted;
import io.holdfast.engine.store.LeaseStore.Standing;
import io.holdfast.engine.store.LeaseStore.TokenState;
import io.holdfast.engine.store.Resource;
import io.holdfast.engine.store.Resource.Kind;
import io.holdfast.engine.store.StoreCommandException;
import io.holdfast.engine.store.StoreNotifications;
import io.holdfast.engine.store.Tokens;
import io.holdfast.history.Event;
import io.holdfast.history.Event.Mode;
import io.holdfast.history.Event.Type;
import io.holdfast.memory.MemoryLeaseStore;
import org.jspecify.annotations.Nullable;

/**
 * Access of an instance to the store of a {@link Simulation}, with the planned faults of
 * its connection, and the faults of a {@link Mutant}.
 */
final class SimulatedStore implements LeaseStore {

	private final Simulation simulation;

	private final SimulatedInstance instance;

	private final MemoryLeaseStore store;

	final SimulatedConnection connection;

	private final SimulatedMembers members;

	/** Ids of users' leases by token. */
	final Map<String, String> leases = new HashMap<>();

	/** Times of the confirmation of grants, by token. */
	private final Map<String, Long> confirmed = new HashMap<>();

	/** Tokens with an unconfirmed grant. */
	private final Set<String> unconfirmed = new HashSet<>();

	/** Requested modes of locks by token. */
	private final Map<String, Mode> modes = new HashMap<>();

	private StoreNotifications wakeUps;

	/** Whether the store may remove waiters of this instance, which does not listen. */
	boolean absent;

	/** Whether announced grants are withdrawn, for a {@link Mutant}. */
	private boolean announcedTooSoon;

	/**
	 * Create an access.
	 * @param simulation the simulation
	 * @param instance the instance
	 * @param before the store of the dead predecessor, or {@code null}
	 */
	SimulatedStore(Simulation simulation, SimulatedInstance instance, @Nullable SimulatedStore before) {
		this.simulation = simulation;
		this.instance = instance;
		this.store = new MemoryLeaseStore(simulation.world);
		this.connection = new SimulatedConnection(simulation, instance, (before != null) ? before.connection : null);
		this.members = new SimulatedMembers(this.connection, this.store.instances(), simulation.mutant);
	}

	/** Lose the subscription for a time, with notice. */
	void deaf(long nanos) {
		this.simulation.record(Event.of(now(), Type.DEAF, this.instance.name).until(now() + nanos));
		this.store.setListening(false);
		this.absent = true;
		this.instance.at(nanos, () -> {
			if (!this.instance.engine.context.isClosed()) {
				this.store.setListening(true);
				counted();
			}
		});
	}

	/** Receive messages without counting as a subscriber, for a time. */
	void uncounted(long nanos) {
		this.simulation.record(Event.of(now(), Type.DEAF, this.instance.name).until(now() + nanos));
		this.absent = true;
		if (this.simulation.mutant == Mutant.ANNOUNCED_TOO_SOON) {
			this.announcedTooSoon = true;
		}
		else {
			this.store.setCounted(false);
		}
		this.instance.at(nanos, () -> {
			if (this.store.isListening()) {
				counted();
			}
		});
	}

	/** Start a new subscription. */
	private void counted() {
		this.store.setCounted(true);
		this.absent = false;
		this.announcedTooSoon = false;
		this.wakeUps.listening();
	}

	// Confirmation of grants

	/** Return the number of the server with a token's grant, or -1. */
	CompletableFuture<Integer> stands(Resource resource, String token, SimulatedReplicas replicas) {
		return this.connection.send("confirm", "", resource, () -> {
			boolean stands = holders(this.store, resource).contains(token);
			return CompletableFuture.completedFuture(stands ? replicas.failOvers() : -1);
		});
	}

	void confirmed(String token) {
		this.unconfirmed.remove(token);
		this.confirmed.put(token, now());
	}

	void unconfirmed(String token) {
		this.unconfirmed.add(token);
		this.simulation.record(Event.of(now(), Type.UNCONFIRMED, this.instance.name));
	}

	/** Return the time at which a token's grant was confirmed, or -1. */
	long confirmedAt(String token) {
		return this.confirmed.getOrDefault(token, -1L);
	}

	/** End the subscription of a dead process. */
	void cut() {
		this.store.setListening(false);
	}

	private long now() {
		return this.simulation.now();
	}

	// LeaseStore

	@Override
	public void start(String instanceId, StoreNotifications wakeUps) {
		this.wakeUps = wakeUps;
		this.announcedTooSoon = false;
		this.store.start(instanceId, new StoreNotifications() {

			@Override
			public void granted(Resource resource, String token, long fence, long ttlMillis) {
				storeGranted(resource, token, fence);
				boolean unconfirmed = SimulatedStore.this.simulation.replicas != null && ttlMillis > 0;
				SimulatedStore.this.connection.wakeUp(() -> grantedAgain(token),
						unconfirmed ? () -> wakeUps.grantedUnconfirmed(resource, token, fence)
								: () -> wakeUps.granted(resource, token, fence, ttlMillis));
				if (SimulatedStore.this.announcedTooSoon) {
					SimulatedStore.this.simulation.operator.release(resource, AcquireCommand.unknown(token, 1), null);
				}
			}

			@Override
			public void ended(String token, long nextFence) {
				SimulatedStore.this.connection.wakeUp(() -> {
					recordEnded(token, nextFence);
					if (SimulatedStore.this.simulation.mutant != Mutant.IGNORED_FORCE) {
						wakeUps.ended(token, nextFence);
					}
				});
			}

			@Override
			public void reportWanted(String report) {
				SimulatedStore.this.connection.wakeUp(() -> wakeUps.reportWanted(report));
			}

			@Override
			public void listening() {
				SimulatedStore.this.instance.at(Simulation.MILLI, wakeUps::listening);
			}

		});
	}

	/** Record that the instance learns of a forced release. */
	private void recordEnded(String token, long nextFence) {
		Hold hold = this.instance.engine.queues.renewer.find(token);
		String lease = lease(token);
		if (lease != null && (hold == null || hold.fence < nextFence)) {
			this.simulation.record(Event.of(now(), Type.ENDED, this.instance.name).id(lease));
		}
	}

	@Override
	public void stop() {
		if (this.simulation.mutant != Mutant.ENDLESS_SUBSCRIPTION) {
			this.store.stop();
		}
	}

	@Override
	public boolean isListening() {
		return this.store.isListening();
	}

	@Override
	public long reconnects() {
		return (this.simulation.mutant != Mutant.UNNOTICED_RECONNECTS) ? this.connection.reconnects() : 0;
	}

	@Override
	public boolean mayRun(CompletableFuture<?> command) {
		return this.connection.mayRun(command);
	}

	@Override
	public long unreachedNanos() {
		return this.connection.unreachedNanos();
	}

	/**
	 * Record a grant at its time in the store, even if its user never learns of the
	 * grant.
	 */
	private void storeGranted(Resource resource, String token, long fence) {
		if (resource.kind() == Kind.LOCK && this.simulation.isNewGrant(token, fence)) {
			Mode mode = this.modes.getOrDefault(token, Mode.EXCLUSIVE);
			this.simulation
				.record(Event.of(now(), Type.STORE_GRANTED, this.instance.name).of(mode, resource.key()).fence(fence));
		}
	}

	@Override
	public CompletableFuture<AcquireReply> acquire(Resource resource, AcquireCommand command, boolean enqueue) {
		this.modes.put(command.token(), mode(resource, command.permits()));
		Mutant mutant = this.simulation.mutant;
		AcquireCommand sent = switch (mutant) {
			case SHORT_LEASE -> lasting(command, command.leaseMillis() / 2);
			case NO_END -> lasting(command, command.leaseMillis() * 1000);
			default -> command;
		};
		CompletableFuture<AcquireReply> answer = this.connection.send("acquire " + resource, command.token(), resource,
				() -> isRefused(resource, command.token())
						? CompletableFuture.failedFuture(new StoreCommandException("out of memory", true, null))
						: this.store.acquire(resource, sent, enqueue)
							.thenApply((reply) -> recordGrant(resource, reply, command)));
		SimulatedReplicas replicas = this.simulation.replicas;
		if (replicas != null && mutant != Mutant.UNCONFIRMED_GRANTS) {
			return replicas.confirmed(this.instance, resource, command.token(), answer);
		}
		return (mutant == Mutant.TROUBLE_AS_BUSY)
				? answer.exceptionally((error) -> new Busy(100, 0, false, null, 0, 0, false)) : answer;
	}

	/**
	 * Return whether a request is refused for full memory. Only new tokens are refused:
	 * for waiters and holders, the script begins with a write that Redis still allows.
	 * Releases and renewals are never refused.
	 */
	private boolean isRefused(Resource resource, String token) {
		if (!this.simulation.isFull()) {
			return false;
		}
		Standing now = this.store.inspect(resource, Integer.MAX_VALUE, Integer.MAX_VALUE).join();
		boolean waits = isAmong(now.queue(), token);
		if (!waits && !isAmong(now.holders(), token)) {
			this.simulation
				.record(Event.of(now(), Type.FULL, this.instance.name).of(mode(resource, 1), resource.key()));
			return true;
		}
		return waits && this.simulation.mutant == Mutant.FULL_FOR_WAITERS;
	}

	private static boolean isAmong(List<TokenState> places, String token) {
		return places.stream().anyMatch((place) -> place.token().equals(token));
	}

	/**
	 * Return the id of a token's lease, or {@code null} if its user has not received the
	 * lease.
	 */
	@Nullable String lease(String token) {
		Hold hold = this.instance.engine.queues.renewer.find(token);
		// A part of a lease of several keys reaches its user with the last key.
		return (hold != null && hold.isAwaitingOtherKeys()) ? null : this.leases.get(token);
	}

	private static AcquireCommand lasting(AcquireCommand command, long millis) {
		return new AcquireCommand(command.token(), command.permits(), command.limit(), command.fair(), millis, millis);
	}

	/** Record a grant for a token with a lease, as the grant may undo a loss. */
	private void grantedAgain(String token) {
		String lease = lease(token);
		if (lease != null) {
			this.simulation.record(Event.of(now(), Type.GRANTED_AGAIN, this.instance.name).id(lease));
		}
	}

	private AcquireReply recordGrant(Resource resource, AcquireReply reply, AcquireCommand command) {
		if (!(reply instanceof Granted granted)) {
			return reply;
		}
		storeGranted(resource, command.token(), granted.fence());
		grantedAgain(command.token());
		return switch (this.simulation.mutant) {
			case OLD_FENCE -> new Granted(64, granted.ttlMillis());
			case SHORT_LEASE, NO_END -> new Granted(granted.fence(), command.leaseMillis());
			default -> reply;
		};
	}

	@Override
	public CompletableFuture<ReleaseReply> release(Resource resource, AcquireCommand ended,
			@Nullable AcquireCommand next) {
		if (this.simulation.mutant == Mutant.UNCONFIRMED_KEPT && this.unconfirmed.contains(ended.token())) {
			return CompletableFuture.completedFuture(new ReleaseReply(true, null, true));
		}
		if (next != null) {
			this.modes.put(next.token(), mode(resource, next.permits()));
		}
		return this.connection.send("release " + resource + ((next != null) ? " for another" : ""), ended.token(),
				resource, () -> {
					String owner = (this.simulation.mutant == Mutant.BLIND_RELEASE && resource.kind() == Kind.LOCK)
							? this.store.inspect(resource, 0, 0).join().owner() : null;
					if (owner != null && !owner.equals(ended.token())) {
						this.store.release(resource, AcquireCommand.unknown(owner, 1), null);
					}
					return this.store.release(resource, ended, next).thenApply((reply) -> {
						if (next != null && reply.next() instanceof Granted granted) {
							storeGranted(resource, next.token(), granted.fence());
						}
						return withoutGrant(reply);
					});
				});
	}

	@Override
	public CompletableFuture<List<Boolean>> force(Resource resource, List<String> tokens) {
		if (this.simulation.mutant == Mutant.INEFFECTIVE_FORCE) {
			return CompletableFuture.completedFuture(tokens.stream().map((token) -> true).toList());
		}
		// Own leases are lost before the command, for any result of the command.
		tokens.stream()
			.filter((token) -> token.startsWith(this.instance.id()))
			.forEach((own) -> this.simulation.record(Event.of(now(), Type.FORCED, "")
				.of(mode(resource, 1), resource.key())
				.id(this.simulation.leaseOf(own))));
		String token = (tokens.size() == 1) ? tokens.get(0) : "";
		return this.connection.send("force " + resource, token, resource,
				() -> this.store.force(resource, tokens).thenApply((released) -> {
					for (int i = 0; i < tokens.size(); i++) {
						if (released.get(i)) {
							this.simulation.forced(resource, this.simulation.leaseOf(tokens.get(i)));
						}
					}
					return released;
				}));
	}

	/** Remove a grant from the answer, as grants to the next token are not confirmed. */
	private ReleaseReply withoutGrant(ReleaseReply reply) {
		return (this.simulation.replicas != null && reply.next() instanceof Granted)
				? new ReleaseReply(reply.released(), null, true) : reply;
	}

	@Override
	public int partOf(Resource resource) {
		return 0;
	}

	@Override
	public CompletableFuture<List<Boolean>> renew(List<Renewal> renewals) {
		if (renewals.isEmpty()) {
			return CompletableFuture.completedFuture(List.of());
		}
		for (Renewal renewal : renewals) {
			String lease = lease(renewal.token());
			if (lease != null) {
				this.simulation.record(Event.of(now(), Type.RENEWAL, this.instance.name)
					.id(lease)
					.lease(renewal.leaseMillis() * Simulation.MILLI));
			}
		}
		Renewal first = renewals.get(0);
		// A renewal of several leases may be repeated after the end of some leases.
		String token = (renewals.size() == 1) ? first.token() : "";
		return this.connection.send("renew", token, first.resource(), () -> {
			if (this.simulation.mutant == Mutant.RENEWAL_CREATES && first.resource().kind() == Kind.LOCK) {
				this.store.acquire(first.resource(),
						Commands.forLock(first.token(), first.leaseMillis(), first.leaseMillis()), false);
			}
			return this.store.renew(renewals);
		});
	}

	@Override
	public CompletableFuture<ReleaseReply> retain(Renewal lease) {
		return this.connection.send("retain", lease.token(), lease.resource(), () -> this.store.retain(lease));
	}

	@Override
	public CompletableFuture<Standing> inspect(Resource resource, int maxHolders, int maxWaiters) {
		return this.connection.send("inspect", "", resource,
				() -> this.store.inspect(resource, maxHolders, maxWaiters));
	}

	@Override
	public CompletableFuture<Boolean> limit(Resource resource, @Nullable Integer limit) {
		return this.connection.send("limit", "", resource, () -> this.store.limit(resource, limit));
	}

	@Override
	public FleetStore fleet() {
		return this.store.fleet();
	}

	@Override
	public InstanceStore instances() {
		return this.members;
	}

	@Override
	public void close() {
		this.store.close();
	}

	/** Return the tokens of the holders, and the text of a foreign owner. */
	static List<String> holders(LeaseStore store, Resource resource) {
		return store.inspect(resource, 100, 0).join().holders().stream().map(TokenState::token).toList();
	}

	static Mode mode(Resource resource, int permits) {
		return switch (resource.kind()) {
			case LOCK -> (permits == 1) ? Mode.READ : Mode.EXCLUSIVE;
			case SEMAPHORE -> Mode.PERMITS;
		};
	}

}
