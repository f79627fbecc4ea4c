package io.holdfast.aop;

import io.holdfast.LeaseLostException;
import io.holdfast.LockLease;
import io.holdfast.annotation.DistributedLock;
import io.holdfast.annotation.OnLoss;
import io.holdfast.annotation.ReleaseAfter;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.transaction.UnexpectedRollbackException;
import org.springframework.transaction.annotation.Transactional;
import org.springframework.transaction.support.TransactionTemplate;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatNoException;

/**
 * Transactions with a lock that is lost, inside or around the lock.
 */
@ExtendWith(OutputCaptureExtension.class)
class OnLossInTransactionTests extends LockedTestCase {

	private static final String BEFORE_COMPLETION = "was lost before the transaction around " + Shop.class.getName();

	private final Shop shop = start(Shop.class, RecordingTransactions.class);

	@AfterEach
	void notInterrupted() {
		assertThat(Thread.interrupted()).isFalse();
	}

	private void inTransaction(Runnable body) {
		new TransactionTemplate(bean(RecordingTransactions.class)).executeWithoutResult((status) -> body.run());
	}

	private void lose() {
		this.locks.lease("lock").lose();
	}

	private void call(OnLoss onLoss, Runnable body) {
		switch (onLoss) {
			case NOTIFY -> this.shop.notifying(body);
			case THROW -> this.shop.throwing(body);
			case INTERRUPT -> this.shop.interrupting(body);
		}
	}

	@ParameterizedTest
	@EnumSource(value = OnLoss.class, names = { "THROW", "INTERRUPT" })
	@DisplayName("A loss during the method rolls back the transaction around it")
	void lostInMethod(OnLoss onLoss) {
		assertThatExceptionOfType(LeaseLostException.class)
			.isThrownBy(() -> inTransaction(() -> call(onLoss, this::lose)))
			.withMessageContaining("Lock 'lock' was lost while " + Shop.class.getName());
		assertEvents("begin", "lock", "unlock", "rollback");
	}

	@ParameterizedTest
	@EnumSource(value = OnLoss.class, names = { "THROW", "INTERRUPT" })
	@DisplayName("The roll-back comes even if the caller ignores the exception")
	void swallowed(OnLoss onLoss) {
		assertThatExceptionOfType(LeaseLostException.class).isThrownBy(() -> inTransaction(() -> {
			assertThatExceptionOfType(LeaseLostException.class).isThrownBy(() -> call(onLoss, this::lose));
			this.locks.record("more");
		})).withMessageContaining("Lock 'lock' was lost while ");
		assertEvents("begin", "lock", "unlock", "more", "rollback");
	}

	@ParameterizedTest
	@EnumSource(value = OnLoss.class, names = { "THROW", "INTERRUPT" })
	@DisplayName("A loss after the method rolls the transaction back instead of its commit")
	void lostBeforeCommit(OnLoss onLoss, CapturedOutput output) {
		assertThatExceptionOfType(LeaseLostException.class).isThrownBy(() -> inTransaction(() -> {
			call(onLoss, () -> this.locks.record("body"));
			lose();
			assertThat(Thread.currentThread().isInterrupted()).isFalse();
		})).withMessageContaining("Lock 'lock' " + BEFORE_COMPLETION);
		assertEvents("begin", "lock", "body", "unlock", "rollback");
		assertThat(output).containsOnlyOnce("Lock 'lock' " + BEFORE_COMPLETION);
	}

	@Test
	@DisplayName("NOTIFY: the transaction is committed, and the log has a warning")
	void notifying(CapturedOutput output) {
		inTransaction(() -> this.shop.notifying(this::lose));
		inTransaction(() -> {
			this.shop.notifying(() -> this.locks.record("body"));
			lose();
		});
		assertEvents("begin", "lock", "unlock", "commit", "begin", "lock", "body", "commit", "unlock");
		assertThat(output).containsOnlyOnce("Lock 'lock' was lost while ")
			.containsOnlyOnce("Lock 'lock' " + BEFORE_COMPLETION);
	}

	@Test
	@DisplayName("A loss after an early release, or of a lock for the method only, does not roll back")
	void givenUp() {
		assertThatNoException().isThrownBy(() -> inTransaction(() -> {
			this.shop.throwing(() -> LockLease.current().release());
			this.shop.afterMethod(() -> this.locks.record("body"));
			lose();
		}));
		assertThat(this.locks.events()).endsWith("commit");
	}

	@Test
	@DisplayName("A loss in a joined transaction rolls back the whole transaction")
	void joined() {
		assertThatExceptionOfType(UnexpectedRollbackException.class).isThrownBy(() -> inTransaction(() -> {
			assertThatExceptionOfType(LeaseLostException.class)
				.isThrownBy(() -> inTransaction(() -> this.shop.throwing(this::lose)));
			this.locks.record("more");
		}));
		assertEvents("begin", "lock", "unlock", "more", "rollback");
	}

	@Test
	@DisplayName("The exception comes after the commit of a transaction that began inside of the lock")
	void transactionInside() {
		assertThatExceptionOfType(LeaseLostException.class).isThrownBy(() -> this.shop.sell(this::lose));
		assertEvents("lock", "begin", "commit", "unlock");
	}

	static class Shop {

		@DistributedLock(name = "lock")
		void notifying(Runnable body) {
			body.run();
		}

		@DistributedLock(name = "lock", onLoss = OnLoss.THROW)
		void throwing(Runnable body) {
			body.run();
		}

		@DistributedLock(name = "lock", onLoss = OnLoss.INTERRUPT)
		void interrupting(Runnable body) {
			body.run();
		}

		@DistributedLock(name = "lock", onLoss = OnLoss.THROW, releaseAfter = ReleaseAfter.METHOD)
		void afterMethod(Runnable body) {
			body.run();
		}

		@Transactional
		@DistributedLock(name = "lock", onLoss = OnLoss.THROW)
		public void sell(Runnable body) {
			body.run();
		}

	}

}
