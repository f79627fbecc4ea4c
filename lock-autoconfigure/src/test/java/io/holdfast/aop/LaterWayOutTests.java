package io.holdfast.aop;

import java.io.IOException;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

import io.holdfast.LockNotAcquiredException;
import io.holdfast.NotAcquiredException.Reason;
import io.holdfast.annotation.DistributedLock;
import io.holdfast.annotation.OnTimeout;
import io.holdfast.annotation.Semaphore;
import io.reactivex.rxjava3.core.Completable;
import io.reactivex.rxjava3.core.Maybe;
import io.reactivex.rxjava3.core.Single;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.test.StepVerifier;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Ways out of calls with a future or a chain that fail to acquire.
 */
class LaterWayOutTests extends LockedTestCase {

	private final Skipping skipping = start(Skipping.class, Falling.class);

	private final Falling falling = bean(Falling.class);

	@BeforeEach
	void prepare() {
		this.locks.busy();
	}

	@Test
	@DisplayName("A skipped call gives a future completed with null, or with an empty Optional")
	void skippedStage() {
		assertThat(this.skipping.future()).succeedsWithin(SOON).isNull();
		assertThat(this.skipping.futureOfOptional()).succeedsWithin(SOON).isEqualTo(Optional.empty());
		assertThat(this.locks.requests()).hasSize(2);
	}

	@Test
	@DisplayName("A skipped call gives an empty reactive type, or one of an empty Optional")
	void skippedReactive() {
		StepVerifier.create(this.skipping.mono()).expectComplete().verify(SOON);
		StepVerifier.create(this.skipping.fluxOfOptionals()).expectComplete().verify(SOON);
		StepVerifier.create(this.skipping.monoOfOptional()).expectNext(Optional.empty()).expectComplete().verify(SOON);
		StepVerifier.create(this.skipping.completable().toFlowable()).expectComplete().verify(SOON);
		assertThat(this.locks.requests()).hasSize(4);
	}

	@Test
	@DisplayName("A skipped call needs a type with an empty result: other types are refused at start-up")
	void notSkippable() {
		assertThat(refusal(SkippingSingle.class))
			.hasMessageContaining("onTimeout = SKIP is not possible, because the method returns")
			.hasMessageContaining("Single, which has no empty value")
			.hasMessageContaining("such as Mono or Maybe");
	}

	@Test
	@DisplayName("A fallback gives the result of a future or a chain; the permit is returned before")
	void fallback() {
		CompletableFuture<String> result = this.falling.stage("a");
		assertThat(result).succeedsWithin(SOON).isEqualTo("instead of a: TIMED_OUT");
		assertEvents("permit", "return", "fallback");
		assertThat(this.falling.mono("a").block(SOON)).isEqualTo("instead of a");
		this.locks.forget();
		StepVerifier.create(this.falling.flux("a")).expectNext("instead", "of", "a").expectComplete().verify(SOON);
		assertEvents("permit", "return", "fallback");
	}

	@Test
	@DisplayName("Each subscription that fails to acquire calls the fallback anew; a successful one does not")
	void fallbackForEachSubscription() {
		Mono<String> result = this.falling.mono("a");
		result.block(SOON);
		result.block(SOON);
		this.locks.refusing(null);
		assertThat(result.block(SOON)).isEqualTo("a");
		assertEvents("fallback", "fallback", "lock", "unlock");
	}

	@Test
	@DisplayName("An exception or a null result of the fallback is the method's failure")
	void failingFallback() {
		assertThat(failure(this.falling.failing(new IOException("in the fallback"))))
			.isExactlyInstanceOf(IOException.class)
			.hasMessage("in the fallback");
		assertThat(failure(this.falling.failing(null))).hasMessageStartingWith("The fallback of ");
		StepVerifier.create(this.falling.failingMono(new IOException("in the fallback")))
			.expectErrorMessage("in the fallback")
			.verify(SOON);
		StepVerifier.create(this.falling.failingMono(null))
			.expectErrorSatisfies((ex) -> assertThat(ex).hasMessageStartingWith("The fallback of "))
			.verify(SOON);
	}

	@Test
	@DisplayName("Failures of locks that the method takes itself take no way out")
	void nestedFailure() {
		this.locks.refusing(null);
		StepVerifier.create(this.skipping.nested()).expectError(LockNotAcquiredException.class).verify(SOON);
	}

	static class Skipping {

		@DistributedLock(onTimeout = OnTimeout.SKIP)
		CompletableFuture<String> future() {
			throw new IllegalStateException("not to be run");
		}

		@DistributedLock(onTimeout = OnTimeout.SKIP)
		CompletableFuture<Optional<String>> futureOfOptional() {
			throw new IllegalStateException("not to be run");
		}

		@DistributedLock(onTimeout = OnTimeout.SKIP)
		Mono<String> mono() {
			throw new IllegalStateException("not to be run");
		}

		@DistributedLock(onTimeout = OnTimeout.SKIP)
		Mono<Optional<String>> monoOfOptional() {
			throw new IllegalStateException("not to be run");
		}

		@DistributedLock(onTimeout = OnTimeout.SKIP)
		Flux<Optional<String>> fluxOfOptionals() {
			throw new IllegalStateException("not to be run");
		}

		@DistributedLock(onTimeout = OnTimeout.SKIP)
		Completable completable() {
			throw new IllegalStateException("not to be run");
		}

		@DistributedLock(onTimeout = OnTimeout.SKIP)
		Mono<String> nested() {
			return Mono.error(new LockNotAcquiredException("other", Reason.TIMED_OUT, SOON, null));
		}

	}

	static class SkippingSingle {

		@DistributedLock(onTimeout = OnTimeout.SKIP)
		Single<String> sell() {
			return Single.just("sold");
		}

	}

	static class Falling extends Recorded {

		@DistributedLock(fallback = "stageInstead")
		@Semaphore(limit = 1)
		CompletableFuture<String> stage(String sku) {
			throw new IllegalStateException("not to be run");
		}

		@SuppressWarnings("unused")
		private CompletableFuture<String> stageInstead(String sku, LockNotAcquiredException ex) {
			this.recorder.record("fallback");
			return CompletableFuture.supplyAsync(() -> "instead of " + sku + ": " + ex.getReason());
		}

		@DistributedLock(fallback = "monoInstead")
		Mono<String> mono(String sku) {
			return Mono.just(sku);
		}

		@SuppressWarnings("unused")
		private Mono<String> monoInstead(String sku) {
			this.recorder.record("fallback");
			return Mono.just("instead of " + sku);
		}

		@DistributedLock(fallback = "fluxInstead")
		@Semaphore(limit = 1)
		Flux<String> flux(String sku) {
			throw new IllegalStateException("not to be run");
		}

		@SuppressWarnings("unused")
		private Flux<String> fluxInstead(String sku) {
			this.recorder.record("fallback");
			return Flux.just("instead", "of", sku);
		}

		@DistributedLock(fallback = "failInstead")
		CompletionStage<String> failing(IOException failure) {
			throw new IllegalStateException("not to be run");
		}

		@SuppressWarnings("unused")
		private CompletableFuture<String> failInstead(IOException failure) throws IOException {
			if (failure != null) {
				throw failure;
			}
			return null;
		}

		@DistributedLock(fallback = "failMonoInstead")
		Mono<String> failingMono(IOException failure) {
			throw new IllegalStateException("not to be run");
		}

		@SuppressWarnings("unused")
		private Mono<String> failMonoInstead(IOException failure) throws IOException {
			if (failure != null) {
				throw failure;
			}
			return null;
		}

	}

}
