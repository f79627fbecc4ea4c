package io.holdfast.jdbc;

import javax.sql.DataSource;

import io.holdfast.LeaseContext;
import org.jspecify.annotations.Nullable;

import org.springframework.transaction.TransactionExecution;
import org.springframework.transaction.TransactionExecutionListener;
import org.springframework.transaction.support.AbstractPlatformTransactionManager;
import org.springframework.transaction.support.DefaultTransactionStatus;

/**
 * Begins each new transaction of a manager that may write with the checks of the fenced
 * leases of its thread. Thread-safe.
 */
final class FenceListener implements TransactionExecutionListener {

	private final TransactionFences fences;

	private final AbstractPlatformTransactionManager manager;

	private final ManagedDataSource managed;

	FenceListener(TransactionFences fences, AbstractPlatformTransactionManager manager, ManagedDataSource managed) {
		this.fences = fences;
		this.manager = manager;
		this.managed = managed;
	}

	@Override
	public void afterBegin(TransactionExecution transaction, @Nullable Throwable beginFailure) {
		DataSource dataSource = (beginFailure == null) ? this.managed.get() : null;
		if (dataSource == null || !transaction.isNewTransaction()) {
			return;
		}
		OpenTransaction begun = OpenTransaction.begun(transaction, dataSource);
		if (LeaseContext.current().leases().isEmpty()) {
			return;
		}
		try {
			this.fences.checkBegun(begun);
		}
		catch (Throwable ex) {
			OpenTransaction.ended(transaction);
			rollBack((DefaultTransactionStatus) transaction, ex);
			throw ex;
		}
	}

	/**
	 * Roll back a transaction that the caller of its manager never gets. Spring resumes
	 * the suspended one itself after the exception: so by a copy that has none.
	 */
	private void rollBack(DefaultTransactionStatus begun, Throwable refusal) {
		try {
			this.manager.rollback(new DefaultTransactionStatus(begun.getTransactionName(), begun.getTransaction(), true,
					begun.isNewSynchronization(), begun.isNested(), begun.isReadOnly(), begun.isDebug(), null));
		}
		catch (RuntimeException | Error ex) {
			refusal.addSuppressed(ex);
		}
	}

	/**
	 * Before: callbacks after the end may begin transactions, and no row is locked then.
	 */
	@Override
	public void beforeCommit(TransactionExecution transaction) {
		OpenTransaction.ended(transaction);
	}

	@Override
	public void beforeRollback(TransactionExecution transaction) {
		OpenTransaction.ended(transaction);
	}

}
