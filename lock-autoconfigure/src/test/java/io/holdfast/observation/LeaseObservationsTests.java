package io.holdfast.observation;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.stream.Stream;

import io.holdfast.LockLease;
import io.holdfast.LockMode;
import io.holdfast.LockRequest;
import io.holdfast.NotAcquiredException.Reason;
import io.holdfast.PermitLease;
import io.holdfast.SemaphoreRequest;
import io.holdfast.engine.EngineObserver.HoldEnd;
import io.holdfast.engine.ObservedRequest;
import io.holdfast.engine.store.Resource.Kind;
import io.holdfast.memory.MemoryLeases;
import io.micrometer.common.KeyValues;
import io.micrometer.observation.Observation;
import io.micrometer.observation.ObservationHandler;
import io.micrometer.observation.ObservationRegistry;
import io.micrometer.observation.ObservationView;
import io.micrometer.observation.tck.ObservationContextAssert;
import io.micrometer.observation.tck.TestObservationRegistry;
import io.micrometer.observation.tck.TestObservationRegistryAssert;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatRuntimeException;
import static org.awaitility.Awaitility.await;

class LeaseObservationsTests {

	private static final LockRequest STOCK = LockRequest.of("stock:SKU1").name("stock");

	private final TestObservationRegistry registry = TestObservationRegistry.create();

	private final MemoryLeases leases = ObservedInstance.memory();

	@AutoClose
	private final ObservedInstance instance = new ObservedInstance(this.leases);

	@BeforeEach
	void observe() {
		this.instance.engine.observe(new LeaseObservations(this.registry));
	}

	private ObservationContextAssert<?> only(String name) {
		TestObservationRegistryAssert.assertThat(this.registry).hasNumberOfObservationsWithNameEqualTo(name, 1);
		List<ObservationContextAssert<?>> found = new ArrayList<>();
		TestObservationRegistryAssert.assertThat(this.registry).forAllObservationsWithNameEqualTo(name, found::add);
		return found.get(0);
	}

	private void hasNone(String name) {
		TestObservationRegistryAssert.assertThat(this.registry).hasNumberOfObservationsWithNameEqualTo(name, 0);
	}

	@Test
	void aLockIsObservedUntilItIsGrantedAndWhileItIsHeld() {
		LockLease lease = this.instance.locks.acquire(STOCK);
		only("holdfast.lock.acquire").hasContextualNameEqualTo("lock acquire")
			.hasOnlyKeys("name", "mode", "outcome", "holdfast.key", "holdfast.fence")
			.hasLowCardinalityKeyValue("name", "stock")
			.hasLowCardinalityKeyValue("mode", "exclusive")
			.hasLowCardinalityKeyValue("outcome", "granted")
			.hasHighCardinalityKeyValue("holdfast.key", "stock:SKU1")
			.hasHighCardinalityKeyValue("holdfast.fence", String.valueOf(lease.fencingToken()))
			.doesNotHaveError();
		only("holdfast.lock.hold").hasContextualNameEqualTo("lock hold").hasLowCardinalityKeyValue("outcome", "none");
		lease.release();
		only("holdfast.lock.hold").hasOnlyKeys("name", "mode", "outcome", "holdfast.key", "holdfast.fence")
			.hasLowCardinalityKeyValue("name", "stock")
			.hasLowCardinalityKeyValue("mode", "exclusive")
			.hasLowCardinalityKeyValue("outcome", "released")
			.hasHighCardinalityKeyValue("holdfast.fence", String.valueOf(lease.fencingToken()))
			.doesNotHaveError();
	}

	@Test
	void permitsAreObservedWithoutModeAndFence() {
		PermitLease lease = this.instance.semaphores.acquire(SemaphoreRequest.of("api", 5).permits(3));
		lease.release();
		for (String name : List.of("holdfast.semaphore.acquire", "holdfast.semaphore.hold")) {
			only(name).hasOnlyKeys("name", "outcome", "holdfast.key", "holdfast.permits")
				.hasLowCardinalityKeyValue("name", "none")
				.hasHighCardinalityKeyValue("holdfast.key", "api")
				.hasHighCardinalityKeyValue("holdfast.permits", "3");
		}
	}

	@Test
	void whatIsNestedIsNotObserved() {
		LockLease lease = this.instance.locks.acquire(STOCK);
		LockLease again = this.instance.locks.acquire(STOCK);
		again.release();
		only("holdfast.lock.acquire");
		only("holdfast.lock.hold").hasLowCardinalityKeyValue("outcome", "none");
		lease.release();
		only("holdfast.lock.hold").hasLowCardinalityKeyValue("outcome", "released");
	}

	@Test
	void severalKeysAreObservedOnce() {
		LockLease lease = this.instance.locks.acquire(LockRequest.ofAll(List.of("b", "a")).mode(LockMode.EXCLUSIVE));
		lease.release();
		for (String name : List.of("holdfast.lock.acquire", "holdfast.lock.hold")) {
			only(name).hasLowCardinalityKeyValue("mode", "exclusive")
				.hasHighCardinalityKeyValue("holdfast.key", "a,b")
				.hasHighCardinalityKeyValue("holdfast.fence", lease.fencingToken("a") + "," + lease.fencingToken("b"));
		}
	}

	@Test
	void aTryInVainIsNoError() {
		this.instance.locks.acquire(STOCK);
		this.registry.clear();
		assertThat(ObservedInstance
			.onAnotherThread(() -> this.instance.locks.tryAcquire(STOCK.waitTime(Duration.ofNanos(1))))
			.join()).isEmpty();
		only("holdfast.lock.acquire").hasLowCardinalityKeyValue("outcome", "timed_out")
			.doesNotHaveHighCardinalityKeyValueWithKey("holdfast.fence")
			.doesNotHaveError();
		hasNone("holdfast.lock.hold");
	}

	@Test
	void aFailureOfTheStoreIsAnError() {
		this.instance.failing = "acquire";
		assertThatRuntimeException().isThrownBy(() -> this.instance.locks.acquire(STOCK))
			.satisfies((thrown) -> only("holdfast.lock.acquire").hasLowCardinalityKeyValue("outcome", "store_failure")
				.hasError(thrown));
	}

	@Test
	void aLossIsTheOutcomeOfTheHold() {
		this.instance.locks.acquire(STOCK);
		this.instance.locks.forceRelease(STOCK.key());
		await().untilAsserted(() -> only("holdfast.lock.hold").hasLowCardinalityKeyValue("outcome", "lost"));
	}

	@Test
	void theParentIsWhatTheAskingThreadObservedWhicheverThreadItIsGrantedOn() {
		List<String> parents = new ArrayList<>();
		this.registry.observationConfig().observationHandler(new ObservationHandler<LeaseObservationContext>() {
			@Override
			public void onStart(LeaseObservationContext context) {
				ObservationView parent = context.getParentObservation();
				if (context.getObserved() == HoldfastObservationDocumentation.LOCK_HOLD) {
					parents.add((parent != null) ? parent.getContextView().getName() : "none");
				}
			}

			@Override
			public boolean supportsContext(Observation.Context context) {
				return context instanceof LeaseObservationContext;
			}
		});
		CountDownLatch requested = new CountDownLatch(3);
		LockLease first = this.instance.locks.acquire(STOCK);
		List<CompletableFuture<LockLease>> waiting = new ArrayList<>();
		for (String parent : List.of("b", "none", "c")) {
			waiting.add(ObservedInstance.onAnotherThread(() -> {
				CompletableFuture<LockLease> answer = parent.equals("none") ? this.instance.locks.acquireAsync(STOCK)
						: Observation.createNotStarted(parent, this.registry)
							.observe(() -> this.instance.locks.acquireAsync(STOCK));
				requested.countDown();
				return answer.join();
			}));
			await().until(() -> requested.getCount() == 3 - waiting.size());
		}
		// Grants run on the thread of the previous release, within its observation.
		Observation.createNotStarted("a", this.registry).observe(() -> {
			first.release();
			waiting.get(0).join().release();
			waiting.get(1).join().release();
			waiting.get(2).join();
		});
		assertThat(parents).containsExactly("none", "b", "none", "c");
	}

	@Test
	void aConventionTakesThePlaceOfTheDefaultForWhatItSupports() {
		this.registry.observationConfig()
			.observationConvention(new DefaultLeaseObservationConvention(HoldfastObservationDocumentation.LOCK_HOLD) {
				@Override
				public String getName() {
					return "my.hold";
				}

				@Override
				public KeyValues getLowCardinalityKeyValues(LeaseObservationContext context) {
					return KeyValues.of("prefix", context.getRequest().keys().get(0).substring(0, 5));
				}
			});
		this.instance.locks.acquire(STOCK).release();
		only("my.hold").hasOnlyKeys("prefix", "holdfast.key", "holdfast.fence")
			.hasLowCardinalityKeyValue("prefix", "stock");
		only("holdfast.lock.acquire").hasLowCardinalityKeyValue("name", "stock");
		hasNone("holdfast.lock.hold");
	}

	@Test
	void whatAHandlerFailsToStartIsStopped() {
		List<String> begun = new ArrayList<>();
		this.registry.observationConfig().observationHandler(new ObservationHandler<>() {
			@Override
			public void onStart(Observation.Context context) {
				begun.add(context.getName());
			}

			@Override
			public void onStop(Observation.Context context) {
				begun.remove(context.getName());
			}

			@Override
			public boolean supportsContext(Observation.Context context) {
				return true;
			}
		}).observationHandler(new ObservationHandler<>() {
			@Override
			public void onStart(Observation.Context context) {
				throw new IllegalStateException("handler");
			}

			@Override
			public boolean supportsContext(Observation.Context context) {
				return true;
			}
		});
		this.instance.locks.acquire(STOCK).release();
		assertThat(begun).isEmpty();
	}

	@Test
	void eachReasonAndEachEndIsAnOutcome() {
		assertThat(Stream.concat(Stream.of(Reason.values()), Stream.of(HoldEnd.values())).map(Enum::name))
			.isSubsetOf(Stream.of(LeaseOutcome.values()).map(Enum::name).toList());
	}

	@Test
	void withoutARegistryNothingIsObserved() {
		LeaseObservations observations = new LeaseObservations(ObservationRegistry.NOOP);
		assertThat(observations.requested(
				new ObservedRequest(this.instance.engine, Kind.LOCK, List.of("k"), LockMode.READ, 0, null, false)))
			.isNull();
	}

}
