package io.holdfast.actuate;

import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;

import io.holdfast.LockLease;
import io.holdfast.LockMode;
import io.holdfast.LockRequest;
import io.holdfast.LockService;
import io.holdfast.actuate.UsageDescriptor.Request;
import io.holdfast.engine.DefaultLockService;
import io.holdfast.engine.LeaseEngine;
import io.holdfast.engine.fleet.Fleet;
import io.holdfast.engine.fleet.StandingQuery.Order;
import io.holdfast.engine.fleet.StandingQuery.State;
import io.holdfast.engine.store.HandOverLimits;
import io.holdfast.engine.store.InstanceInfo;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import org.springframework.boot.actuate.endpoint.SecurityContext;
import org.springframework.boot.actuate.endpoint.web.WebEndpointResponse;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.tuple;
import static org.awaitility.Awaitility.await;

class LocksEndpointTests {

	@AutoClose
	private final Instances instances = new Instances();

	private final LeaseEngine own = this.instances.start();

	private final LeaseEngine other = this.instances.start();

	private final LockService ownLocks = new DefaultLockService(this.own);

	private final LockService otherLocks = new DefaultLockService(this.other);

	private final LocksEndpoint endpoint = new LocksEndpoint(this.own);

	private UsageDescriptor locks() {
		return this.instances.withoutSecrets(this.endpoint.locks(null, null));
	}

	private CompletableFuture<LockLease> waitFor(LockService locks, LockRequest request) {
		return locks.acquireAsync(request.waitTime(Duration.ofMinutes(1)));
	}

	@Test
	@DisplayName("The list has this instance's holders and waiters with thread, name, time and fence")
	void tellsOfThisInstance() {
		Instant before = Instant.now();
		LockLease lease = this.ownLocks.acquire(LockRequest.of("stock:1").name("stock"));
		LockLease read = this.ownLocks.acquire(LockRequest.of("price").mode(LockMode.READ));
		this.otherLocks.acquire("other");
		CompletableFuture<LockLease> waiting = waitFor(this.ownLocks, LockRequest.of("other").name("else"));
		UsageDescriptor view = locks();
		assertThat(view.cut()).isFalse();
		assertThat(view.held())
			.extracting(Request::key, Request::mode, Request::name, Request::thread, Request::fencingToken)
			.containsExactly(
					tuple("stock:1", LockMode.EXCLUSIVE, "stock", Thread.currentThread().getName(),
							lease.fencingToken()),
					tuple("price", LockMode.READ, null, Thread.currentThread().getName(), read.fencingToken()));
		assertThat(view.held()).allSatisfy((held) -> {
			assertThat(held.since()).isBetween(before.minusMillis(1), Instant.now());
			assertThat(held.ttlMillis()).isBetween(20_000L, 30_000L);
		});
		assertThat(view.waiting()).extracting(Request::key, Request::mode, Request::name, Request::thread)
			.containsExactly(tuple("other", LockMode.EXCLUSIVE, "else", null));
		waiting.cancel(true);
		await().untilAsserted(() -> assertThat(locks().waiting()).isEmpty());
		lease.release();
		read.release();
		assertThat(locks().held()).isEmpty();
	}

	@Test
	@DisplayName("A lock whose caller has gone during its work is marked, in its instance and in the fleet")
	void tellsOfGoneCallers() {
		CompletableFuture<String> work = new CompletableFuture<>();
		CompletableFuture<String> caller = this.ownLocks.withLockAsync("stock:1", () -> work);
		await().until(() -> work.getNumberOfDependents() == 1);
		assertThat(locks().held()).extracting(Request::thread).containsOnlyNulls();
		caller.cancel(true);
		assertThat(locks().held()).extracting(Request::key, Request::thread)
			.containsExactly(tuple("stock:1", "none (its caller has gone)"));
		Fleet.of(this.own).register(() -> new InstanceInfo("shop", "host", 1));
		assertThat(Fleet.of(this.own).awaitCompatibilityCheck(Duration.ofSeconds(10))).isNull();
		assertThat(new LocksEndpoint(this.other).lock("stock:1").holders())
			.extracting(ResourceDescriptor.Holder::thread)
			.containsExactly("none (its caller has gone)");
		work.complete("late");
		await().until(() -> locks().held().isEmpty());
	}

	@Test
	@DisplayName("A nested lease is not listed again, and waiters inside of this instance are listed")
	void tellsOfHoldsNotOfLeases() {
		LockLease outer = this.ownLocks.acquire("stock:1");
		LockLease inner = this.ownLocks.acquire("stock:1");
		CompletableFuture<LockLease> first = waitFor(this.ownLocks, LockRequest.of("stock:1"));
		CompletableFuture<LockLease> second = waitFor(this.ownLocks, LockRequest.of("stock:1"));
		assertThat(locks().held()).hasSize(1);
		assertThat(locks().waiting()).hasSize(2);
		List.of(first, second).forEach((waiting) -> waiting.cancel(true));
		inner.release();
		assertThat(locks().held()).hasSize(1);
		outer.release();
	}

	@Test
	@DisplayName("Waiters inside of an instance count in lists, searches and sums")
	void countsWaitersInside() {
		Fleet.of(this.own).register(() -> new InstanceInfo("shop", "host", 1));
		Fleet.of(this.other).register(() -> new InstanceInfo("shop", "host", 2));
		this.otherLocks.acquire("calm");
		this.otherLocks.acquire("hot");
		List<CompletableFuture<LockLease>> waits = List.of(waitFor(this.otherLocks, LockRequest.of("hot")),
				waitFor(this.otherLocks, LockRequest.of("hot")), waitFor(this.ownLocks, LockRequest.of("hot")),
				waitFor(this.ownLocks, LockRequest.of("hot")));
		await("each other").until(() -> Fleet.of(this.own).members().size() == 2);
		assertThat(locks().fleet().locks()).extracting(ResourceDescriptor::key, ResourceDescriptor::waiters)
			.containsExactlyInAnyOrder(tuple("calm", 0), tuple("hot", 4));
		FleetDescriptor found = this.endpoint.locks(null, null, null, null, State.CONTENDED, null, null, null).fleet();
		assertThat(found.locks()).extracting(ResourceDescriptor::key, ResourceDescriptor::waiters)
			.containsExactly(tuple("hot", 4));
		assertThat(found.found()).isNotNull();
		assertThat(found.found().waiting()).isEqualTo(4);
		waits.get(2).cancel(true);
		waits.get(3).cancel(true);
		await("no place in the queue").untilAsserted(() -> {
			ResourceDescriptor hot = this.endpoint.lock("hot");
			assertThat(hot).isNotNull();
			assertThat(hot.queueLength()).isZero();
			assertThat(hot.waiters()).isEqualTo(2);
		});
		found = this.endpoint.locks(null, null, null, null, null, null, Order.WAITERS, null).fleet();
		assertThat(found.locks()).extracting(ResourceDescriptor::key, ResourceDescriptor::waiters)
			.containsExactly(tuple("hot", 2), tuple("calm", 0));
		waits.forEach((wait) -> wait.cancel(true));
	}

	@Test
	@DisplayName("A search covers all holders and waiters of a key in each instance, for any number")
	void looksThroughAllOfOneKey() {
		List<LockLease> leases = new ArrayList<>();
		for (int i = 0; i <= 1000; i++) {
			leases.add(this.ownLocks.acquire("order:" + i));
		}
		String key = "order:" + 1000;
		assertThat(locks().cut()).isTrue();
		UsageDescriptor view = this.instances
			.withoutSecrets(this.endpoint.locks(null, null, key, null, null, null, null, null));
		assertThat(view.held()).extracting(Request::key).containsExactly(key);
		assertThat(view.cut()).isFalse();
		String thread = Thread.currentThread().getName();
		assertThat(view.fleet().locks().get(0).holders()).extracting(ResourceDescriptor.Holder::thread)
			.containsExactly(thread);
		ResourceDescriptor one = this.instances.withoutSecrets(this.endpoint.lock(key));
		assertThat(one).isNotNull();
		assertThat(one.holders()).extracting(ResourceDescriptor.Holder::thread).containsExactly(thread);
		Fleet.of(this.own).register(() -> new InstanceInfo("shop", "host", 1));
		assertThat(Fleet.of(this.own).awaitCompatibilityCheck(Duration.ofSeconds(10))).isNull();
		LocksEndpoint other = new LocksEndpoint(this.other);
		assertThat(other.locks(null, null).fleet().silent()).isEmpty();
		ResourceDescriptor seen = other.lock(key);
		assertThat(seen).isNotNull();
		assertThat(seen.holders()).extracting(ResourceDescriptor.Holder::thread).containsExactly(thread);
		assertThat(other.locks(null, null, key, null, null, null, null, null).fleet().locks())
			.flatExtracting(ResourceDescriptor::holders)
			.extracting(ResourceDescriptor.Holder::thread)
			.containsExactly(thread);
		leases.forEach(LockLease::release);
	}

	@Test
	@DisplayName("Locks of the fleet are listed with their holders and queues, in pages")
	void tellsOfTheFleet() {
		List<LockLease> leases = new ArrayList<>();
		for (int i = 0; i < 5; i++) {
			leases.add(this.otherLocks.acquire("stock:" + i));
		}
		CompletableFuture<LockLease> waiting = waitFor(this.ownLocks, LockRequest.of("stock:3"));
		this.instances.leases().takeIfFree("stock:9", "stranger", -1);
		String ownId = Fleet.of(this.own).instance();
		String otherId = Fleet.of(this.other).instance();
		assertThat(ownId).matches("[0-9a-f]{8}").isNotEqualTo(otherId);
		UsageDescriptor view = locks();
		assertThat(view.toString()).doesNotContain("stranger");
		assertThat(view.instance().id()).isEqualTo(ownId);
		assertThat(view.held()).isEmpty();
		assertThat(view.fleet().locks()).hasSize(6);
		ResourceDescriptor third = view.fleet().locks().get(3);
		assertThat(third.key()).isEqualTo("stock:3");
		assertThat(third.fencingToken()).isEqualTo(leases.get(3).fencingToken());
		assertThat(third.holders()).hasSize(1);
		assertThat(third.holders().get(0).instance()).isEqualTo(otherId);
		assertThat(third.holders().get(0).ttlMillis()).isBetween(20_000L, 30_000L);
		assertThat(third.queue()).extracting(ResourceDescriptor.WaiterDescriptor::instance).containsExactly(ownId);
		assertThat(third.queueLength()).isEqualTo(1);
		ResourceDescriptor foreign = view.fleet().locks().get(5);
		assertThat(foreign.fencingToken()).isNull();
		assertThat(foreign.holders()).containsExactly(new ResourceDescriptor.Holder(null, null, null, null, true,
				LockMode.EXCLUSIVE, null, -1, null, null, null, null));
		FleetDescriptor page = this.endpoint.locks(null, 4).fleet();
		assertThat(page.locks()).hasSize(4);
		page = this.endpoint.locks(page.cursor(), 4).fleet();
		assertThat(page.locks()).hasSize(2);
		assertThat(page.cursor()).isNull();
		waiting.cancel(true);
	}

	@Test
	@DisplayName("A lock is released by the fencing token of its holder, also after a hand-over within an instance")
	void releasesAfterLocalHandOver() {
		LockLease passedOn = passedOn("a");
		assertThat(locks().held()).extracting(Request::fencingToken).containsExactly(passedOn.fencingToken());
		LocksEndpoint otherEndpoint = new LocksEndpoint(this.other);
		assertThat(otherEndpoint.release("a", passedOn.fencingToken() + HandOverLimits.STRIDE, SecurityContext.NONE))
			.isInstanceOf(WebEndpointResponse.class);
		assertThat(otherEndpoint.release("a", passedOn.fencingToken(), SecurityContext.NONE))
			.isEqualTo(new ReleaseDescriptor(true, null));
		assertThat(this.ownLocks.tryAcquire("a")).isPresent();
	}

	/**
	 * Return a lease from a local hand-over, whose token the store does not know.
	 */
	private LockLease passedOn(String key) {
		while (true) {
			LockLease first = this.ownLocks.acquire(key);
			CompletableFuture<LockLease> waiting = waitFor(this.ownLocks, LockRequest.of(key));
			first.close();
			LockLease next = waiting.join();
			// A slow machine exceeds the time limit for a hand-over.
			if (next.fencingToken() == first.fencingToken() + 1) {
				return next;
			}
			next.release();
		}
	}

	@Test
	@DisplayName("The start of the answering instance is the same in all lists")
	void tellsOneStart() {
		Fleet.of(this.own).register(() -> new InstanceInfo("shop", "host", 1));
		await().until(() -> !Fleet.of(this.own).members().isEmpty());
		UsageDescriptor view = locks();
		assertThat(view.fleet().instances()).extracting(InstanceDescriptor::started)
			.containsExactly(view.instance().started());
		UsageDescriptor semaphores = new SemaphoresEndpoint(this.own).semaphores(null, null);
		assertThat(semaphores.fleet().instances()).extracting(InstanceDescriptor::started)
			.containsExactly(semaphores.instance().started());
	}

	@Test
	@DisplayName("While the store fails, this instance's own leases are listed, with the problem")
	void tellsOfThisInstanceWithoutStore() {
		this.ownLocks.acquire("stock:1");
		this.instances.fail();
		UsageDescriptor view = locks();
		assertThat(view.held()).extracting(Request::key).containsExactly("stock:1");
		assertThat(view.fleet().locks()).isEmpty();
		assertThat(view.fleet().problem()).startsWith("The search for locks failed: ");
	}

}
