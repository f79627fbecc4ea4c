package io.holdfast.actuate;

import java.lang.reflect.Proxy;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicLong;

import io.holdfast.LeaseStoreException;
import io.holdfast.LockRequest;
import io.holdfast.LockService;
import io.holdfast.SemaphoreRequest;
import io.holdfast.engine.DefaultLockService;
import io.holdfast.engine.DefaultSemaphoreService;
import io.holdfast.engine.EngineSettings;
import io.holdfast.engine.LeaseEngine;
import io.holdfast.engine.store.FleetStore;
import io.holdfast.engine.store.LeaseStore;
import io.holdfast.engine.store.Resource;
import io.holdfast.memory.MemoryLeaseStore;
import io.holdfast.memory.MemoryLeases;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import org.springframework.boot.actuate.endpoint.SecurityContext;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.awaitility.Awaitility.await;

/**
 * Answers of the endpoints while the store fails.
 */
class StoreTroubleTests {

	private static final String STUCK = "stuck";

	private final CountDownLatch end = new CountDownLatch(1);

	private final CountDownLatch stuck = new CountDownLatch(1);

	private final MemoryLeaseStore store = new MemoryLeaseStore(new MemoryLeases(System::nanoTime));

	private final LeaseEngine engine = new LeaseEngine(stuckWithOneKey(), EngineSettings.defaults());

	private final LockService locks = new DefaultLockService(this.engine);

	@AfterEach
	void close() {
		this.end.countDown();
		this.engine.close();
	}

	/** Return a store that blocks the thread which acquires one key. */
	private LeaseStore stuckWithOneKey() {
		return (LeaseStore) Proxy.newProxyInstance(getClass().getClassLoader(), new Class<?>[] { LeaseStore.class },
				(proxy, method, values) -> {
					if (method.getName().equals("acquire") && values[0] instanceof Resource resource
							&& resource.key().equals(STUCK)) {
						this.stuck.countDown();
						this.end.await();
					}
					return method.invoke(this.store, values);
				});
	}

	@Test
	@DisplayName("While a command is blocked, this instance's own leases are listed, with the problem")
	void tellsOfHoldsWithoutTheWaits() throws InterruptedException {
		this.locks.acquire("stock");
		new DefaultSemaphoreService(this.engine).acquire(SemaphoreRequest.of("calls", 1));
		Thread caller = new Thread(() -> this.locks.acquireAsync(LockRequest.of(STUCK)));
		caller.start();
		this.stuck.await();
		UsageDescriptor view = new LocksEndpoint(this.engine).locks(null, null);
		assertThat(view.held()).extracting(UsageDescriptor.Request::key).containsExactly("stock");
		assertThat(view.cut()).isTrue();
		assertThat(view.fleet().problem()).startsWith("The report of this instance failed: ");
		UsageDescriptor semaphores = new SemaphoresEndpoint(this.engine).semaphores(null, null);
		assertThat(semaphores.held()).extracting(UsageDescriptor.Request::key).containsExactly("calls");
		assertThat(semaphores.cut()).isTrue();
		assertThat(semaphores.fleet().problem()).startsWith("The report of this instance failed: ");
		this.end.countDown();
		await().untilAsserted(() -> assertThat(new LocksEndpoint(this.engine).locks(null, null).cut()).isFalse());
		caller.join();
	}

	@Test
	@DisplayName("A lost connection is distinguished from a connected but silent store")
	void tellsOfALostConnection() {
		AtomicLong unreached = new AtomicLong();
		try (LeaseEngine silent = new LeaseEngine(silent(unreached), EngineSettings.defaults())) {
			LocksEndpoint endpoint = new LocksEndpoint(silent);
			String problem = "The search for locks failed: the store (Redis) did not answer within 1000 ms";
			assertThat(endpoint.locks(null, null).fleet().problem()).isEqualTo(problem);
			unreached.set(1);
			assertThat(endpoint.locks(null, null).fleet().problem())
				.isEqualTo(problem + ", as the connection to it is lost");
		}
	}

	/** Return a store that never answers inspections. */
	private static LeaseStore silent(AtomicLong unreached) {
		LeaseStore store = new MemoryLeaseStore(new MemoryLeases(System::nanoTime));
		ClassLoader loader = StoreTroubleTests.class.getClassLoader();
		FleetStore fleet = (FleetStore) Proxy.newProxyInstance(loader, new Class<?>[] { FleetStore.class },
				(proxy, method, values) -> new CompletableFuture<>());
		return (LeaseStore) Proxy.newProxyInstance(loader, new Class<?>[] { LeaseStore.class },
				(proxy, method, values) -> switch (method.getName()) {
					case "fleet" -> fleet;
					case "unreachedNanos" -> unreached.get();
					default -> method.invoke(store, values);
				});
	}

	@Test
	@DisplayName("A read or change that the store fails is refused with the reason")
	void answersWithUnavailable() {
		this.store.close();
		LocksEndpoint endpoint = new LocksEndpoint(this.engine);
		SemaphoresEndpoint semaphores = new SemaphoresEndpoint(this.engine);
		expectUnavailable(() -> endpoint.lock("a"), "The inspection of 'a' failed: ");
		expectUnavailable(() -> endpoint.release("a", null, SecurityContext.NONE),
				"The forced release of lock 'a' failed: ");
		expectUnavailable(() -> semaphores.semaphore("a"), "The inspection of 'a' failed: ");
		expectUnavailable(() -> semaphores.limit("a", 1, null, SecurityContext.NONE),
				"Setting the limit of semaphore 'a' failed: ");
		expectUnavailable(() -> semaphores.release("a", SecurityContext.NONE),
				"The forced release of semaphore 'a' failed: ");
	}

	private static void expectUnavailable(ThrowingCallable request, String reason) {
		assertThatExceptionOfType(LeaseStoreException.class).isThrownBy(request).withMessageStartingWith(reason);
	}

}
