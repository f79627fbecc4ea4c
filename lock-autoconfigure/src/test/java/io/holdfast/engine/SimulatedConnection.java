package io.holdfast.engine;

import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;

import io.holdfast.engine.Step.Command;
import io.holdfast.engine.Step.Fate;
import io.holdfast.engine.Step.Outage;
import io.holdfast.engine.Step.WakeUp;
import io.holdfast.engine.store.Commands;
import io.holdfast.engine.store.LeaseStore.AcquireCommand;
import io.holdfast.engine.store.LeaseStore.ReleaseReply;
import io.holdfast.engine.store.LeaseStore.Standing;
import io.holdfast.engine.store.LeaseStore.TokenState;
import io.holdfast.engine.store.Resource;
import io.holdfast.engine.store.StoreCommandException;
import io.holdfast.history.Event;
import io.holdfast.history.Event.Type;
import org.jspecify.annotations.Nullable;

/**
 * Connection of an instance to the store of a {@link Simulation}. Commands, replies and
 * wake-ups are late, lost, overtaken and repeated as planned.
 */
final class SimulatedConnection {

	/**
	 * Time without grants after an unanswered join, which is repeated.
	 */
	private static final long ADMISSION = 300 * Simulation.MILLI;

	private final Simulation simulation;

	private final SimulatedInstance instance;

	private final Map<Integer, Command> fates = new HashMap<>();

	private final Map<Integer, WakeUp> wakeUpFates = new HashMap<>();

	/** Tokens with an executed release. */
	private final Set<String> released = new HashSet<>();

	/** Number of the first command that ended each token. */
	private final Map<String, Integer> ends = new HashMap<>();

	/** End of the trouble of each command. */
	private final Map<Integer, Long> troubles = new HashMap<>();

	/** Number of reconnects. */
	private long reconnects;

	private int commands;

	private int wakeUpCount;

	private long lastExecution;

	private long lastReply;

	private long outageSince;

	private long outageUntil;

	private boolean silent;

	/** Whether commands wait for the next connection, as in the driver. */
	private boolean lost;

	/** Answers to the waiting commands. */
	private final Set<CompletableFuture<?>> kept = new HashSet<>();

	SimulatedConnection(Simulation simulation, SimulatedInstance instance, @Nullable SimulatedConnection before) {
		this.simulation = simulation;
		this.instance = instance;
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
		if (!isOut()) {
			this.outageSince = now();
		}
		this.outageUntil = Math.max(this.outageUntil, until);
		this.silent = silent;
		this.lost = !silent && (this.instance.dice(until) & 1) == 0;
		if (this.lost) {
			this.reconnects++;
		}
		this.simulation.record(Event.of(now(), Type.OUTAGE, this.instance.name).until(until));
		trouble(until - now());
	}

	private boolean isOut() {
		return this.outageUntil - now() > 0;
	}

	/** Return the time without a connection. */
	long unreachedNanos() {
		return (this.lost && isOut()) ? Math.max(1, now() - this.outageSince) : 0;
	}

	private long now() {
		return this.simulation.now();
	}

	private void trouble(long nanos) {
		this.simulation.record(Event.of(now(), Type.TROUBLE, this.instance.name).until(now() + nanos));
	}

	private void trouble(int number, long nanos) {
		this.troubles.put(number, now() + nanos);
		trouble(nanos);
	}

	/** Return the latency of a command or reply: up to 2 ms. */
	private long latency(int number, int way) {
		if (!this.simulation.plan.setup().jitter()) {
			return Simulation.MILLI / 2;
		}
		long dice = this.instance.dice(4L * number + way);
		return Simulation.MILLI / 10 + (dice >>> 24) % (2 * Simulation.MILLI);
	}

	<T> CompletableFuture<T> send(String name, String token, @Nullable Resource resource,
			Supplier<CompletableFuture<T>> command) {
		CompletableFuture<T> answer = new CompletableFuture<>();
		int number = this.commands++;
		Command planned = this.simulation.areFaultsOver() ? null : this.fates.get(number);
		Fate fate = (planned != null) ? planned.fate() : null;
		long late = (planned != null) ? planned.millis() * Simulation.MILLI : 0;
		if (name.startsWith("release") || name.startsWith("retain")) {
			this.ends.putIfAbsent(token, number);
		}
		long execution = Math.max(this.lastExecution, now() + latency(number, 0) + ((fate == Fate.LATE) ? late : 0));
		if (unreachedNanos() > 0) {
			execution = Math.max(execution, this.outageUntil);
		}
		if (fate != null && fate != Fate.REPEATED && fate != Fate.REPEATED_LATE) {
			// Earlier late commands may delay the execution.
			trouble(number, Math.max(late, execution - now() + ((fate == Fate.OVERTAKEN) ? late : 0))
					+ (name.equals("join") ? ADMISSION : 0));
		}
		this.lastExecution = execution;
		if (fate == Fate.OVERTAKEN) {
			this.simulation.time.at(execution - now(), () -> this.reconnects++);
			execution += late;
		}
		this.simulation.time.at(execution - now(), () -> {
			if (answer.isCancelled() && (this.instance.dice(4L * number + 2) & 1) == 0) {
				this.simulation.trace(() -> this.instance.name + ": #" + number + " " + name + " was cancelled");
			}
			else if (isOut()) {
				meetOutage(number, name, token, resource, command, answer, fate, late);
			}
			else {
				execute(number, name, token, resource, command, answer, fate, late);
			}
		});
		return answer;
	}

	/**
	 * Fail a command during an outage: by an error, or by a silence after which some
	 * commands still arrive.
	 */
	private <T> void meetOutage(int number, String name, String token, @Nullable Resource resource,
			Supplier<CompletableFuture<T>> command, CompletableFuture<T> answer, @Nullable Fate fate, long late) {
		this.simulation.trace(() -> this.instance.name + ": #" + number + " " + name + " meets the outage");
		if (this.lost) {
			sendAgain(number, name, token, resource, command, answer, fate, late);
		}
		else if (!this.silent) {
			reply(number, answer, null, 0);
		}
		else if ((this.instance.dice(4L * number + 3) & 1) == 0) {
			long end = this.outageUntil;
			this.simulation.time.at(end - now(), () -> {
				T done = done(command.get());
				this.simulation
					.trace(() -> this.instance.name + ": #" + number + " " + name + " was under way -> " + done);
				reply(number, answer, seen(done, number, token, fate, answer), 0);
			});
		}
	}

	/** Send a command by the next connection, unless cancelled before. */
	private <T> void sendAgain(int number, String name, String token, @Nullable Resource resource,
			Supplier<CompletableFuture<T>> command, CompletableFuture<T> answer, @Nullable Fate fate, long late) {
		this.kept.add(answer);
		this.simulation.time.at(this.outageUntil - now(), () -> {
			if (answer.isDone()) {
				this.simulation.trace(() -> this.instance.name + ": #" + number + " " + name + " was cancelled");
			}
			else if (isOut()) {
				meetOutage(number, name, token, resource, command, answer, fate, late);
			}
			else {
				this.kept.remove(answer);
				execute(number, name, token, resource, command, answer, fate, late);
			}
		});
	}

	/** Return whether a command has run or will run. */
	boolean mayRun(CompletableFuture<?> answer) {
		return !this.kept.contains(answer);
	}

	/** Return the answer to a command, or {@code null} if the command failed. */
	private static <T> @Nullable T done(CompletableFuture<T> executed) {
		return executed.isCompletedExceptionally() ? null : executed.join();
	}

	private <T> void execute(int number, String name, String token, @Nullable Resource resource,
			Supplier<CompletableFuture<T>> command, CompletableFuture<T> answer, @Nullable Fate fate, long late) {
		CompletableFuture<T> executed = (fate != Fate.FAILED) ? command.get()
				: CompletableFuture.failedFuture(new StoreCommandException("refused", true, null));
		T done = done(executed);
		if (done != null && name.startsWith("acquire") && late >= SimulatedInstance.HANDOFF.toNanos()
				&& this.released.contains(token)) {
			this.instance.broughtBack.add(token);
		}
		if (done != null && resource != null && name.startsWith("acquire") && isStraggler(number, token, late)) {
			new Leftovers(this.simulation, this.instance, resource.key()).checkAfterLateCommand();
		}
		this.simulation.trace(() -> this.instance.name + ": #" + number + " " + name + " -> "
				+ ((done == null) ? "an error" : (resource != null) ? done : "answered")
				+ ((fate != null) ? " (" + fate + ")" : ""));
		if (done != null && name.startsWith("release")) {
			this.released.add(token);
		}
		T told = done;
		if (fate == Fate.REPEATED) {
			T copy = repeat(number, name, token, resource, command);
			if (copy instanceof ReleaseReply) {
				// The connection was cut in between: the first reply is lost.
				told = copy;
			}
		}
		else if (fate == Fate.REPEATED_LATE && !name.startsWith("acquire")
				&& (this.released.contains(token) || name.startsWith("renew"))) {
			// The copy comes from an abandoned connection. A late copy of an acquire is
			// excluded, as it would hold the key until the end of its lease.
			this.simulation.time.at(late, () -> {
				if (this.released.contains(token)) {
					repeat(number, name, token, resource, command);
				}
			});
		}
		if (fate == Fate.REPLY_LATE) {
			// The execution may have been late already.
			trouble(late);
		}
		if (fate != Fate.REPLY_LOST) {
			T reply = (fate == Fate.REPLY_FAILED) ? null : seen(told, number, token, fate, answer);
			reply(number, answer, reply, (fate == Fate.REPLY_LATE) ? late : 0);
		}
	}

	/** Return an answer as seen through the driver, which knows of copies. */
	@SuppressWarnings("unchecked")
	private <T> @Nullable T seen(@Nullable T reply, int number, String token, @Nullable Fate fate,
			CompletableFuture<T> answer) {
		if (!(reply instanceof ReleaseReply release)) {
			return reply;
		}
		boolean copied = fate == Fate.REPEATED || fate == Fate.OVERTAKEN;
		if (!copied && release.foundNothing() && Integer.valueOf(number).equals(this.ends.get(token))) {
			String id = this.instance.store.leases.getOrDefault(token, "");
			answer.whenComplete((seen, error) -> {
				if (seen != null && !id.isEmpty()) {
					this.simulation.record(Event.of(now(), Type.GONE, this.instance.name).id(id));
				}
			});
		}
		boolean uncertain = (copied && this.simulation.mutant != Mutant.CERTAIN_COPIES)
				|| this.simulation.mutant == Mutant.UNNOTICED_LOSS;
		return uncertain ? (T) Commands.uncertain(release) : reply;
	}

	private <T> @Nullable T repeat(int number, String name, String token, @Nullable Resource resource,
			Supplier<CompletableFuture<T>> command) {
		if (this.reconnects > 0 || resource == null || this.instance.store.absent) {
			// The copy may have an effect: a late ACQUIRE may follow the end of its
			// token, and a copy of the release ends the token again. Also, the inspection
			// would remove an absent waiter.
			return done(command.get());
		}
		String before = inspect(resource);
		T copy = done(command.get());
		String after = inspect(resource);
		if (name.endsWith("for another")) {
			// The next waiter may get its full time anew.
			before = before.replaceAll("ttlMillis=\\d+", "");
			after = after.replaceAll("ttlMillis=\\d+", "");
		}
		this.simulation.trace(() -> this.instance.name + ": #" + number + " " + name + " again");
		this.simulation.record(Event.of(now(), Type.REPEATED, this.instance.name)
			.id(this.instance.store.leases.getOrDefault(token, ""))
			.why(before.equals(after) ? "" : (before + "->" + after).replace(' ', '_')));
		return copy;
	}

	/**
	 * Return the state of a resource in the store, after the removal of expired leases
	 * and the grants to waiters.
	 */
	private String inspect(Resource resource) {
		AcquireCommand unknown = AcquireCommand.unknown("%032x:0".formatted(0), 1);
		this.simulation.operator.release(resource, unknown, null);
		Standing now = this.simulation.operator.inspect(resource, 100, 100).join();
		// A renewed lease changes the order of the ends.
		List<TokenState> holders = now.holders().stream().sorted(Comparator.comparing(TokenState::toString)).toList();
		return new Standing(now.resource(), now.ttlMillis(), now.fence(), now.limit(), now.asked(), now.used(),
				now.holderCount(), holders, now.waiting(), now.queue())
			.toString();
	}

	private <T> void reply(int number, CompletableFuture<T> answer, @Nullable T reply, long late) {
		long arrival = now() + latency(number, 1) + late;
		arrival = Math.max(this.lastReply, arrival);
		this.lastReply = arrival;
		this.instance.at(arrival - now(), () -> {
			if (reply == null) {
				answer.completeExceptionally(new StoreCommandException("connection reset", true, null));
			}
			else {
				answer.complete(reply);
			}
		});
	}

	long reconnects() {
		return this.reconnects;
	}

	/**
	 * Return whether a command arrives late, after a recent release of its token, and
	 * without other trouble on this connection.
	 */
	private boolean isStraggler(int number, String token, long late) {
		long since = now() - Simulation.SLACK;
		return this.reconnects > 0 && late < SimulatedInstance.HANDOFF.toNanos() && this.released.contains(token)
				&& (this.outageUntil == 0 || this.outageUntil < since)
				&& this.troubles.entrySet()
					.stream()
					.allMatch((trouble) -> trouble.getKey() == number || trouble.getValue() < since);
	}

	/** Deliver a wake-up to its instance, unless planned as lost. */
	void wakeUp(Runnable wakeUp) {
		wakeUp(() -> {
		}, wakeUp);
	}

	/**
	 * Deliver a wake-up to its instance, unless planned as lost.
	 * @param unheard runs first if the wake-up is lost or late
	 * @param wakeUp runs at the instance
	 */
	void wakeUp(Runnable unheard, Runnable wakeUp) {
		int number = this.wakeUpCount++;
		WakeUp fate = this.simulation.areFaultsOver() ? null : this.wakeUpFates.get(number);
		long late = (fate != null) ? fate.millis() * Simulation.MILLI : 0;
		if (late != 0 || isOut()) {
			unheard.run();
		}
		if (late != 0) {
			this.simulation.record(Event.of(now(), Type.DEAF, this.instance.name).until(now() + Math.max(0, late)));
		}
		if (isOut() || late < 0) {
			this.simulation.trace(() -> this.instance.name + ": wake-up #" + number + " is lost");
			return;
		}
		this.instance.at(latency(1_000_000 + number, 1) + late, wakeUp);
	}

}
