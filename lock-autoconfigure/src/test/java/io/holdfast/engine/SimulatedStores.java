package io.holdfast.engine;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.time.Duration;

import io.holdfast.engine.store.LeaseStore;
import io.holdfast.engine.store.SharedStores;
import org.jspecify.annotations.Nullable;

/**
 * Stores of a {@link Simulation}, for contracts without virtual time: each call returns
 * after the answer and all effects.
 */
final class SimulatedStores implements SharedStores {

	/** Longer than any round trip. */
	private static final long ROUND_TRIP = 10 * Simulation.MILLI;

	private final Simulation simulation;

	private int instances;

	SimulatedStores(Duration handoffTimeout) {
		this.simulation = Simulation.idle(handoffTimeout);
	}

	@Override
	public LeaseStore open(boolean polling) {
		SimulatedStore store = new SimulatedInstance(this.simulation, this.instances++, null).store;
		if (polling) {
			store.cut();
		}
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

	@Override
	public void elapse(Duration time) {
		this.simulation.time.elapse(time.toNanos());
	}

	@Override
	public void putForeign(String key, String value, @Nullable Duration ttl) {
		this.simulation.world.takeIfFree(key, value, (ttl != null) ? ttl.toMillis() : -1);
	}

}
