package io.holdfast.engine;

import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;

import io.holdfast.engine.FleetStore.Family;
import io.holdfast.engine.LeaseStore.AcquireReply.Busy;
import io.holdfast.engine.LeaseStore.AcquireReply.Granted;
import io.holdfast.engine.Resource.Kind;
import io.holdfast.engine.Step.Command;
import io.holdfast.engine.Step.Fate;
import io.holdfast.engine.Step.Outage;
import io.holdfast.engine.Step.WakeUp;
import io.holdfast.history.Event;
import io.holdfast.history.Event.Mode;
import io.holdfast.history.Event.Type;
import io.holdfast.memory.MemoryLeaseStore;
import org.jspecify.annotations.Nullable;

/**
 * An instance's connection to the store of a {@link Simulation}, in order or not, on
 * which commands, replies and wake-ups are late, lost and repeated as it is planned.
 */
final class SimulatedStore implements LeaseStore {

	private final Simulation simulation;

	private final SimulatedInstance instance;

	private final MemoryLeaseStore store;

	private final SimulatedMembers members;

	private final Map<Integer, Command> fates = new HashMap<>();

	private final Map<Integer, WakeUp> wakeUpFates = new HashMap<>();

	/** What users hold, by its token. */
	final Map<String, String> leases = new HashMap<>();

	/** When their grant was confirmed, of tokens. */
	private final Map<String, Long> confirmed = new HashMap<>();

	/** Tokens whose grant was not. */
	private final Set<String> unconfirmed = new HashSet<>();

	/** Tokens whose release was executed. */
	private final Set<String> over = new HashSet<>();

	private int commands;

	private int wakeUpCount;

	private long lastExecution;

	private long lastReply;

	private long outageUntil;

	private boolean silent;

	private WakeUps wakeUps;

	/**
	 * Create a connection.
	 * @param simulation whose
	 * @param instance whose
	 * @param before that of the instance before it, which is dead, in whose place it goes
	 * on
	 */
	SimulatedStore(Simulation simulation, SimulatedInstance instance, @Nullable SimulatedStore before) {
		this.simulation = simulation;
		this.instance = instance;
		this.store = new MemoryLeaseStore(simulation.world);
		this.members = new SimulatedMembers(this, this.store.instances(), simulation.mutant);
		if (before != null) {
			this.fates.putAll(before.fates);
			this.wakeUpFates.putAll(before.wakeUpFates);
			this.commands = before.commands;
			this.wakeUpCount = before.wakeUpCount;
			if (before.isOut()) {
				outage(before.outageUntil, before.silent);
			}
		}
	}

	void expect(Step step) {
		if (step instanceof Command command) {
			this.fates.put(command.number(), command);
		}
		else if (step instanceof WakeUp wakeUp) {
			this.wakeUpFates.put(wakeUp.number(), wakeUp);
		}
	}

	void outage(Outage outage) {
		outage(now() + outage.millis() * Simulation.MILLI, outage.silent());
	}

	private void outage(long until, boolean silent) {
		this.outageUntil = Math.max(this.outageUntil, until);
		this.silent = silent;
		this.simulation.record(Event.of(now(), Type.OUTAGE, this.instance.name).until(until));
		trouble(until - now());
	}

	private boolean isOut() {
		return this.outageUntil - now() > 0;
	}

	/** Lose the subscription for a time, and know it. */
	void deaf(long nanos) {
		this.simulation.record(Event.of(now(), Type.DEAF, this.instance.name).until(now() + nanos));
		this.store.setListening(false);
		this.instance.at(nanos, () -> {
			if (!this.instance.engine.isClosed()) {
				this.store.setListening(true);
				this.wakeUps.listening();
			}
		});
	}

	// Where grants are confirmed

	/** The number of the server on which a token stands, or -1. */
	CompletableFuture<Integer> stands(Resource resource, String token, SimulatedReplicas replicas) {
		return send("confirm", "", resource, () -> {
			boolean stands = (resource.kind() == Kind.LOCK) ? token.equals(this.store.inspect(resource).join().owner())
					: this.store.inspectPermits(resource, 100)
						.join()
						.holders()
						.stream()
						.anyMatch((holder) -> holder.token().equals(token));
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

	private void trouble(long nanos) {
		this.simulation.record(Event.of(now(), Type.TROUBLE, this.instance.name).until(now() + nanos));
	}

	/**
	 * How long something takes on its way; up to 2 ms, or longer on several connections.
	 */
	private long latency(int number, int way) {
		if (!this.simulation.plan.setup().jitter()) {
			return Simulation.MILLI / 2;
		}
		long dice = this.simulation.dice(this.instance.number, 4L * number + way);
		boolean slow = !isOrdered() && (dice & 7) == 0;
		return Simulation.MILLI / 10 + (dice >>> 24) % ((slow ? 15 : 2) * Simulation.MILLI);
	}

	<T> CompletableFuture<T> send(String what, String token, @Nullable Resource resource,
			Supplier<CompletableFuture<T>> command) {
		CompletableFuture<T> answer = new CompletableFuture<>();
		int number = this.commands++;
		Command planned = this.simulation.areFaultsOver() ? null : this.fates.get(number);
		Fate fate = (planned != null) ? planned.fate() : null;
		long late = (planned != null) ? planned.millis() * Simulation.MILLI : 0;
		if (fate != null && fate != Fate.REPEATED && fate != Fate.REPEATED_LATE) {
			trouble(late);
		}
		long execution = now() + latency(number, 0) + ((fate == Fate.LATE) ? late : 0);
		if (isOrdered()) {
			execution = Math.max(this.lastExecution, execution);
			this.lastExecution = execution;
		}
		this.simulation.at(execution - now(), () -> {
			if (answer.isCancelled() && (this.simulation.dice(this.instance.number, 4L * number + 2) & 1) == 0) {
				this.simulation.trace(() -> this.instance.name + ": #" + number + " " + what + " was given up");
			}
			else if (isOut()) {
				meetOutage(number, what, answer, command);
			}
			else {
				execute(number, what, token, resource, command, answer, fate, late);
			}
		});
		return answer;
	}

	/** Errors, or silence after which some of what was sent arrives all the same. */
	private <T> void meetOutage(int number, String what, CompletableFuture<T> answer,
			Supplier<CompletableFuture<T>> command) {
		this.simulation.trace(() -> this.instance.name + ": #" + number + " " + what + " meets the outage");
		if (!this.silent) {
			reply(number, answer, null, 0);
		}
		else if ((this.simulation.dice(this.instance.number, 4L * number + 3) & 1) == 0) {
			long end = this.outageUntil;
			this.simulation.at(end - now(), () -> reply(number, answer, command.get().join(), 0));
		}
	}

	private <T> void execute(int number, String what, String token, @Nullable Resource resource,
			Supplier<CompletableFuture<T>> command, CompletableFuture<T> answer, @Nullable Fate fate, long late) {
		CompletableFuture<T> executed = (fate != Fate.FAILED) ? command.get()
				: CompletableFuture.failedFuture(new StoreFailure("refused", true, null));
		T done = executed.isCompletedExceptionally() ? null : executed.join();
		this.simulation.trace(() -> this.instance.name + ": #" + number + " " + what + " -> "
				+ ((done == null) ? "an error" : (resource != null) ? done : "answered")
				+ ((fate != null) ? " (" + fate + ")" : ""));
		if (done != null && what.startsWith("release")) {
			this.over.add(token);
		}
		if (fate == Fate.REPEATED) {
			repeat(number, what, token, resource, command);
		}
		else if (fate == Fate.REPEATED_LATE && (this.over.contains(token) || what.startsWith("renew"))) {
			// On a connection that was given up. Copies of what asks are in order, or
			// would hold the key until their lease ends.
			this.simulation.at(late, () -> {
				if (this.over.contains(token)) {
					repeat(number, what, token, resource, command);
				}
			});
		}
		if (fate != Fate.REPLY_LOST) {
			reply(number, answer, (fate == Fate.REPLY_FAILED) ? null : done, (fate == Fate.REPLY_LATE) ? late : 0);
		}
	}

	private void repeat(int number, String what, String token, @Nullable Resource resource,
			Supplier<? extends CompletableFuture<?>> command) {
		if (!isOrdered() || resource == null) {
			// What asks may come after what ends it; a copy of that ends it then.
			command.get().join();
			return;
		}
		String before = look(resource);
		command.get().join();
		String after = look(resource);
		if (what.endsWith("for another")) {
			// Who took its place may get its whole time anew.
			before = before.replaceAll("ttlMillis=\\d+", "");
			after = after.replaceAll("ttlMillis=\\d+", "");
		}
		this.simulation.trace(() -> this.instance.name + ": #" + number + " " + what + " again");
		this.simulation.record(Event.of(now(), Type.REPEATED, this.instance.name)
			.id(this.leases.getOrDefault(token, ""))
			.why(before.equals(after) ? "" : (before + "->" + after).replace(' ', '_')));
	}

	/** What is stored of a thing; whatever has ended by itself, or may go on, has. */
	private String look(Resource resource) {
		Ask nobody = Ask.unknown("%032x:0".formatted(0), 1);
		this.simulation.operator.release(resource, nobody, null);
		Family family = (resource.kind() == Kind.SEMAPHORE) ? Family.SEMAPHORES : Family.LOCKS;
		return this.simulation.operator.fleet().look(family, resource.key(), 100).join().toString();
	}

	private <T> void reply(int number, CompletableFuture<T> answer, @Nullable T reply, long late) {
		long arrival = now() + latency(number, 1) + late;
		if (isOrdered()) {
			arrival = Math.max(this.lastReply, arrival);
			this.lastReply = arrival;
		}
		this.instance.at(arrival - now(), () -> {
			if (reply == null) {
				answer.completeExceptionally(new StoreFailure("connection reset", true, null));
			}
			else {
				answer.complete(reply);
			}
		});
	}

	// LeaseStore

	@Override
	public void start(String instanceId, WakeUps wakeUps) {
		this.wakeUps = wakeUps;
		this.store.start(instanceId, new WakeUps() {

			@Override
			public void handedOver(Resource resource, String token, long fence, long ttlMillis) {
				long ttl = (SimulatedStore.this.simulation.replicas != null) ? 0 : ttlMillis;
				wakeUp(() -> wakeUps.handedOver(resource, token, fence, ttl));
			}

			@Override
			public void reportWanted(String report) {
				wakeUp(() -> wakeUps.reportWanted(report));
			}

			@Override
			public void listening() {
				SimulatedStore.this.instance.at(Simulation.MILLI, wakeUps::listening);
			}

		});
	}

	private void wakeUp(Runnable wakeUp) {
		int number = this.wakeUpCount++;
		WakeUp fate = this.simulation.areFaultsOver() ? null : this.wakeUpFates.get(number);
		long late = (fate != null) ? fate.millis() * Simulation.MILLI : 0;
		if (late != 0) {
			this.simulation.record(Event.of(now(), Type.DEAF, this.instance.name).until(now() + Math.max(0, late)));
		}
		if (isOut() || late < 0) {
			this.simulation.trace(() -> this.instance.name + ": wake-up #" + number + " is lost");
			return;
		}
		this.instance.at(latency(1_000_000 + number, 1) + late, wakeUp);
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
	public boolean isOrdered() {
		return this.simulation.plan.setup().ordered();
	}

	@Override
	public CompletableFuture<AcquireReply> acquire(Resource resource, Ask ask, boolean enqueue) {
		Mutant mutant = this.simulation.mutant;
		Ask asked = switch (mutant) {
			case SHORT_LEASE -> lasting(ask, ask.leaseMillis() / 2);
			case NO_END -> lasting(ask, ask.leaseMillis() * 1000);
			default -> ask;
		};
		CompletableFuture<AcquireReply> answer = send("acquire " + resource, ask.token(), resource,
				() -> this.store.acquire(resource, asked, enqueue).thenApply((reply) -> answered(reply, ask)));
		SimulatedReplicas replicas = this.simulation.replicas;
		if (replicas != null && mutant != Mutant.UNCONFIRMED_GRANTS) {
			return replicas.confirmed(this.instance, resource, ask.token(), answer);
		}
		return (mutant == Mutant.TROUBLE_AS_BUSY) ? answer.exceptionally((error) -> new Busy(100, 0, false)) : answer;
	}

	private static Ask lasting(Ask ask, long millis) {
		return new Ask(ask.token(), ask.permits(), ask.limit(), ask.fair(), ask.under(), millis, millis);
	}

	private AcquireReply answered(AcquireReply reply, Ask ask) {
		if (!(reply instanceof Granted granted)) {
			return reply;
		}
		String lease = this.leases.get(ask.token());
		if (lease != null) {
			this.simulation.record(Event.of(now(), Type.GRANTED_AGAIN, this.instance.name).id(lease));
		}
		return switch (this.simulation.mutant) {
			case OLD_FENCE -> new Granted(64, granted.ttlMillis());
			case SHORT_LEASE, NO_END -> new Granted(granted.fence(), ask.leaseMillis());
			default -> reply;
		};
	}

	@Override
	public CompletableFuture<ReleaseReply> release(Resource resource, Ask ended, @Nullable Ask next) {
		if (this.simulation.mutant == Mutant.UNCONFIRMED_KEPT && this.unconfirmed.contains(ended.token())) {
			return CompletableFuture.completedFuture(new ReleaseReply(true, null));
		}
		if (ended.leaseMillis() == 0) {
			return force(resource, ended);
		}
		return send("release " + resource + ((next != null) ? " for another" : ""), ended.token(), resource, () -> {
			String owner = (this.simulation.mutant == Mutant.BLIND_RELEASE && resource.kind() == Kind.LOCK)
					? this.store.inspect(resource).join().owner() : null;
			if (owner != null && !owner.equals(ended.token())) {
				this.store.release(resource, Ask.unknown(owner, 1), null);
			}
			return this.store.release(resource, ended, next).thenApply(this::withoutGrant);
		});
	}

	/** In the name of somebody else. */
	private CompletableFuture<ReleaseReply> force(Resource resource, Ask ended) {
		if (this.simulation.mutant == Mutant.FORCE_IN_VAIN) {
			return CompletableFuture.completedFuture(new ReleaseReply(true, null));
		}
		return send("force " + resource, ended.token(), resource,
				() -> this.store.release(resource, ended, null).thenApply((reply) -> {
					if (reply.released()) {
						this.simulation.forced(mode(resource, 1), resource.key());
					}
					return reply;
				}));
	}

	/** Who takes another one's place has to ask where grants are confirmed. */
	private ReleaseReply withoutGrant(ReleaseReply reply) {
		return (this.simulation.replicas != null && reply.next() instanceof Granted)
				? new ReleaseReply(reply.released(), null) : reply;
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
			String lease = this.leases.get(renewal.token());
			if (lease != null) {
				this.simulation.record(Event.of(now(), Type.RENEWAL, this.instance.name).id(lease));
			}
		}
		Renewal first = renewals.get(0);
		// What renews several leases may be repeated when some of them only are over.
		String token = (renewals.size() == 1) ? first.token() : "";
		return send("renew", token, first.resource(), () -> {
			if (this.simulation.mutant == Mutant.RENEWAL_CREATES && first.resource().kind() == Kind.LOCK) {
				this.store.acquire(first.resource(),
						Ask.forLock(first.token(), first.leaseMillis(), first.leaseMillis()), false);
			}
			return this.store.renew(renewals);
		});
	}

	@Override
	public CompletableFuture<Boolean> retain(Renewal lease) {
		return send("retain", lease.token(), lease.resource(), () -> this.store.retain(lease));
	}

	@Override
	public CompletableFuture<KeyState> inspect(Resource resource) {
		return send("inspect", "", resource, () -> this.store.inspect(resource));
	}

	@Override
	public CompletableFuture<Boolean> shrink(Resource resource, Ask held, int kept) {
		return send("shrink", held.token(), resource, () -> this.store.shrink(resource, held, kept));
	}

	@Override
	public CompletableFuture<PermitState> inspectPermits(Resource resource, int maxHolders) {
		return send("inspect", "", resource, () -> this.store.inspectPermits(resource, maxHolders));
	}

	@Override
	public CompletableFuture<Boolean> limit(Resource resource, @Nullable Integer limit) {
		return send("limit", "", resource, () -> this.store.limit(resource, limit));
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

	static Mode mode(Resource resource, int permits) {
		return switch (resource.kind()) {
			case LOCK -> Mode.EXCLUSIVE;
			case READ_WRITE -> (permits == Resource.ALL) ? Mode.WRITE : Mode.READ;
			case SEMAPHORE -> Mode.PERMITS;
		};
	}

}
