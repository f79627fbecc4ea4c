package io.holdfast.actuate;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;

import io.holdfast.engine.EngineContext;
import io.holdfast.engine.EngineSettings;
import io.holdfast.engine.LeaseEngine;
import io.holdfast.memory.MemoryLeaseStore;
import io.holdfast.memory.MemoryLeases;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Instances with common leases in memory.
 */
final class Instances implements AutoCloseable {

	private final MemoryLeases leases = new MemoryLeases(System::nanoTime);

	private final Deque<LeaseEngine> engines = new ArrayDeque<>();

	private final List<MemoryLeaseStore> stores = new ArrayList<>();

	LeaseEngine start() {
		MemoryLeaseStore store = new MemoryLeaseStore(this.leases);
		this.stores.add(store);
		LeaseEngine engine = new LeaseEngine(store, EngineSettings.defaults());
		this.engines.push(engine);
		return engine;
	}

	/** Let all further commands fail. */
	void fail() {
		this.stores.forEach(MemoryLeaseStore::close);
	}

	MemoryLeases leases() {
		return this.leases;
	}

	/** Return an answer whose reader must not be able to release any lease. */
	<T> T withoutSecrets(T answer) {
		assertThat(this.engines).map(LeaseEngine::context)
			.filteredOn(EngineContext::isStarted)
			.allSatisfy((context) -> assertThat(answer.toString()).doesNotContain(context.instanceId()));
		return answer;
	}

	@Override
	public void close() {
		this.engines.forEach(LeaseEngine::close);
	}

}
