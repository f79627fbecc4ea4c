package io.holdfast.aop;

import java.util.List;
import java.util.function.Consumer;

import io.holdfast.LockLease;
import io.holdfast.annotation.DistributedLock;
import io.holdfast.annotation.ReleaseAfter;
import io.holdfast.annotation.Semaphore;
import io.holdfast.aop.RecordingLease.Outcome;
import org.junit.jupiter.api.AutoClose;
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
class ReleaseAfterTests {

	@AutoClose
	private LockedContext context;

	private RecordingLocks locks;

	private Shop shop;

	private RecordingTransactions transactions;

	@BeforeEach
	void start() {
		this.context = LockedContext.withClassProxies(Shop.class, RecordingTransactions.class);
		this.locks = this.context.locks();
		this.locks.withKeys();
		this.shop = this.context.bean(Shop.class);
		this.transactions = this.context.bean(RecordingTransactions.class);
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
	@DisplayName("A lock is released after the commit of the transaction that was active when it was taken")
	void commit() {
		inTransaction(() -> {
			this.shop.a(this::body);
			this.locks.record("more");
		});
		assertThat(this.locks.events()).containsExactly("begin", "lock a", "body", "more", "commit", "unlock a");
	}

	@Test
	@DisplayName("The lock is released after a roll-back, whether its method or other code failed")
	void rollback() {
		assertThatIllegalStateException().isThrownBy(() -> inTransaction(() -> this.shop.a(this::fail)));
		assertThat(this.locks.events()).containsExactly("begin", "lock a", "rollback", "unlock a");
		assertThatIllegalStateException().isThrownBy(() -> inTransaction(() -> {
			this.shop.b(this::body);
			fail();
		}));
		assertThat(this.locks.events()).endsWith("lock b", "body", "rollback", "unlock b");
	}

	@Test
	@DisplayName("Locks are released in reverse order, nested or in sequence, each as often as taken")
	void severalLocks() {
		inTransaction(() -> {
			this.shop.a(() -> this.shop.b(this::body));
			this.shop.b(this::body);
		});
		assertThat(this.locks.events()).containsExactly("begin", "lock a", "lock b", "body", "lock b", "body", "commit",
				"unlock b", "unlock b", "unlock a");
	}

	@Test
	@DisplayName("An inner transaction has its own locks")
	void requiresNew() {
		inTransaction(() -> {
			this.shop
				.a(() -> inTransaction(TransactionDefinition.PROPAGATION_REQUIRES_NEW, () -> this.shop.b(this::body)));
			this.shop.c(this::body);
		});
		assertThat(this.locks.events()).containsExactly("begin", "lock a", "begin", "lock b", "body", "commit",
				"unlock b", "lock c", "body", "commit", "unlock c", "unlock a");
	}

	@Test
	@DisplayName("A method in a joined transaction keeps its locks until the whole transaction completes")
	void joined() {
		inTransaction(() -> {
			inTransaction(() -> this.shop.a(this::body));
			this.locks.record("more");
		});
		assertThat(this.locks.events()).containsExactly("begin", "lock a", "body", "more", "commit", "unlock a");
	}

	@Test
	@DisplayName("Without a transaction, or in a suspended one, the lock is released after the method")
	void withoutTransaction() {
		this.shop.a(this::body);
		assertThat(this.locks.events()).containsExactly("lock a", "body", "unlock a");
		this.locks.forget();
		inTransaction(() -> inTransaction(TransactionDefinition.PROPAGATION_NOT_SUPPORTED, () -> {
			this.shop.a(this::body);
			this.locks.record("more");
		}));
		assertThat(this.locks.events()).containsExactly("begin", "lock a", "body", "unlock a", "more", "commit");
		this.locks.forget();
		inTransaction(TransactionDefinition.PROPAGATION_SUPPORTS, () -> {
			this.shop.a(this::body);
			this.locks.record("more");
		});
		assertThat(this.locks.events()).containsExactly("lock a", "body", "unlock a", "more");
	}

	@Test
	@DisplayName("In a transaction without synchronization, the lock is released after the method")
	void withoutSynchronization() {
		this.transactions.setTransactionSynchronization(AbstractPlatformTransactionManager.SYNCHRONIZATION_NEVER);
		inTransaction(() -> this.shop.a(this::body));
		assertThat(this.locks.events()).containsExactly("begin", "lock a", "body", "unlock a", "commit");
	}

	@Test
	@DisplayName("METHOD: the lock is released after the method; permits always are")
	void afterMethod() {
		inTransaction(() -> {
			this.shop.afterMethod(this::body);
			this.shop.limited(this::body);
		});
		assertThat(this.locks.events()).containsExactly("begin", "lock method", "body", "unlock method", "permit",
				"body", "return", "commit");
	}

	@Test
	@DisplayName("The lock is released after all other callbacks of the completion, whenever they were registered")
	void afterOthers() {
		inTransaction(() -> {
			registerSynchronization("before");
			this.shop.a(() -> registerSynchronization("inside"));
			registerSynchronization("after");
			TransactionSynchronizationManager.registerSynchronization(new TransactionSynchronization() {

				@Override
				public void beforeCompletion() {
					registerSynchronization("late");
				}

				@Override
				public void afterCommit() {
					registerSynchronization("later");
				}

			});
		});
		assertThat(this.locks.events()).containsExactly("begin", "lock a", "commit", "before", "inside", "after",
				"late", "later", "unlock a");
	}

	private void registerSynchronization(String name) {
		TransactionSynchronizationManager.registerSynchronization(new TransactionSynchronization() {

			@Override
			public void afterCompletion(int status) {
				ReleaseAfterTests.this.locks.record(name);
			}

		});
	}

	@ParameterizedTest
	@ValueSource(strings = { "beforeCommit", "beforeCompletion", "afterCommit", "afterCompletion" })
	@DisplayName("An exception of another synchronization still releases the locks")
	void failingOthers(String phase) {
		Consumer<String> failing = (current) -> {
			if (current.equals(phase)) {
				fail();
			}
		};
		try {
			inTransaction(() -> {
				TransactionSynchronizationManager.registerSynchronization(new Phases(failing));
				this.shop.a(() -> TransactionSynchronizationManager.registerSynchronization(new Phases(failing)));
				this.shop.b(this::body);
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
			.registerSynchronization(new Phases((phase) -> this.shop.keyed(phase))));
		assertThat(this.locks.events()).containsExactly("begin", "lock beforeCommit", "lock beforeCompletion", "commit",
				"lock afterCommit", "lock afterCompletion", "unlock afterCompletion", "unlock afterCommit",
				"unlock beforeCompletion", "unlock beforeCommit");
	}

	@Test
	@ExtendWith(OutputCaptureExtension.class)
	@DisplayName("A failed release keeps no other lock and does not reach the transaction")
	void failingRelease(CapturedOutput output) {
		inTransaction(() -> {
			this.shop.a(this::body);
			this.locks.releasing(Outcome.FAILED);
			this.shop.b(this::body);
			this.shop.c(this::body);
		});
		assertThat(this.locks.events()).endsWith("commit", "unlock c", "unlock b", "unlock a");
		assertThat(output).contains("Lock 'b' of " + Shop.class.getName() + ".b was not released at once",
				"Lock 'c' of ");
	}

	@Test
	@DisplayName("An early release by the method takes effect at once")
	void releasedByHand() {
		inTransaction(() -> this.shop.a(() -> LockLease.current().release()));
		assertThat(this.locks.events()).containsExactly("begin", "lock a", "unlock a", "commit");
	}

	@ParameterizedTest
	@ValueSource(strings = { "beforeCommit", "beforeCompletion", "afterCommit", "afterCompletion" })
	@DisplayName("A first lock in a callback of a transaction does not affect the next transaction of the thread")
	void firstLockInCallback(String phase) {
		inTransaction(() -> TransactionSynchronizationManager.registerSynchronization(new Phases((now) -> {
			if (now.equals(phase)) {
				this.shop.a(this::body);
			}
		})));
		assertThat(TransactionSynchronizationManager.getResourceMap()).isEmpty();
		this.locks.forget();
		inTransaction(() -> this.shop.b(this::body));
		assertThat(this.locks.events()).containsExactly("begin", "lock b", "body", "commit", "unlock b");
	}

	@Test
	@DisplayName("A transaction whose completion came on another thread does not affect the next transaction of the thread")
	void completionOnAnotherThread() throws InterruptedException {
		TransactionSynchronizationManager.initSynchronization();
		TransactionSynchronizationManager.setActualTransactionActive(true);
		this.shop.a(this::body);
		List<TransactionSynchronization> all = TransactionSynchronizationManager.getSynchronizations();
		TransactionSynchronizationManager.clear();
		Thread other = new Thread(
				() -> all.forEach((each) -> each.afterCompletion(TransactionSynchronization.STATUS_ROLLED_BACK)));
		other.start();
		other.join();
		this.locks.forget();
		inTransaction(() -> this.shop.b(this::body));
		assertThat(this.locks.events()).containsExactly("begin", "lock b", "body", "commit", "unlock b");
		assertThat(TransactionSynchronizationManager.getResourceMap()).isEmpty();
	}

	static class Shop {

		@DistributedLock(name = "a")
		void a(Runnable body) {
			body.run();
		}

		@DistributedLock(name = "b")
		void b(Runnable body) {
			body.run();
		}

		@DistributedLock(name = "c")
		void c(Runnable body) {
			body.run();
		}

		@DistributedLock(key = "#key")
		void keyed(String key) {
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
