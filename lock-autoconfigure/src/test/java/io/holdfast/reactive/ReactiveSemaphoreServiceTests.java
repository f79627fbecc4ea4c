package io.holdfast.reactive;

import java.time.Duration;

import io.holdfast.NotAcquiredException.Reason;
import io.holdfast.PermitNotAcquiredException;
import io.holdfast.SemaphoreRequest;
import io.holdfast.engine.DefaultSemaphoreService;
import io.holdfast.engine.EngineSettings;
import io.holdfast.engine.LeaseEngine;
import io.holdfast.memory.MemoryLeaseStore;
import io.holdfast.memory.MemoryLeases;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import reactor.core.Disposable;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.test.StepVerifier;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Chains with permits, on the store in memory.
 */
class ReactiveSemaphoreServiceTests {

	@AutoClose
	private final LeaseEngine engine = new LeaseEngine(new MemoryLeaseStore(new MemoryLeases(System::nanoTime)),
			EngineSettings.defaults());

	private final DefaultSemaphoreService service = new DefaultSemaphoreService(this.engine);

	private final ReactiveSemaphoreService semaphores = new ReactiveSemaphoreService(this.service);

	private int used() {
		return this.service.status("s").used();
	}

	@Test
	@DisplayName("A chain has its permits during its run, and finds their lease; its value comes after the release")
	void withPermits() {
		Mono<Integer> inside = ReactiveLeaseContext.current()
			.map((context) -> 10 * context.permits().permits() + used());
		Mono<Integer> chain = this.semaphores.withPermits(SemaphoreRequest.of("s", 3).permits(2), inside);
		assertThat(used()).isZero();
		StepVerifier.create(chain).assertNext((value) -> {
			assertThat(value).isEqualTo(22);
			assertThat(used()).isZero();
		}).verifyComplete();
		StepVerifier.create(this.semaphores.withPermits(SemaphoreRequest.of("s", 1), inside))
			.expectNext(11)
			.verifyComplete();
		StepVerifier
			.create(this.semaphores.withPermits(SemaphoreRequest.of("s", 1), Flux.range(1, 3).concatWith(inside)))
			.expectNext(1, 2, 3, 11)
			.verifyComplete();
	}

	@Test
	@DisplayName("Permits are not nested: an inner chain takes its own")
	void notNested() {
		Mono<Integer> inner = this.semaphores.withPermits(SemaphoreRequest.of("s", 2), Mono.fromSupplier(this::used));
		StepVerifier.create(this.semaphores.withPermits(SemaphoreRequest.of("s", 2), inner))
			.expectNext(2)
			.verifyComplete();
	}

	@Test
	@DisplayName("tryAcquire does not wait by default; a waiting chain gets the permit of a cancelled chain")
	void waiting() {
		Disposable running = this.semaphores.withPermits(SemaphoreRequest.of("s", 1), Mono.never()).subscribe();
		Awaitility.await().until(() -> used() == 1);
		StepVerifier.create(this.semaphores.acquire(SemaphoreRequest.of("s", 1)))
			.expectErrorSatisfies(
					(ex) -> assertThat(((PermitNotAcquiredException) ex).getReason()).isEqualTo(Reason.TIMED_OUT))
			.verify();
		StepVerifier.create(this.semaphores.tryAcquire(SemaphoreRequest.of("s", 1))).verifyComplete();
		SemaphoreRequest patient = SemaphoreRequest.of("s", 1).waitTime(Duration.ofSeconds(10));
		StepVerifier.create(this.semaphores.withPermits(patient, Mono.just("value")))
			.then(() -> Awaitility.await().until(() -> this.service.status("s").waiting() == 1))
			.then(running::dispose)
			.expectNext("value")
			.verifyComplete();
	}

	@Test
	@DisplayName("A request above the limit is an error of tryAcquire, too")
	void exceedsLimit() {
		StepVerifier.create(this.semaphores.tryAcquire(SemaphoreRequest.of("s", 1).permits(2)))
			.expectErrorSatisfies(
					(ex) -> assertThat(((PermitNotAcquiredException) ex).getReason()).isEqualTo(Reason.EXCEEDS_LIMIT))
			.verify();
	}

	@Test
	@DisplayName("Permits acquired by hand are released by hand")
	void byHand() {
		StepVerifier.create(this.semaphores.acquire(SemaphoreRequest.of("s", 1))).assertNext((lease) -> {
			assertThat(used()).isEqualTo(1);
			lease.release();
		}).verifyComplete();
		StepVerifier.create(this.semaphores.tryAcquire(SemaphoreRequest.of("s", 1))).assertNext((lease) -> {
			assertThat(used()).isEqualTo(1);
			lease.release();
		}).verifyComplete();
	}

}
