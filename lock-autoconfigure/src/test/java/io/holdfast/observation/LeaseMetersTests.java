package io.holdfast.observation;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

import io.holdfast.LeaseStoreException;
import io.holdfast.LockLease;
import io.holdfast.LockRequest;
import io.holdfast.PermitLease;
import io.holdfast.SemaphoreRequest;
import io.holdfast.engine.store.LeaseStore.ReleaseReply;
import io.holdfast.memory.MemoryLeases;
import io.micrometer.core.instrument.MockClock;
import io.micrometer.core.instrument.simple.SimpleConfig;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.awaitility.Awaitility.await;

/**
 * Gauges and counters of engines.
 */
class LeaseMetersTests {

	private static final LockRequest STOCK = LockRequest.of("stock:SKU1").name("stock");

	private final MockClock clock = new MockClock();

	private final SimpleMeterRegistry registry = new SimpleMeterRegistry(SimpleConfig.DEFAULT, this.clock);

	private final MemoryLeases leases = ObservedInstance.memory();

	@AutoClose
	private final ObservedInstance instance = new ObservedInstance(this.leases);

	private final LeaseMeters meters = new LeaseMeters(this.registry);

	@BeforeEach
	void observe() {
		this.instance.engine.observe(this.meters);
	}

	private double gauge(String name, String tag) {
		return this.registry.get(name).tag("name", tag).gauge().value();
	}

	private double count(String name, String tag, String value) {
		return this.registry.get(name).tag(tag, value).counter().count();
	}

	@Test
	void whatCanBeCountedIsThereBeforeItIsCounted() {
		assertThat(count("holdfast.lock.renewal", "outcome", "failed")).isZero();
		assertThat(count("holdfast.semaphore.renewal", "outcome", "lost")).isZero();
		assertThat(count("holdfast.lock.hand.over", "kind", "woken_up")).isZero();
		assertThat(count("holdfast.semaphore.hand.over", "kind", "asked_again")).isZero();
		assertThat(count("holdfast.store.errors", "command", "acquire")).isZero();
		this.instance.locks.acquire(STOCK);
		assertThat(count("holdfast.lock.lost", "name", "stock")).isZero();
	}

	@Test
	void locksThatAreHeldAndWaitedForAreGaugedByTheirName() {
		LockLease lease = this.instance.locks.acquire(STOCK);
		this.instance.locks.acquire(STOCK);
		assertThat(gauge("holdfast.lock.held", "stock")).as("without the nested lease").isEqualTo(1);
		CompletableFuture<LockLease> next = this.instance.locks.acquireAsync(STOCK);
		CompletableFuture<LockLease> gone = this.instance.locks.acquireAsync(STOCK);
		await().until(() -> gauge("holdfast.lock.waiting", "stock") == 2);
		gone.cancel(false);
		await().until(() -> gauge("holdfast.lock.waiting", "stock") == 1);
		this.instance.locks.acquire(LockRequest.of("nameless"));
		assertThat(gauge("holdfast.lock.held", "none")).isEqualTo(1);
		this.instance.locks.forceRelease(STOCK.key());
		lease.release();
		next.join();
		await().until(() -> gauge("holdfast.lock.held", "stock") == 1);
		assertThat(gauge("holdfast.lock.waiting", "stock")).isZero();
		next.join().release();
		assertThat(gauge("holdfast.lock.held", "stock")).isZero();
	}

	@Test
	void permitsAreGaugedByTheirNumber() {
		SemaphoreRequest request = SemaphoreRequest.of("api:eu", 5).permits(3).name("api");
		PermitLease lease = this.instance.semaphores.acquire(request);
		this.instance.semaphores.acquireAsync(request.waitTime(Duration.ofMinutes(1)));
		assertThat(gauge("holdfast.semaphore.held", "api")).isEqualTo(3);
		await("requests, not permits").until(() -> gauge("holdfast.semaphore.waiting", "api") == 1);
		lease.release();
		await().until(() -> gauge("holdfast.semaphore.waiting", "api") == 0);
		await().until(() -> gauge("holdfast.semaphore.held", "api") == 3);
	}

	@Test
	void whatIsLostIsCountedByItsName() {
		this.instance.locks.acquire(STOCK);
		this.instance.locks.forceRelease(STOCK.key());
		await().until(() -> count("holdfast.lock.lost", "name", "stock") == 1);
		await().until(() -> gauge("holdfast.lock.held", "stock") == 0);
	}

	@Test
	void whatTheAnswerToAReleaseTellsIsCountedAsLostOnly() {
		CompletableFuture<ReleaseReply> answer = new CompletableFuture<>();
		LockLease lease = this.instance.locks.acquire(STOCK);
		this.instance.releaseAnswer = answer;
		lease.close();
		assertThat(gauge("holdfast.lock.held", "stock")).isZero();
		assertThat(count("holdfast.lock.lost", "name", "stock")).isZero();
		answer.complete(new ReleaseReply(false, null, true));
		await().until(() -> count("holdfast.lock.lost", "name", "stock") == 1);
		assertThat(gauge("holdfast.lock.held", "stock")).isZero();
	}

	@Test
	void renewalsHandOversAndErrorsAreCounted() {
		LockLease lease = this.instance.locks.acquire(STOCK);
		lease.extend(Duration.ofSeconds(20));
		await().until(() -> count("holdfast.lock.renewal", "outcome", "renewed") == 1);
		CompletableFuture<LockLease> next = this.instance.locks.acquireAsync(STOCK);
		lease.release();
		next.join();
		assertThat(count("holdfast.lock.hand.over", "kind", "local")).isEqualTo(1);
		this.instance.failing = "renew";
		assertThatExceptionOfType(LeaseStoreException.class)
			.isThrownBy(() -> next.join().extend(Duration.ofMinutes(1)));
		await().until(() -> count("holdfast.store.errors", "command", "renew") == 1);
	}

	@Test
	void whatTheFleetUsesIsReadWhenItIsLookedAtAndNotMoreOftenThanEveryFiveSeconds() {
		try (ObservedInstance other = new ObservedInstance(this.leases)) {
			SemaphoreRequest request = SemaphoreRequest.of("api", 5).permits(2).name("api");
			other.semaphores.acquire(request);
			this.instance.semaphores.acquire(request);
			assertThat(this.instance.inspections).as("inspections before the first reading").isZero();
			gauge("holdfast.semaphore.permits.used", "api");
			assertThat(gauge("holdfast.semaphore.permits.used", "api")).isEqualTo(4);
			assertThat(gauge("holdfast.semaphore.permits.limit", "api")).isEqualTo(5);
			other.semaphores.setLimit("api", 9);
			this.clock.add(4999, TimeUnit.MILLISECONDS);
			gauge("holdfast.semaphore.permits.limit", "api");
			assertThat(gauge("holdfast.semaphore.permits.limit", "api")).isEqualTo(5);
			assertThat(this.instance.inspections).isEqualTo(1);
			this.clock.add(1, TimeUnit.MILLISECONDS);
			gauge("holdfast.semaphore.permits.limit", "api");
			assertThat(gauge("holdfast.semaphore.permits.limit", "api")).isEqualTo(9);
			assertThat(this.instance.inspections).isEqualTo(2);
		}
	}

	@Test
	void anOperatorsLimitThatWasClearedIsShownNoMore() {
		this.instance.semaphores.acquire(SemaphoreRequest.of("api", 5).name("api")).release();
		this.instance.semaphores.setLimit("api", 7);
		gauge("holdfast.semaphore.permits.limit", "api");
		assertThat(gauge("holdfast.semaphore.permits.limit", "api")).isEqualTo(7);
		this.instance.semaphores.clearLimit("api");
		this.clock.add(5, TimeUnit.SECONDS);
		gauge("holdfast.semaphore.permits.limit", "api");
		assertThat(gauge("holdfast.semaphore.permits.limit", "api")).as("limit without a request").isNaN();
	}

	@Test
	void theLastLimitIsKeptWhileTheSemaphoreIsNotInUse() {
		this.instance.semaphores.acquire(SemaphoreRequest.of("api", 5).name("api")).release();
		assertThat(gauge("holdfast.semaphore.permits.limit", "api")).isNaN();
		assertThat(gauge("holdfast.semaphore.permits.limit", "api")).as("limit without a request").isNaN();
		PermitLease lease = this.instance.semaphores.acquire(SemaphoreRequest.of("api", 5).name("api"));
		this.clock.add(5, TimeUnit.SECONDS);
		gauge("holdfast.semaphore.permits.limit", "api");
		lease.release();
		this.clock.add(5, TimeUnit.SECONDS);
		gauge("holdfast.semaphore.permits.limit", "api");
		assertThat(gauge("holdfast.semaphore.permits.used", "api")).isZero();
		assertThat(gauge("holdfast.semaphore.permits.limit", "api")).isEqualTo(5);
	}

	@Test
	void aStoreThatFailsOrIsSilentLeavesTheLastValueAndIsAskedOnceAtATime() {
		this.instance.semaphores.acquire(SemaphoreRequest.of("api", 5).name("api"));
		gauge("holdfast.semaphore.permits.used", "api");
		assertThat(gauge("holdfast.semaphore.permits.used", "api")).isEqualTo(1);
		this.instance.failing = "inspect";
		this.clock.add(5, TimeUnit.SECONDS);
		assertThat(gauge("holdfast.semaphore.permits.used", "api")).isEqualTo(1);
		this.instance.failing = "";
		this.instance.answering = false;
		for (int i = 0; i < 3; i++) {
			this.clock.add(5, TimeUnit.SECONDS);
			assertThat(gauge("holdfast.semaphore.permits.used", "api")).isEqualTo(1);
		}
		assertThat(this.instance.inspections).isEqualTo(2);
	}

	@ParameterizedTest
	@ValueSource(strings = { "none", "api", "" })
	void aSemaphoreWhoseKeyIsNotItsNameIsNotLookedAt(String name) {
		SemaphoreRequest request = SemaphoreRequest.of("api:SKU1", 5);
		this.instance.semaphores.acquire(name.isEmpty() ? request : request.name(name));
		assertThat(this.registry.find("holdfast.semaphore.permits.used").gauges()).isEmpty();
		assertThat(this.registry.getMeters()).noneMatch((meter) -> meter.getId().getTags().toString().contains("SKU1"));
	}

	@Test
	void aSemaphoreInANamespaceIsNotLookedAtAsThereMayBeManyNamespaces() {
		SemaphoreRequest api = SemaphoreRequest.of("api", 5).name("api");
		this.instance.semaphores.acquire(api.namespace("acme"));
		assertThat(this.registry.find("holdfast.semaphore.permits.used").gauges()).isEmpty();
		this.instance.semaphores.acquire(api.namespace(""));
		gauge("holdfast.semaphore.permits.used", "api");
		assertThat(gauge("holdfast.semaphore.permits.used", "api")).as("permits of the common namespace").isEqualTo(1);
	}

	@Test
	void aRegistryThatOutlivesTheObserverHasTheGaugesOfTheNext() {
		SemaphoreRequest api = SemaphoreRequest.of("api", 5).name("api");
		this.instance.locks.acquire(STOCK);
		this.instance.semaphores.acquire(api);
		this.meters.close();
		assertThat(this.registry.find("holdfast.lock.held").meters()).isEmpty();
		assertThat(this.registry.find("holdfast.semaphore.permits.limit").meters()).isEmpty();
		this.instance.locks.acquire(LockRequest.of("late"));
		assertThat(this.registry.find("holdfast.lock.held").meters()).as("gauges of later requests").isEmpty();
		this.instance.close();
		try (ObservedInstance next = new ObservedInstance(this.leases);
				LeaseMeters meters = new LeaseMeters(this.registry)) {
			next.engine.observe(meters);
			next.locks.acquire(LockRequest.of("other").name("stock"));
			assertThat(gauge("holdfast.lock.held", "stock")).isEqualTo(1);
		}
	}

	@Test
	void anObserverThatEndsLeavesTheGaugesOfAnotherInTheRegistry() {
		this.instance.locks.acquire(STOCK);
		try (ObservedInstance other = new ObservedInstance(this.leases);
				LeaseMeters meters = new LeaseMeters(this.registry)) {
			other.engine.observe(meters);
			other.locks.acquire(LockRequest.of("stock:SKU2").name("stock"));
		}
		assertThat(gauge("holdfast.lock.held", "stock")).isEqualTo(1);
		this.meters.close();
		assertThat(this.registry.find("holdfast.lock.held").meters()).isEmpty();
	}

}
