package io.holdfast.jdbc;

import javax.sql.DataSource;

import io.holdfast.LeaseContext;
import org.jspecify.annotations.Nullable;

import org.springframework.transaction.TransactionExecution;
import org.springframework.transaction.TransactionExecutionListener;
import org.springframework.transaction.support.AbstractPlatformTransactionManager;
import org.springframework.transaction.support.DefaultTransactionStatus;

/**
 * Listener of a transaction manager. Checks the fenced leases of the thread at the
 * beginning of each new transaction that may write. Thread-safe.
 */
final class FenceListener implements TransactionExecutionListener {

	private final TransactionFences fences;

	private final AbstractPlatformTransactionManager manager;

	/** DataSource of the manager, or {@code null} while the manager has none. */
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
	 * Roll back a transaction that its caller never gets. Uses a copy of the status
	 * without the suspended transaction, which Spring itself resumes after the exception.
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
	 * Note the end before the commit: callbacks after the commit may begin new
	 * transactions, when the rows are no longer locked.
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
