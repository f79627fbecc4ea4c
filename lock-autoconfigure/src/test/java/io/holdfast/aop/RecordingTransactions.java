package io.holdfast.aop;

import org.jspecify.annotations.Nullable;

import org.springframework.transaction.TransactionDefinition;
import org.springframework.transaction.support.AbstractPlatformTransactionManager;
import org.springframework.transaction.support.DefaultTransactionStatus;
import org.springframework.transaction.support.SmartTransactionObject;

/**
 * Transactions without resources, which may be suspended and joined, and are recorded
 * among the events of the locks.
 */
class RecordingTransactions extends AbstractPlatformTransactionManager {

	private static final long serialVersionUID = 1L;

	private final transient RecordingLocks recorder;

	private final transient ThreadLocal<Transaction> current = new ThreadLocal<>();

	RecordingTransactions(RecordingLocks recorder) {
		this.recorder = recorder;
	}

	@Override
	protected Object doGetTransaction() {
		Transaction existing = this.current.get();
		return (existing != null) ? existing : new Transaction();
	}

	@Override
	protected boolean isExistingTransaction(Object transaction) {
		return transaction == this.current.get();
	}

	@Override
	protected void doBegin(Object transaction, TransactionDefinition definition) {
		this.recorder.record("begin");
		this.current.set((Transaction) transaction);
	}

	@Override
	protected Object doSuspend(Object transaction) {
		this.current.remove();
		return transaction;
	}

	@Override
	protected void doResume(@Nullable Object transaction, Object suspended) {
		this.current.set((Transaction) suspended);
	}

	@Override
	protected void doSetRollbackOnly(DefaultTransactionStatus status) {
		((Transaction) status.getTransaction()).rollbackOnly = true;
	}

	@Override
	protected void doCommit(DefaultTransactionStatus status) {
		this.recorder.record("commit");
	}

	@Override
	protected void doRollback(DefaultTransactionStatus status) {
		this.recorder.record("rollback");
	}

	@Override
	protected void doCleanupAfterCompletion(Object transaction) {
		this.current.remove();
	}

	private static final class Transaction implements SmartTransactionObject {

		private boolean rollbackOnly;

		@Override
		public boolean isRollbackOnly() {
			return this.rollbackOnly;
		}

		@Override
		public void flush() {
		}

	}

}
