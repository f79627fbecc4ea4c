package io.holdfast.aop;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;

import io.holdfast.LeaseLostException;
import io.holdfast.annotation.DistributedLock;
import io.holdfast.annotation.OnLoss;
import io.holdfast.annotation.ReleaseAfter;
import io.holdfast.annotation.Semaphore;
import io.holdfast.testing.ReactiveTestTransactions;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import reactor.core.publisher.Mono;
import reactor.test.StepVerifier;

import org.springframework.transaction.reactive.TransactionSynchronization;
import org.springframework.transaction.reactive.TransactionSynchronizationManager;
import org.springframework.transaction.reactive.TransactionalOperator;
import org.springframework.transaction.support.TransactionTemplate;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

/**
 * Locks inside of a transaction, of methods with a future or a chain.
 */
class LaterReleaseAfterTests extends LockedTestCase {

	private TransactionTemplate transaction;

	private TransactionalOperator reactiveTransaction;

	private final Shop shop = start(Shop.class, RecordingTransactions.class);

	@BeforeEach
	void prepare() {
		this.transaction = new TransactionTemplate(bean(RecordingTransactions.class));
		this.reactiveTransaction = TransactionalOperator.create(new ReactiveTestTransactions(this.locks::record));
	}

	private <T> T inTransaction(Supplier<T> body) {
		return this.transaction.execute((status) -> body.get());
	}

	@Test
	@DisplayName("A method that ends in its caller's transaction gives its result at once, and its lock is released after the commit")
	void endsBeforeCommit() {
		String result = inTransaction(() -> {
			CompletableFuture<String> later = this.shop.sell(CompletableFuture.completedFuture("sold"));
			return later.orTimeout(10, TimeUnit.SECONDS).join();
		});
		assertThat(result).isEqualTo("sold");
		assertEvents("begin", "permit", "lock", "body", "return", "commit", "unlock");
	}

	@Test
	@DisplayName("A method that ends after the transaction releases its lock then")
	void endsAfterCommit() {
		CompletableFuture<String> work = new CompletableFuture<>();
		CompletableFuture<String> result = inTransaction(() -> {
			CompletableFuture<String> later = this.shop.sell(work);
			awaitEvents("begin", "permit", "lock", "body");
			return later;
		});
		awaitEvents("begin", "permit", "lock", "body", "commit");
		work.complete("sold");
		assertThat(result).succeedsWithin(SOON).isEqualTo("sold");
		awaitEvents("begin", "permit", "lock", "body", "commit", "unlock", "return");
	}

	@Test
	@DisplayName("A lock that is granted after the transaction is released after its method")
	void grantedAfterCommit() {
		CompletableFuture<?> turn = this.semaphores.waiting();
		CompletableFuture<String> result = inTransaction(
				() -> this.shop.sell(CompletableFuture.completedFuture("sold")));
		turn.complete(null);
		assertThat(result).succeedsWithin(SOON).isEqualTo("sold");
		awaitEvents("begin", "commit", "permit", "lock", "body", "unlock", "return");
	}

	@Test
	@DisplayName("A rollback releases the lock, too; with METHOD, transactions do not matter")
	void rollback() {
		assertThatIllegalStateException().isThrownBy(() -> inTransaction(() -> {
			this.shop.sell(CompletableFuture.completedFuture("sold")).orTimeout(10, TimeUnit.SECONDS).join();
			throw new IllegalStateException("failed");
		}));
		awaitEvents("begin", "permit", "lock", "body", "return", "rollback", "unlock");
		inTransaction(() -> this.shop.ofMethod().orTimeout(10, TimeUnit.SECONDS).join());
		assertThat(this.locks.events().subList(7, 12)).containsExactly("begin", "lock", "body", "unlock", "commit");
	}

	@Test
	@DisplayName("A loss between the method's end and the commit prevents the commit")
	void lostBeforeCommit() {
		assertThatExceptionOfType(LeaseLostException.class).isThrownBy(() -> inTransaction(() -> {
			this.shop.throwing().orTimeout(10, TimeUnit.SECONDS).join();
			this.locks.lease("throwing").lose();
			return null;
		}));
		awaitEvents("begin", "lock", "body", "unlock", "rollback");
	}

	@Test
	@DisplayName("A reactive method keeps its lock until the reactive transaction around it is completed")
	void reactive() {
		Mono<String> result = this.shop.sellReactively()
			.doOnSuccess((value) -> this.locks.record("ended"))
			.as(this.reactiveTransaction::transactional)
			.doOnSuccess((value) -> this.locks.record("result"));
		String[] events = { "begin", "lock", "body", "ended", "commit", "unlock", "result" };
		assertThat(result.block(SOON)).isEqualTo("sold");
		assertEvents(events);
		assertThat(this.shop.sellReactively().block(SOON)).isEqualTo("sold");
		assertThat(this.locks.events().subList(events.length, events.length + 3)).containsExactly("lock", "body",
				"unlock");
	}

	@Test
	@DisplayName("A reactive transaction releases its lock after all other callbacks of the completion")
	void reactiveCallbacks() {
		TransactionSynchronization callback = new TransactionSynchronization() {

			@Override
			public Mono<Void> afterCompletion(int status) {
				return Mono.fromRunnable(() -> LaterReleaseAfterTests.this.locks.record("callback"));
			}

		};
		this.shop.sellReactively()
			.then(TransactionSynchronizationManager.forCurrentTransaction()
				.doOnNext((manager) -> manager.registerSynchronization(callback)))
			.as(this.reactiveTransaction::transactional)
			.block(SOON);
		assertEvents("begin", "lock", "body", "commit", "callback", "unlock");
	}

	@Test
	@DisplayName("A reactive transaction that is rolled back releases the lock, too")
	void reactiveRollback() {
		Mono<String> result = this.shop.sellReactively()
			.then(Mono.<String>error(new IllegalStateException("failed")))
			.as(this.reactiveTransaction::transactional);
		StepVerifier.create(result).expectErrorMessage("failed").verify(SOON);
		assertEvents("begin", "lock", "body", "rollback", "unlock");
	}

	@Test
	@DisplayName("A loss after the method prevents the commit of a reactive transaction")
	void reactiveLoss() {
		Mono<String> result = this.shop.throwingReactively()
			.doOnNext((value) -> this.locks.lease("throwing").lose())
			.as(this.reactiveTransaction::transactional);
		StepVerifier.create(result).expectError(LeaseLostException.class).verify(SOON);
		assertEvents("begin", "lock", "body", "unlock", "rollback");
	}

	static class Shop extends Recorded {

		@DistributedLock
		@Semaphore(limit = 1)
		CompletableFuture<String> sell(CompletableFuture<String> work) {
			return ran(work);
		}

		@DistributedLock(releaseAfter = ReleaseAfter.METHOD)
		CompletableFuture<String> ofMethod() {
			return ran(CompletableFuture.completedFuture("sold"));
		}

		@DistributedLock(name = "throwing", onLoss = OnLoss.THROW)
		CompletableFuture<String> throwing() {
			return ran(CompletableFuture.completedFuture("sold"));
		}

		@DistributedLock
		Mono<String> sellReactively() {
			return ran(Mono.just("sold"));
		}

		@DistributedLock(name = "throwing", onLoss = OnLoss.THROW)
		Mono<String> throwingReactively() {
			return ran(Mono.just("sold"));
		}

	}

}
