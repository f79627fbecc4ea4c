package io.holdfast.observation;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;

import io.holdfast.engine.DefaultLockService;
import io.holdfast.engine.DefaultSemaphoreService;
import io.holdfast.engine.EngineSettings;
import io.holdfast.engine.LeaseEngine;
import io.holdfast.engine.Settings;
import io.holdfast.engine.store.HandOverLimits;
import io.holdfast.engine.store.LeaseStore;
import io.holdfast.engine.store.LeaseStore.ReleaseReply;
import io.holdfast.engine.store.StoreCommandException;
import io.holdfast.memory.MemoryLeaseStore;
import io.holdfast.memory.MemoryLeases;
import org.jspecify.annotations.Nullable;

/**
 * Instance on leases in memory, whose store can fail.
 */
final class ObservedInstance implements AutoCloseable {

	final LeaseEngine engine;

	final DefaultLockService locks;

	final DefaultSemaphoreService semaphores;

	/** Name of the store's method that fails. */
	volatile String failing = "";

	/** Answer to releases in place of the store's; null to use the store. */
	volatile @Nullable CompletableFuture<ReleaseReply> releaseAnswer;

	/** Number of inspections. */
	volatile int inspections;

	/** Whether inspections are answered. */
	volatile boolean answering = true;

	ObservedInstance(MemoryLeases leases) {
		this.engine = new LeaseEngine(store(new MemoryLeaseStore(leases)),
				Settings.with(EngineSettings.defaults(), new HandOverLimits(63, Duration.ofMinutes(1))));
		this.locks = new DefaultLockService(this.engine);
		this.semaphores = new DefaultSemaphoreService(this.engine);
	}

	static MemoryLeases memory() {
		return new MemoryLeases(System::nanoTime);
	}

	private LeaseStore store(LeaseStore store) {
		return (LeaseStore) Proxy.newProxyInstance(getClass().getClassLoader(), new Class<?>[] { LeaseStore.class },
				(proxy, method, arguments) -> {
					if (method.getName().equals(this.failing)) {
						return CompletableFuture.failedFuture(new StoreCommandException("READONLY", false, null));
					}
					if (method.getName().equals("release") && this.releaseAnswer != null) {
						return this.releaseAnswer;
					}
					if (method.getName().equals("inspect")) {
						this.inspections++;
						if (!this.answering) {
							return new CompletableFuture<>();
						}
					}
					try {
						return method.invoke(store, arguments);
					}
					catch (InvocationTargetException ex) {
						throw ex.getTargetException();
					}
				});
	}

	/** On a new thread, whose code holds nothing. */
	static <T> CompletableFuture<T> onAnotherThread(Supplier<T> call) {
		return CompletableFuture.supplyAsync(call, (task) -> new Thread(task).start()).orTimeout(10, TimeUnit.SECONDS);
	}

	@Override
	public void close() {
		this.engine.close();
	}

}
