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

	/** {@code null} until the manager knows it. */
	private volatile @Nullable DataSource known;

	FenceListener(TransactionFences fences, AbstractPlatformTransactionManager manager) {
		this.fences = fences;
		this.manager = manager;
	}

	@Override
	public void afterBegin(TransactionExecution transaction, @Nullable Throwable beginFailure) {
		if (beginFailure != null || !transaction.isNewTransaction()) {
			return;
		}
		DataSource dataSource = dataSource();
		if (dataSource == null) {
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

	private @Nullable DataSource dataSource() {
		DataSource found = this.known;
		if (found == null) {
			found = ManagedDataSource.of(this.manager);
			this.known = found;
		}
		return found;
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
