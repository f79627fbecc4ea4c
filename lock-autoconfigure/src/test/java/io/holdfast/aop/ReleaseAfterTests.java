package io.holdfast.aop;

import java.util.List;
import java.util.function.Consumer;

import io.holdfast.LockLease;
import io.holdfast.annotation.DistributedLock;
import io.holdfast.annotation.ReleaseAfter;
import io.holdfast.annotation.Semaphore;
import io.holdfast.aop.RecordingLease.Outcome;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.transaction.TransactionDefinition;
import org.springframework.transaction.support.AbstractPlatformTransactionManager;
import org.springframework.transaction.support.TransactionSynchronization;
import org.springframework.transaction.support.TransactionSynchronizationManager;
import org.springframework.transaction.support.TransactionTemplate;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

/**
 * Locks that are taken inside of a transaction.
 */
class ReleaseAfterTests extends LockedTestCase {

	private final Shop shop = start(Shop.class, RecordingTransactions.class);

	private final RecordingTransactions transactions = bean(RecordingTransactions.class);

	@BeforeEach
	void prepare() {
		this.locks.withKeys();
	}

	private void inTransaction(Runnable body) {
		inTransaction(TransactionDefinition.PROPAGATION_REQUIRED, body);
	}

	private void inTransaction(int propagation, Runnable body) {
		TransactionTemplate template = new TransactionTemplate(this.transactions);
		template.setPropagationBehavior(propagation);
		template.executeWithoutResult((status) -> body.run());
	}

	private void body() {
		this.locks.record("body");
	}

	private void fail() {
		throw new IllegalStateException("failed");
	}

	@Test
	@DisplayName("The lock is released after a roll-back, whether its method or other code failed")
	void rollback() {
		assertThatIllegalStateException().isThrownBy(() -> inTransaction(() -> this.shop.run("a", this::fail)));
		assertEvents("begin", "lock a", "rollback", "unlock a");
		assertThatIllegalStateException().isThrownBy(() -> inTransaction(() -> {
			this.shop.run("b", this::body);
			fail();
		}));
		assertThat(this.locks.events()).endsWith("lock b", "body", "rollback", "unlock b");
	}

	@Test
	@DisplayName("Locks are released in reverse order, nested or in sequence, each as often as taken")
	void severalLocks() {
		inTransaction(() -> {
			this.shop.run("a", () -> this.shop.run("b", this::body));
			this.shop.run("b", this::body);
		});
		assertEvents("begin", "lock a", "lock b", "body", "lock b", "body", "commit", "unlock b", "unlock b",
				"unlock a");
	}

	@Test
	@DisplayName("An inner transaction has its own locks")
	void requiresNew() {
		inTransaction(() -> {
			this.shop.run("a", () -> inTransaction(TransactionDefinition.PROPAGATION_REQUIRES_NEW,
					() -> this.shop.run("b", this::body)));
			this.shop.run("c", this::body);
		});
		assertEvents("begin", "lock a", "begin", "lock b", "body", "commit", "unlock b", "lock c", "body", "commit",
				"unlock c", "unlock a");
	}

	@Test
	@DisplayName("A lock is released after the commit of the whole transaction that its method joined")
	void joined() {
		inTransaction(() -> {
			inTransaction(() -> this.shop.run("a", this::body));
			this.locks.record("more");
		});
		assertEvents("begin", "lock a", "body", "more", "commit", "unlock a");
	}

	@Test
	@DisplayName("Without a transaction, or in a suspended one, the lock is released after the method")
	void withoutTransaction() {
		this.shop.run("a", this::body);
		assertEvents("lock a", "body", "unlock a");
		this.locks.forget();
		inTransaction(() -> inTransaction(TransactionDefinition.PROPAGATION_NOT_SUPPORTED, () -> {
			this.shop.run("a", this::body);
			this.locks.record("more");
		}));
		assertEvents("begin", "lock a", "body", "unlock a", "more", "commit");
		this.locks.forget();
		inTransaction(TransactionDefinition.PROPAGATION_SUPPORTS, () -> {
			this.shop.run("a", this::body);
			this.locks.record("more");
		});
		assertEvents("lock a", "body", "unlock a", "more");
	}

	@Test
	@DisplayName("In a transaction without synchronization, the lock is released after the method")
	void withoutSynchronization() {
		this.transactions.setTransactionSynchronization(AbstractPlatformTransactionManager.SYNCHRONIZATION_NEVER);
		inTransaction(() -> this.shop.run("a", this::body));
		assertEvents("begin", "lock a", "body", "unlock a", "commit");
	}

	@Test
	@DisplayName("METHOD: the lock is released after the method; permits always are")
	void afterMethod() {
		inTransaction(() -> {
			this.shop.afterMethod(this::body);
			this.shop.limited(this::body);
		});
		assertEvents("begin", "lock method", "body", "unlock method", "permit", "body", "return", "commit");
	}

	@Test
	@DisplayName("The lock is released after all other callbacks of the completion, whenever they were registered")
	void afterOthers() {
		inTransaction(() -> {
			recordAfterCompletion("before");
			this.shop.run("a", () -> recordAfterCompletion("inside"));
			recordAfterCompletion("after");
			at("beforeCompletion", () -> recordAfterCompletion("late"));
			at("afterCommit", () -> recordAfterCompletion("later"));
		});
		assertEvents("begin", "lock a", "commit", "before", "inside", "after", "late", "later", "unlock a");
	}

	private void recordAfterCompletion(String event) {
		at("afterCompletion", () -> this.locks.record(event));
	}

	/** Run an action in a phase of the end of the current transaction. */
	private static void at(String phase, Runnable action) {
		TransactionSynchronizationManager.registerSynchronization(new Phases((current) -> {
			if (current.equals(phase)) {
				action.run();
			}
		}));
	}

	@ParameterizedTest
	@ValueSource(strings = { "beforeCommit", "beforeCompletion", "afterCommit", "afterCompletion" })
	@DisplayName("An exception of another synchronization still releases the locks")
	void failingOthers(String phase) {
		try {
			inTransaction(() -> {
				at(phase, this::fail);
				this.shop.run("a", () -> at(phase, this::fail));
				this.shop.run("b", this::body);
			});
		}
		catch (IllegalStateException ex) {
			assertThat(ex).hasMessage("failed");
		}
		assertThat(this.locks.events()).endsWith("unlock b", "unlock a");
	}

	@Test
	@DisplayName("Locks that are taken during the end of the transaction are released, too")
	void takenAtTheEnd() {
		inTransaction(() -> TransactionSynchronizationManager
			.registerSynchronization(new Phases((phase) -> this.shop.run(phase, () -> {
			}))));
		assertEvents("begin", "lock beforeCommit", "lock beforeCompletion", "commit", "lock afterCommit",
				"lock afterCompletion", "unlock afterCompletion", "unlock afterCommit", "unlock beforeCompletion",
				"unlock beforeCommit");
	}

	@Test
	@ExtendWith(OutputCaptureExtension.class)
	@DisplayName("A failed release keeps no other lock and does not reach the transaction")
	void failingRelease(CapturedOutput output) {
		inTransaction(() -> {
			this.shop.run("a", this::body);
			this.locks.releasing(Outcome.FAILED);
			this.shop.run("b", this::body);
			this.shop.run("c", this::body);
		});
		assertThat(this.locks.events()).endsWith("commit", "unlock c", "unlock b", "unlock a");
		assertThat(output).contains("Lock 'b' of " + Shop.class.getName() + ".run was not released at once",
				"Lock 'c' of ");
	}

	@Test
	@DisplayName("An early release by the method takes effect at once")
	void releasedByHand() {
		inTransaction(() -> this.shop.run("a", () -> LockLease.current().release()));
		assertEvents("begin", "lock a", "unlock a", "commit");
	}

	@ParameterizedTest
	@ValueSource(strings = { "beforeCommit", "beforeCompletion", "afterCommit", "afterCompletion" })
	@DisplayName("A first lock in a callback of a transaction does not affect the next transaction of the thread")
	void firstLockInCallback(String phase) {
		inTransaction(() -> at(phase, () -> this.shop.run("a", this::body)));
		assertThat(TransactionSynchronizationManager.getResourceMap()).isEmpty();
		this.locks.forget();
		inTransaction(() -> this.shop.run("b", this::body));
		assertEvents("begin", "lock b", "body", "commit", "unlock b");
	}

	@Test
	@DisplayName("A transaction whose completion came on another thread does not affect the next transaction of the thread")
	void completionOnAnotherThread() throws InterruptedException {
		TransactionSynchronizationManager.initSynchronization();
		TransactionSynchronizationManager.setActualTransactionActive(true);
		this.shop.run("a", this::body);
		List<TransactionSynchronization> all = TransactionSynchronizationManager.getSynchronizations();
		TransactionSynchronizationManager.clear();
		Thread other = new Thread(
				() -> all.forEach((each) -> each.afterCompletion(TransactionSynchronization.STATUS_ROLLED_BACK)));
		other.start();
		other.join();
		this.locks.forget();
		inTransaction(() -> this.shop.run("b", this::body));
		assertEvents("begin", "lock b", "body", "commit", "unlock b");
		assertThat(TransactionSynchronizationManager.getResourceMap()).isEmpty();
	}

	static class Shop {

		@DistributedLock(key = "#key")
		void run(String key, Runnable body) {
			body.run();
		}

		@DistributedLock(name = "method", releaseAfter = ReleaseAfter.METHOD)
		void afterMethod(Runnable body) {
			body.run();
		}

		@Semaphore(limit = 1)
		void limited(Runnable body) {
			body.run();
		}

	}

	/** Calls the action in each phase. */
	private record Phases(Consumer<String> action) implements TransactionSynchronization {

		@Override
		public void beforeCommit(boolean readOnly) {
			this.action.accept("beforeCommit");
		}

		@Override
		public void beforeCompletion() {
			this.action.accept("beforeCompletion");
		}

		@Override
		public void afterCommit() {
			this.action.accept("afterCommit");
		}

		@Override
		public void afterCompletion(int status) {
			this.action.accept("afterCompletion");
		}

	}

}
