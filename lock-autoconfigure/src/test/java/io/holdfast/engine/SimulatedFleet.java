package io.holdfast.engine;

import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.Stream;

import io.holdfast.LeaseStoreException;
import io.holdfast.engine.InstanceReport.Entry;
import io.holdfast.engine.Step.ForceBy;
import io.holdfast.engine.Step.Known;
import io.holdfast.engine.fleet.Fleet;
import io.holdfast.engine.fleet.InstanceRegistration;
import io.holdfast.engine.store.InstanceInfo;
import io.holdfast.engine.store.InstanceStore;
import io.holdfast.engine.store.Tokens;
import io.holdfast.history.Event;
import io.holdfast.history.Event.Type;

/**
 * Registrations, queries and forced releases of the instances of a {@link Simulation},
 * which block on threads of the instances.
 */
final class SimulatedFleet {

	private static final long SECOND = TimeUnit.SECONDS.toNanos(1);

	private final Simulation simulation;

	/** Registered instances by shown id. Several instances may share an id. */
	private final Map<String, Set<SimulatedInstance>> known = new HashMap<>();

	private final Set<SimulatedInstance> inquiring = new HashSet<>();

	private int inquiries;

	SimulatedFleet(Simulation simulation) {
		this.simulation = simulation;
	}

	/** Register an instance, if planned. */
	void register(SimulatedInstance instance) {
		if (this.simulation.plan.steps().contains(new Known(instance.number))) {
			know(instance);
			record(Event.of(this.simulation.now(), Type.KNOWN, instance.name));
			Fleet.of(instance.engine).register(() -> new InstanceInfo("shop", "host", instance.number));
		}
	}

	/** Register a resumed instance with its new id. */
	void resumed(SimulatedInstance instance) {
		if (isKnown(instance)) {
			know(instance);
		}
	}

	private boolean isKnown(SimulatedInstance instance) {
		return this.known.values().stream().anyMatch((instances) -> instances.contains(instance));
	}

	private void know(SimulatedInstance instance) {
		this.known.computeIfAbsent(Tokens.shown(instance.id()), (k) -> new LinkedHashSet<>()).add(instance);
	}

	private Stream<SimulatedInstance> known(String id) {
		return this.known.getOrDefault(id, Set.of()).stream();
	}

	private void record(Event event) {
		this.simulation.record(event);
	}

	/**
	 * Let an instance query the holds of all instances, with a single query at a time.
	 */
	void inquire(SimulatedInstance instance) {
		if (!instance.crashed && this.inquiring.add(instance)) {
			String id = "q" + this.inquiries++;
			instance.at(0, () -> this.simulation.newThread().call(() -> {
				record(Event.of(this.simulation.now(), Type.INQUIRED, instance.name).id(id));
				String why = ask(instance, id);
				record(Event.of(this.simulation.now(), Type.INQUIRY_ANSWERED, instance.name).id(id).why(why));
				this.inquiring.remove(instance);
			}));
		}
	}

	private String ask(SimulatedInstance instance, String id) {
		try {
			Fleet.of(instance.engine).reports(null).reports().forEach((report) -> reported(report, id));
			return "";
		}
		catch (LeaseStoreException ex) {
			return "STORE";
		}
	}

	private void reported(InstanceReport report, String id) {
		known(report.instance()).forEach((instance) -> {
			String leases = report.holds()
				.stream()
				.map((hold) -> lease(instance, hold))
				.collect(Collectors.joining(","));
			record(Event.of(this.simulation.now(), Type.REPORTED, instance.name).id(id).why(leases));
		});
	}

	private static String lease(SimulatedInstance instance, Entry hold) {
		return Objects.requireNonNullElse(instance.store.lease(Tokens.of(instance.id(), hold.number())), "?");
	}

	/** Let an instance release a key by force. */
	void force(SimulatedInstance instance, ForceBy force) {
		String key = "k" + force.key();
		instance.at(0, () -> this.simulation.newThread().call(() -> {
			int before = this.simulation.forced;
			try {
				boolean released = force.semaphore() ? instance.semaphores.forceRelease(key)
						: instance.locks.forceRelease(key);
				if (released && this.simulation.forced == before) {
					record(Event.of(this.simulation.now(), Type.UNEXPECTED, instance.name)
						.permits(8, 0)
						.why("released-by-force,-but-nothing-was"));
				}
			}
			catch (LeaseStoreException ex) {
				// Nothing was released, or the result is unknown.
			}
		}));
	}

	/**
	 * Record the members in the end: soon all live instances, and after some minutes no
	 * other instances.
	 */
	void checkMembers() {
		if (!this.known.isEmpty()) {
			this.simulation.time.elapse(80 * SECOND);
			list();
			this.simulation.time.elapse(180 * SECOND);
			list();
		}
	}

	private void list() {
		InstanceStore store = this.simulation.operator.instances();
		Set<String> members = new LinkedHashSet<>();
		store.members(InstanceRegistration.RETENTION, 100).join().forEach((member) -> members.add(member.instance()));
		if (this.known.values()
			.stream()
			.flatMap(Set::stream)
			.anyMatch((instance) -> !instance.crashed && !instance.engine.context.isClosed())) {
			// Live instances have removed the dead instances from the store.
			InstanceStore.Asked asked = store.ask("0".repeat(32), "0".repeat(32)).join();
			members.addAll(asked.present());
			members.addAll(asked.absent());
		}
		long now = this.simulation.now();
		members.stream().flatMap(this::known).forEach((instance) -> record(Event.of(now, Type.MEMBER, instance.name)));
		record(Event.of(now, Type.LISTED, ""));
	}

}
