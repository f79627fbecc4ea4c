package io.holdfast.actuate;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;

import io.holdfast.PermitLease;
import io.holdfast.SemaphoreRequest;
import io.holdfast.SemaphoreService;
import io.holdfast.actuate.UsageDescriptor.Request;
import io.holdfast.engine.DefaultSemaphoreService;
import io.holdfast.engine.LeaseEngine;
import io.holdfast.engine.fleet.Fleet;
import io.holdfast.engine.fleet.StandingQuery.State;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import org.springframework.boot.actuate.endpoint.InvalidEndpointRequestException;
import org.springframework.boot.actuate.endpoint.SecurityContext;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.tuple;
import static org.awaitility.Awaitility.await;

class SemaphoresEndpointTests {

	@AutoClose
	private final Instances instances = new Instances();

	private final LeaseEngine own = this.instances.start();

	private final LeaseEngine other = this.instances.start();

	private final SemaphoreService ownSemaphores = new DefaultSemaphoreService(this.own);

	private final SemaphoreService otherSemaphores = new DefaultSemaphoreService(this.other);

	private final SemaphoresEndpoint endpoint = new SemaphoresEndpoint(this.own);

	private UsageDescriptor semaphores() {
		return this.instances.withoutSecrets(this.endpoint.semaphores(null, null));
	}

	private CompletableFuture<PermitLease> waitFor(SemaphoreService semaphores, int permits, int limit) {
		return semaphores.acquireAsync(
				SemaphoreRequest.of("call/out", limit).permits(permits).name("call").waitTime(Duration.ofMinutes(1)));
	}

	@Test
	@DisplayName("Permits whose caller has gone during its work are marked")
	void tellsOfGoneCallers() {
		CompletableFuture<String> work = new CompletableFuture<>();
		CompletableFuture<String> caller = this.ownSemaphores.withPermitsAsync(SemaphoreRequest.of("call/out", 3),
				() -> work);
		await().until(() -> work.getNumberOfDependents() == 1);
		caller.orTimeout(1, TimeUnit.MILLISECONDS);
		await().until(() -> "none (its caller has gone)".equals(semaphores().held().get(0).thread()));
		assertThat(semaphores().fleet().semaphores().get(0).used()).isEqualTo(1);
		work.complete("late");
		await().until(() -> semaphores().held().isEmpty());
	}

	@Test
	@DisplayName("The list has holders and waiters of this instance and of the fleet")
	void tellsOfThisInstanceAndTheFleet() {
		this.ownSemaphores.acquire(SemaphoreRequest.of("call/out", 3).permits(2).name("call"));
		this.otherSemaphores.acquire(SemaphoreRequest.of("call/out", 3));
		waitFor(this.ownSemaphores, 1, 3);
		waitFor(this.otherSemaphores, 2, 3);
		UsageDescriptor view = semaphores();
		assertThat(view.held()).extracting(Request::key, Request::permits, Request::name, Request::thread)
			.containsExactly(tuple("call/out", 2, "call", Thread.currentThread().getName()));
		assertThat(view.waiting()).extracting(Request::key, Request::permits, Request::name, Request::thread)
			.containsExactly(tuple("call/out", 1, "call", null));
		assertThat(view.fleet().semaphores()).hasSize(1);
		ResourceDescriptor semaphore = view.fleet().semaphores().get(0);
		assertThat(semaphore)
			.extracting(ResourceDescriptor::key, ResourceDescriptor::limit, ResourceDescriptor::limitSet,
					ResourceDescriptor::used, ResourceDescriptor::free, ResourceDescriptor::holderCount,
					ResourceDescriptor::queueLength)
			.containsExactly("call/out", 3, false, 3, 0, 2, 2);
		String ownId = Fleet.of(this.own).instance();
		String otherId = Fleet.of(this.other).instance();
		assertThat(semaphore.holders())
			.extracting(ResourceDescriptor.Holder::instance, ResourceDescriptor.Holder::permits)
			.containsExactlyInAnyOrder(tuple(ownId, 2), tuple(otherId, 1));
		assertThat(semaphore.queue())
			.extracting(ResourceDescriptor.WaiterDescriptor::instance, ResourceDescriptor.WaiterDescriptor::permits)
			.containsExactly(tuple(ownId, 1), tuple(otherId, 2));
	}

	@Test
	@DisplayName("Of one key, a list has 100 holders and the view of the key 1,000, with the number of all")
	void manyHolders() {
		SemaphoreRequest request = SemaphoreRequest.of("call", 1_001);
		IntStream.range(0, 1_001).forEach((i) -> this.ownSemaphores.acquire(request));
		ResourceDescriptor listed = semaphores().fleet().semaphores().get(0);
		assertThat(listed.holders()).hasSize(100);
		assertThat(listed.holderCount()).isEqualTo(1_001);
		ResourceDescriptor one = this.instances.withoutSecrets(this.endpoint.semaphore("call"));
		assertThat(one).isNotNull();
		assertThat(one.holders()).hasSize(1_000);
		assertThat(one.holderCount()).isEqualTo(1_001);
	}

	@Test
	@DisplayName("Waiters inside of an instance count in lists and sums")
	void countsWaitersInside() {
		this.otherSemaphores.acquire(SemaphoreRequest.of("call/out", 1));
		List<CompletableFuture<PermitLease>> waits = List.of(waitFor(this.ownSemaphores, 1, 1),
				waitFor(this.ownSemaphores, 1, 1), waitFor(this.ownSemaphores, 1, 1));
		assertThat(this.endpoint.semaphores(null, null).fleet().semaphores())
			.extracting(ResourceDescriptor::key, ResourceDescriptor::waiters)
			.containsExactly(tuple("call/out", 3));
		FleetDescriptor found = this.endpoint.semaphores(null, null, null, null, State.CONTENDED, null, null).fleet();
		assertThat(found.semaphores()).extracting(ResourceDescriptor::waiters).containsExactly(3);
		assertThat(found.found()).isNotNull();
		assertThat(found.found().waiting()).isEqualTo(3);
		waits.forEach((wait) -> wait.cancel(true));
	}

	@Test
	@DisplayName("A limit is set and cleared; an unused semaphore with a limit is listed")
	void setsAndClearsLimits() {
		assertThat(this.endpoint.semaphore("call", "out")).isNull();
		CompletableFuture<PermitLease> waiting = waitFor(this.ownSemaphores, 1, 1);
		await().until(waiting::isDone);
		CompletableFuture<PermitLease> second = waitFor(this.ownSemaphores, 1, 1);
		assertThat(second).isNotDone();
		this.endpoint.limit("call/out", 2, null, SecurityContext.NONE);
		await().until(second::isDone);
		assertThat(semaphores().fleet().semaphores()).singleElement()
			.extracting(ResourceDescriptor::limit, ResourceDescriptor::limitSet, ResourceDescriptor::free)
			.containsExactly(2, true, 0);
		waiting.join().release();
		second.join().release();
		assertThat(semaphores().fleet().semaphores()).singleElement()
			.extracting(ResourceDescriptor::limit, ResourceDescriptor::limitSet, ResourceDescriptor::free)
			.containsExactly(2, true, 2);
		this.endpoint.limit("call/out", null, true, SecurityContext.NONE);
		assertThat(semaphores().fleet().semaphores()).isEmpty();
		assertThat(this.endpoint.semaphore("call", "out")).isNull();
	}

	@Test
	@DisplayName("Only an explicit request clears a limit, and a request with both or neither changes nothing")
	void clearsNoLimitByMistake() {
		this.endpoint.limit("call", 2, null, SecurityContext.NONE);
		for (Boolean clear : new Boolean[] { null, false }) {
			assertThatExceptionOfType(InvalidEndpointRequestException.class)
				.isThrownBy(() -> this.endpoint.limit("call", null, clear, SecurityContext.NONE))
				.satisfies((ex) -> assertThat(ex.getReason()).startsWith("There is neither a limit nor 'clear': give"));
		}
		assertThatExceptionOfType(InvalidEndpointRequestException.class)
			.isThrownBy(() -> this.endpoint.limit("call", 3, true, SecurityContext.NONE))
			.satisfies((ex) -> assertThat(ex.getReason()).startsWith("There is both a limit and 'clear': give"));
		assertThat(this.endpoint.semaphore("call").limit()).isEqualTo(2);
		this.endpoint.limit("call", null, true, SecurityContext.NONE);
		assertThat(this.endpoint.semaphore("call")).isNull();
	}

	@Test
	@DisplayName("Permits are released by force, waiters get them, and their holders see the loss")
	void releases() {
		PermitLease first = this.ownSemaphores.acquire(SemaphoreRequest.of("call/out", 3).permits(2));
		PermitLease second = this.otherSemaphores.acquire(SemaphoreRequest.of("call/out", 3));
		CompletableFuture<PermitLease> waiting = waitFor(this.otherSemaphores, 3, 3);
		assertThat(this.endpoint.release("call/out", SecurityContext.NONE))
			.isEqualTo(new ReleaseDescriptor(true, null));
		assertThat(first.isHeld()).isFalse();
		await().until(waiting::isDone);
		assertThat(this.endpoint.semaphore("call", "out").used()).isEqualTo(3);
		waiting.join().release();
		assertThat(this.endpoint.release("call/out", SecurityContext.NONE))
			.isEqualTo(new ReleaseDescriptor(false, null));
		assertThat(second.release().name()).isNotNull();
	}

}
