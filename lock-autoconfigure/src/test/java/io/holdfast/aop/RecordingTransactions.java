package io.holdfast.aop;

import java.util.function.Consumer;

import io.holdfast.testing.TestTransactions;
import org.jspecify.annotations.Nullable;

import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.transaction.TransactionDefinition;
import org.springframework.transaction.annotation.EnableTransactionManagement;
import org.springframework.transaction.support.DefaultTransactionStatus;
import org.springframework.transaction.support.SmartTransactionObject;

/**
 * Transactions without resources, which may be suspended and joined, and are recorded
 * among the events of the locks.
 */
@EnableTransactionManagement
class RecordingTransactions extends TestTransactions {

	private static final long serialVersionUID = 1L;

	private final transient ThreadLocal<Transaction> current = new ThreadLocal<>();

	@Autowired
	RecordingTransactions(RecordingLocks recorder) {
		this(recorder::record);
	}

	RecordingTransactions(Consumer<String> events) {
		super(events);
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
		super.doBegin(transaction, definition);
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
	protected void doCleanupAfterCompletion(Object transaction) {
		this.current.remove();
	}

	private static final class Transaction implements SmartTransactionObject {

		private boolean rollbackOnly;

		@Override
		public boolean isRollbackOnly() {
			return this.rollbackOnly;
		}

	}

}
