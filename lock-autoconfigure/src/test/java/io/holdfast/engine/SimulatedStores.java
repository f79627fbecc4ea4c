package io.holdfast.engine;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.time.Duration;

import io.holdfast.engine.store.LeaseStore;
import org.jspecify.annotations.Nullable;

/**
 * Stores of a {@link Simulation} for contracts, which know nothing of its time: whatever
 * they ask is answered, and has had its effects, when they look.
 */
final class SimulatedStores {

	/** Longer than anything is on its way. */
	private static final long ROUND_TRIP = 10 * Simulation.MILLI;

	private final Simulation simulation;

	private int instances;

	SimulatedStores(Duration handoffTimeout) {
		this.simulation = Simulation.idle(handoffTimeout);
	}

	LeaseStore newStore() {
		return advancing(new SimulatedInstance(this.simulation, this.instances++, null).store);
	}

	LeaseStore newPollingStore() {
		SimulatedStore store = new SimulatedInstance(this.simulation, this.instances++, null).store;
		store.cut();
		return advancing(store);
	}

	private LeaseStore advancing(LeaseStore store) {
		return (LeaseStore) Proxy.newProxyInstance(getClass().getClassLoader(), new Class<?>[] { LeaseStore.class },
				(proxy, method, arguments) -> {
					try {
						Object answer = method.invoke(store, arguments);
						this.simulation.time.elapse(ROUND_TRIP);
						return answer;
					}
					catch (InvocationTargetException ex) {
						throw ex.getCause();
					}
				});
	}

	void elapse(Duration time) {
		this.simulation.time.elapse(time.toNanos());
	}

	void putForeign(String key, String value, @Nullable Duration ttl) {
		this.simulation.world.takeIfFree(key, value, (ttl != null) ? ttl.toMillis() : -1);
	}

}
