package io.holdfast.aop;

import java.io.IOException;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

import io.holdfast.LeaseLostException;
import io.holdfast.annotation.DistributedLock;
import io.holdfast.annotation.OnLoss;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.test.StepVerifier;
import reactor.test.publisher.TestPublisher;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Losses of leases before the result of a future or a chain has come.
 */
class LaterOnLossTests extends LockedTestCase {

	private final Shop shop = start(Shop.class);

	private void lose(String key) {
		awaitRunning();
		this.locks.lease(key).lose();
	}

	private void awaitRunning() {
		await().atMost(SOON).until(() -> this.locks.events().contains("body"));
	}

	@Test
	@DisplayName("NOTIFY: the result is unchanged")
	void notifying() {
		CompletableFuture<String> work = new CompletableFuture<>();
		CompletableFuture<String> result = this.shop.notifying(work);
		lose("notify");
		work.complete("done");
		assertThat(result).succeedsWithin(SOON).isEqualTo("done");
		StepVerifier.create(this.shop.notifyingMono(Mono.fromSupplier(() -> {
			lose("notify-mono");
			return "done";
		}))).expectNext("done").expectComplete().verify(SOON);
	}

	@Test
	@DisplayName("THROW: an exception replaces the result when it has come; a failure of the method has the loss as suppressed")
	void throwing() {
		CompletableFuture<String> work = new CompletableFuture<>();
		CompletableFuture<String> result = this.shop.throwing(work);
		lose("throw");
		assertThat(result).isNotDone();
		work.complete("done");
		assertThat(failure(result)).isInstanceOf(LeaseLostException.class).hasNoCause();
		Mono<String> mono = this.shop.throwingMono(Mono.fromSupplier(() -> {
			lose("throw-mono");
			return "done";
		}));
		StepVerifier.create(mono).expectError(LeaseLostException.class).verify(SOON);
		IOException own = new IOException("own");
		Mono<String> failing = this.shop.throwingMono(Mono.<String>error(own).doOnError((ex) -> lose("throw-mono")));
		StepVerifier.create(failing).expectErrorMatches(own::equals).verify(SOON);
		assertThat(own.getSuppressed()).hasAtLeastOneElementOfType(LeaseLostException.class);
	}

	@Test
	@DisplayName("INTERRUPT: the method's future is cancelled, and the cancellation is the cause of the exception")
	void interruptingStage() {
		CompletableFuture<String> work = new CompletableFuture<>();
		CompletableFuture<String> result = this.shop.interrupting(work);
		lose("interrupt");
		assertThat(failure(result)).isInstanceOf(LeaseLostException.class)
			.hasCauseInstanceOf(CancellationException.class);
		assertThat(work).isCancelled();
		assertEvents("lock", "body", "unlock");
	}

	@Test
	@DisplayName("INTERRUPT: while the method itself still runs, its thread is interrupted")
	void interruptingBody() throws InterruptedException {
		CompletableFuture<String> result = this.shop.sleeping();
		lose("interrupt-body");
		assertThat(failure(result)).isInstanceOf(LeaseLostException.class)
			.hasCauseInstanceOf(InterruptedException.class);
	}

	@Test
	@DisplayName("INTERRUPT: a lease that was lost before the method returned cancels the future that it returns")
	void lostBeforeReturn() {
		CompletableFuture<String> work = new CompletableFuture<>();
		CompletableFuture<Void> leave = new CompletableFuture<>();
		CompletableFuture<String> result = this.shop.late(leave, work);
		lose("interrupt-late");
		leave.complete(null);
		assertThat(failure(result)).isInstanceOf(LeaseLostException.class);
		assertThat(work).isCancelled();
	}

	@Test
	@DisplayName("INTERRUPT: the chain is cancelled, and its subscriber gets the loss")
	void interruptingReactive() {
		TestPublisher<String> source = TestPublisher.create();
		StepVerifier.create(this.shop.interruptingFlux(source.flux()))
			.then(this::awaitRunning)
			.then(() -> source.next("1"))
			.expectNext("1")
			.then(() -> lose("interrupt-flux"))
			.expectError(LeaseLostException.class)
			.verify(SOON);
		source.assertCancelled();
		assertEvents("lock", "body", "unlock");
	}

	@Test
	@DisplayName("INTERRUPT: an error of the chain together with the loss is the cause")
	void interruptingReactiveError() {
		IOException own = new IOException("own");
		Flux<String> failing = Flux.<String>error(own)
			// The release finds the loss before its notification.
			.doOnError((ex) -> this.locks.lease("interrupt-flux").loseSilently());
		StepVerifier.create(this.shop.interruptingFlux(failing))
			.expectErrorSatisfies((ex) -> assertThat(ex).isInstanceOf(LeaseLostException.class).hasCause(own))
			.verify(SOON);
	}

	static class Shop extends Recorded {

		@DistributedLock(name = "notify")
		CompletableFuture<String> notifying(CompletableFuture<String> work) {
			return ran(work);
		}

		@DistributedLock(name = "notify-mono")
		Mono<String> notifyingMono(Mono<String> work) {
			return ran(work);
		}

		@DistributedLock(name = "throw", onLoss = OnLoss.THROW)
		CompletableFuture<String> throwing(CompletableFuture<String> work) {
			return ran(work);
		}

		@DistributedLock(name = "throw-mono", onLoss = OnLoss.THROW)
		Mono<String> throwingMono(Mono<String> work) {
			return ran(work);
		}

		@DistributedLock(name = "interrupt", onLoss = OnLoss.INTERRUPT)
		CompletableFuture<String> interrupting(CompletableFuture<String> work) {
			return ran(work);
		}

		@DistributedLock(name = "interrupt-body", onLoss = OnLoss.INTERRUPT)
		CompletableFuture<String> sleeping() throws InterruptedException {
			ran("");
			new CountDownLatch(1).await(1, TimeUnit.MINUTES);
			return new CompletableFuture<>();
		}

		@DistributedLock(name = "interrupt-late", onLoss = OnLoss.INTERRUPT)
		CompletableFuture<String> late(CompletableFuture<Void> leave, CompletableFuture<String> work) {
			ran("");
			// Ignores an interrupt.
			leave.join();
			return work;
		}

		@DistributedLock(name = "interrupt-flux", onLoss = OnLoss.INTERRUPT)
		Flux<String> interruptingFlux(Flux<String> work) {
			return ran(work);
		}

	}

}
