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
 * An instance's access to the store of a {@link Simulation}, by a connection on which
 * goes wrong what is planned, and wrong by itself as a {@link Mutant} wants it.
 */
final class SimulatedStore implements LeaseStore {

	private final Simulation simulation;

	private final SimulatedInstance instance;

	private final MemoryLeaseStore store;

	final SimulatedConnection connection;

	private final SimulatedMembers members;

	/** What users hold, by its token. */
	final Map<String, String> leases = new HashMap<>();

	/** When their grant was confirmed, of tokens. */
	private final Map<String, Long> confirmed = new HashMap<>();

	/** Tokens whose grant was not. */
	private final Set<String> unconfirmed = new HashSet<>();

	/** How tokens ask for locks. */
	private final Map<String, Mode> modes = new HashMap<>();

	private StoreNotifications wakeUps;

	/** Whether others may take its waiters out of the queue, as it does not listen. */
	boolean absent;

	/** As a {@link Mutant} wants it: what it is told of is taken back then. */
	private boolean announcedTooSoon;

	/**
	 * Create an access.
	 * @param simulation whose
	 * @param instance whose
	 * @param before that of the instance before it, which is dead, in whose place it goes
	 * on
	 */
	SimulatedStore(Simulation simulation, SimulatedInstance instance, @Nullable SimulatedStore before) {
		this.simulation = simulation;
		this.instance = instance;
		this.store = new MemoryLeaseStore(simulation.world);
		this.connection = new SimulatedConnection(simulation, instance, (before != null) ? before.connection : null);
		this.members = new SimulatedMembers(this.connection, this.store.instances(), simulation.mutant);
	}

	/** Lose the subscription for a time, and know it. */
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

	/** Hear what is published, but not count as a subscriber, for a time. */
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

	/** Its subscription is a new one. */
	private void counted() {
		this.store.setCounted(true);
		this.absent = false;
		this.announcedTooSoon = false;
		this.wakeUps.listening();
	}

	// Where grants are confirmed

	/** The number of the server on which a token stands, or -1. */
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

	/** When a token's grant was confirmed, or -1. */
	long confirmedAt(String token) {
		return this.confirmed.getOrDefault(token, -1L);
	}

	/** The process is dead. */
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
					tellEnded(token, nextFence);
					if (SimulatedStore.this.simulation.mutant != Mutant.UNHEARD_FORCE) {
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

	/** Note that the instance hears of a lease that was released by force. */
	private void tellEnded(String token, long nextFence) {
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

	/** Note a grant of the store at its time, whether or not its user learns of it. */
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
		AcquireCommand asked = switch (mutant) {
			case SHORT_LEASE -> lasting(command, command.leaseMillis() / 2);
			case NO_END -> lasting(command, command.leaseMillis() * 1000);
			default -> command;
		};
		CompletableFuture<AcquireReply> answer = this.connection.send("acquire " + resource, command.token(), resource,
				() -> isRefused(resource, command.token())
						? CompletableFuture.failedFuture(new StoreCommandException("out of memory", true, null))
						: this.store.acquire(resource, asked, enqueue)
							.thenApply((reply) -> answered(resource, reply, command)));
		SimulatedReplicas replicas = this.simulation.replicas;
		if (replicas != null && mutant != Mutant.UNCONFIRMED_GRANTS) {
			return replicas.confirmed(this.instance, resource, command.token(), answer);
		}
		return (mutant == Mutant.TROUBLE_AS_BUSY) ? answer.exceptionally((error) -> new Busy(100, 0, false, null, 0, 0))
				: answer;
	}

	/**
	 * Whether memory is full, and a token that asks is new to the store: what is done for
	 * one that waits or holds begins with a write that Redis allows then. So does what
	 * ends a token, or lengthens its lease.
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

	/** What a token's lease is called, if its user has learnt of it. */
	@Nullable String lease(String token) {
		Hold hold = this.instance.engine.queues.renewer.find(token);
		// What was passed on as a part of more reaches its user with the rest only.
		return (hold != null && hold.isAwaitingOtherKeys()) ? null : this.leases.get(token);
	}

	private static AcquireCommand lasting(AcquireCommand command, long millis) {
		return new AcquireCommand(command.token(), command.permits(), command.limit(), command.fair(), millis, millis);
	}

	/** Note what is granted to a token that has a lease, as it may undo a loss. */
	private void grantedAgain(String token) {
		String lease = lease(token);
		if (lease != null) {
			this.simulation.record(Event.of(now(), Type.GRANTED_AGAIN, this.instance.name).id(lease));
		}
	}

	private AcquireReply answered(Resource resource, AcquireReply reply, AcquireCommand command) {
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
		if (this.simulation.mutant == Mutant.FORCE_IN_VAIN) {
			return CompletableFuture.completedFuture(tokens.stream().map((token) -> true).toList());
		}
		// What this instance has is lost already, whatever becomes of the command.
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

	/** Who takes another one's place has to ask where grants are confirmed. */
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
		// What renews several leases may be repeated when some of them only are over.
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

	/** The tokens that hold something, and the text of a foreign owner. */
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
