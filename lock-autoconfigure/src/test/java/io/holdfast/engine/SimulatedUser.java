package io.holdfast.engine;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.BiConsumer;
import java.util.function.UnaryOperator;

import io.holdfast.Lease;
import io.holdfast.LeaseContext;
import io.holdfast.engine.Step.Access;
import io.holdfast.engine.Step.Api;
import io.holdfast.engine.Step.Extra;
import io.holdfast.engine.Step.Use;
import io.holdfast.engine.store.Resource.Kind;
import io.holdfast.history.Event;
import io.holdfast.history.Event.Type;
import org.jspecify.annotations.Nullable;

/**
 * User of a {@link Simulation}: acquires, holds and releases as planned, by all APIs, and
 * records the results. Blocking calls are simulated step by step.
 */
final class SimulatedUser {

	/** Interval of checks for an idle thread. */
	private static final long BUSY = 5 * Simulation.MILLI;

	private final Simulation simulation;

	/** Current instance, replaced after a restart. */
	private SimulatedInstance instance;

	final String name;

	private final List<Use> uses;

	/** Owner of the leases. Without views, the thread is never started. */
	private Thread thread;

	private @Nullable SimulatedThread otherThread;

	/** Whether the thread is in a call. */
	private boolean blocked;

	private int done;

	private int requestCount;

	/** Ids of holds: the id of the first lease of each hold. */
	private final Map<Hold, String> holds;

	SimulatedUser(Simulation simulation, SimulatedInstance instance, List<Use> uses, Map<Hold, String> holds) {
		this(simulation, instance, "u" + uses.get(0).user(), uses, holds);
	}

	private SimulatedUser(Simulation simulation, SimulatedInstance instance, String name, List<Use> uses,
			Map<Hold, String> holds) {
		this.simulation = simulation;
		this.instance = instance;
		this.name = name;
		this.uses = uses;
		this.holds = holds;
		this.thread = newThread();
	}

	private Thread newThread() {
		return this.uses.stream().anyMatch((use) -> use.api().isView()) ? this.simulation.newThread() : new Thread();
	}

	SimulatedThread otherThread() {
		if (this.otherThread == null) {
			this.otherThread = this.simulation.newThread();
		}
		return this.otherThread;
	}

	boolean isAt(SimulatedInstance other) {
		return this.instance == other;
	}

	/** Continue at a restarted instance. The results of open calls are unknown. */
	void continueAt(SimulatedInstance started) {
		this.instance = started;
		this.thread = newThread();
		this.otherThread = null;
		this.blocked = false;
		next();
	}

	/** Create a user with the same remaining uses, at a copy of this user's instance. */
	SimulatedUser copy(SimulatedInstance at) {
		return new SimulatedUser(this.simulation, at, this.name + "@" + at.name,
				this.uses.subList(this.done, this.uses.size()), this.holds);
	}

	void next() {
		if (this.done < this.uses.size()) {
			Use use = this.uses.get(this.done++);
			this.instance.at(use.gap() * Simulation.MILLI, use.api().isView() ? () -> view(use)
					: () -> begin(use, use.api(), LeaseContext.empty(), null, this::next));
		}
	}

	private void view(Use use) {
		if (this.blocked) {
			this.instance.at(BUSY, () -> view(use));
			return;
		}
		this.blocked = true;
		SimulatedThread own = (SimulatedThread) this.thread;
		own.call(() -> {
			new ViewUse(this, this.instance, own, use).run();
			this.blocked = false;
			next();
		});
	}

	String newId() {
		return this.name + "." + this.requestCount++;
	}

	boolean isMutant(Mutant mutant) {
		return this.simulation.mutant == mutant;
	}

	/**
	 * Send a request.
	 * @param context the context of the request
	 * @param within the owner of the leases in the context, or {@code null}
	 * @param after runs after the release or the refusal
	 */
	private void begin(Use use, Api api, LeaseContext context, @Nullable String within, Runnable after) {
		boolean thread = api.isThread();
		if (thread && this.blocked) {
			this.instance.at(BUSY, () -> begin(use, api, context, within, after));
			return;
		}
		this.blocked |= thread;
		String id = newId();
		String user = (within != null) ? within : thread ? this.name : id;
		SimulatedRequest call = new SimulatedRequest(this.instance, use, context);
		List<ResolvedRequest> requests = call.requests();
		List<String> ids = new ArrayList<>();
		for (ResolvedRequest request : requests) {
			ids.add((requests.size() == 1) ? id : id + "/" + request.resource().key());
			record(Type.ASKED, ids.get(ids.size() - 1), (event) -> asked(event, use, request, user, requests.size()));
			if (use.margin() > 0) {
				record(Type.MARGIN, ids.get(ids.size() - 1), (event) -> event.lease(use.margin() * Simulation.MILLI));
			}
		}
		BiConsumer<Lease, Throwable> answer = (lease, error) -> {
			this.blocked &= !thread;
			if (lease != null) {
				granted(use, ids, lease, user, after);
			}
			else {
				ids.forEach((each) -> refused(each, error));
				requests.forEach((each) -> lookForLeftovers(each.resource().key()));
				after.run();
			}
		};
		boolean inTurn = within == null && ids.size() == 1 && requests.get(0).fair() && use.waiting() != 0;
		if (inTurn) {
			record(Type.IN_TURN, id, (event) -> event.why(isServedHere(use) ? "HERE" : "STORE"));
		}
		if (inTurn && isMutant(Mutant.LATE_ARRIVALS) && use.cancel() < 0) {
			this.instance.at((use.gap() % 2) * BUSY, () -> call.send(api, this.thread, answer));
			return;
		}
		Runnable interrupt = call.send(api, this.thread, answer);
		if (use.cancel() >= 0 && api != Api.UNINTERRUPTIBLE) {
			this.instance.at(use.cancel() * Simulation.MILLI, () -> {
				ids.forEach((each) -> record(Type.INTERRUPTED, each, (event) -> event));
				interrupt.run();
			});
		}
	}

	/**
	 * Return whether the order of requests with equal terms is decided within the
	 * instance: a single place contends, or a grant to any place is for the first waiter.
	 */
	private boolean isServedHere(Use use) {
		return switch (use.mode()) {
			case EXCLUSIVE -> true;
			case READ -> false;
			case PERMITS -> use.renewal() && this.simulation.plan.setup().handOvers() > 0;
		};
	}

	private Event asked(Event event, Use use, ResolvedRequest request, String user, int together) {
		boolean permits = use.mode() == Access.PERMITS;
		String why = (together > 1) ? "PART" : (use.waiting() == 0) ? "NOT_WAITING" : "";
		return event.of(SimulatedStore.mode(request.resource(), request.permits()), request.resource().key())
			.permits(permits ? use.permits() : 0, permits ? request.limit() : 0)
			.user(user)
			.until((use.waiting() < 0) ? 0
					: this.simulation.now() + Settings.waitNanos(request, SimulatedInstance.SETTINGS))
			.lease(use.lease() * Simulation.MILLI)
			.why(why);
	}

	// Leases

	private void granted(Use use, List<String> ids, Lease lease, String user, Runnable after) {
		List<LeaseHandle> parts = (lease instanceof MultiKeyLease joint) ? joint.parts() : List.of((LeaseHandle) lease);
		for (int i = 0; i < parts.size(); i++) {
			opened(parts.get(i), ids.get(i), use.isForCode());
		}
		if (use.extra() != Extra.NONE) {
			this.instance.at(use.extraAt() * Simulation.MILLI, () -> doExtra(use, lease, parts, user));
		}
		this.instance.at(use.hold() * Simulation.MILLI, () -> release(use, ids, lease, parts, after));
	}

	/** Record a granted lease. */
	void opened(LeaseHandle lease, String id, boolean forCode) {
		this.simulation.granted++;
		SimulatedInstance at = this.instance;
		Hold hold = lease.hold;
		String outer = this.holds.putIfAbsent(hold, id);
		at.open.put(lease, id);
		String before = at.store.leases.put(hold.token, id);
		if (hold.handOvers > 0 && before != null && outer == null) {
			this.simulation.handOvers.merge(hold.resource().kind(), 1, Integer::sum);
			record(Type.PASSED_ON, id, (event) -> event.why(before));
		}
		else if (hold.handOvers > 0 && outer == null) {
			// Handed over by a part of a cancelled request.
			record(Type.PASSED_ON, id, (event) -> event.until(at.shared(hold.grantedByStoreAt)));
		}
		long confirmedAt = at.store.confirmedAt(hold.token);
		if (confirmedAt >= 0 && outer == null) {
			// A handed-over grant was confirmed for the previous holder.
			long since = (hold.handOvers > 0) ? this.simulation.now() : confirmedAt;
			this.simulation.record(Event.of(since, Type.CONFIRMED, at.name).id(id));
		}
		record(Type.GRANTED, id,
				(event) -> event.fence(fence(hold)).until(at.end(lease)).why((outer != null) ? outer : ""));
		lease.onLost(() -> {
			this.simulation.lost++;
			long renewable = hold.request.maxHoldNanos() - hold.request.leaseMillis() * Simulation.MILLI;
			boolean renewed = lease.isRenewed() && hold.validUntil() - hold.grantedAt() < renewable;
			record(Type.LOST, id,
					(event) -> event.until(at.end(lease)).lease(hold.lossMargin()).why(renewed ? "RENEWED" : ""));
			if (forCode && lease.hold.whyNotHeld().startsWith("this instance shut down")) {
				record(Type.RETAINED, this.holds.getOrDefault(hold, id), (event) -> event.until(at.end(lease)));
			}
		});
	}

	/**
	 * Return the fence for the history. Fences of permits are not visible to users, and
	 * follow the order of the requests only without hand-over.
	 */
	private long fence(Hold hold) {
		boolean ordered = hold.resource().kind() != Kind.SEMAPHORE || this.simulation.plan.setup().handOvers() == 0;
		return ordered ? hold.fence : 0;
	}

	void refused(String id, @Nullable Throwable error) {
		this.simulation.refused++;
		record(Type.REFUSED, id, (event) -> event.why(SimulatedRequest.why(error)));
	}

	void lookForLeftovers(String key) {
		new Leftovers(this.simulation, this.instance, key).check();
	}

	/** Return the id of an open lease. */
	String idOf(LeaseHandle lease) {
		return this.instance.open.getOrDefault(lease, "");
	}

	/** Record the start of a release by a view. Returns the id of the lease. */
	String releasing(LeaseHandle lease) {
		String id = idOf(lease);
		long now = this.simulation.now();
		long end = this.instance.end(lease);
		record(Type.RELEASING, id, (event) -> event.until((end < now) ? end : 0));
		this.instance.open.remove(lease);
		return id;
	}

	private void doExtra(Use use, Lease lease, List<LeaseHandle> parts, String user) {
		// Possibly with other terms.
		boolean renewal = (use.extraAt() % 2 == 0) == use.renewal();
		Use again = new Use(use.user(), use.instance(), 0, use.api(), use.mode(), use.key(), use.permits(), use.fair(),
				use.waiting(), use.extraLease(), (use.margin() > 0) ? use.extraMargin() : 0, renewal, 0, use.hold(), -1,
				Extra.NONE, 0);
		Runnable nothing = () -> {
		};
		switch (use.extra()) {
			case NEST -> {
				if (use.mode() != Access.PERMITS) {
					begin(again, Api.ASYNC, LeaseContext.empty().with(lease), user, nothing);
				}
			}
			case REENTER -> {
				if (use.api() == Api.THREAD) {
					begin(again, Api.THREAD, LeaseContext.empty(), null, nothing);
				}
			}
			case READ -> {
				Use reading = new Use(use.user(), use.instance(), 0, use.api(), Access.READ, use.key(), 1, true, 500,
						use.lease(), use.margin(), use.renewal(), 0, use.hold() + 100, -1, Extra.NONE, 0);
				begin(reading, Api.ASYNC, LeaseContext.empty().with(lease), user, nothing);
			}
			case RENEW -> {
				if (lease.isHeld()) {
					this.instance.engine.queues.renewer.renewNow(parts.stream().map((part) -> part.hold).toList(),
							use.lease());
				}
			}
			case RELEASE_TWICE, OTHER_THREAD, NONE -> nothing.run();
		}
	}

	private void release(Use use, List<String> ids, Lease lease, List<LeaseHandle> parts, Runnable after) {
		boolean lasts = parts.stream().allMatch(LeaseHandle::isHeld);
		for (int i = 0; i < parts.size(); i++) {
			LeaseHandle part = parts.get(i);
			long end = part.isHeld() ? 0 : Math.min(this.instance.end(part), this.simulation.now());
			record(Type.RELEASING, ids.get(i), (event) -> event.until(end).why((use.minHold() > 0) ? "RETAINED" : ""));
			this.instance.open.remove(part);
		}
		long now = this.simulation.now();
		long local = this.instance.nanoTime();
		boolean last = parts.stream().allMatch((part) -> part.hold.leases.size() == 1);
		lease.releaseAsync().whenComplete((result, error) -> {
			String why = (error != null) ? "STORE" : result.name();
			ids.forEach((id) -> record(Type.RELEASED, id, (event) -> event.why(why)));
			if (lasts && last && why.equals("RELEASED") && use.minHold() > 0) {
				for (int i = 0; i < parts.size(); i++) {
					retained(parts.get(i).hold, ids.get(i), now, local);
				}
			}
		});
		if (use.extra() == Extra.RELEASE_TWICE) {
			lease.releaseAsync()
				.thenAccept((result) -> ids
					.forEach((id) -> record(Type.RELEASED, id, (event) -> event.why(result.name()))));
		}
		after.run();
	}

	/**
	 * Record the retention of a key after the last release, if the store confirmed the
	 * retention before the end of the lease.
	 */
	private void retained(Hold hold, String id, long releasedAt, long localTime) {
		long kept = hold.grantedAt() + hold.request.minHoldNanos() - localTime;
		if (kept > 0 && hold.validUntil() - this.instance.nanoTime() > 0) {
			long until = releasedAt + kept * 98 / 100;
			record(Type.RETAINED, id, (event) -> event.until(until));
		}
	}

	void record(Type type, String id, UnaryOperator<Event> more) {
		this.simulation.record(more.apply(Event.of(this.simulation.now(), type, this.instance.name).id(id)));
	}

}
