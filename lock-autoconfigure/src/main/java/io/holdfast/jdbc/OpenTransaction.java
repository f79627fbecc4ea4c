package io.holdfast.jdbc;

import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

import javax.sql.DataSource;

import org.jspecify.annotations.Nullable;

import org.springframework.transaction.TransactionExecution;
import org.springframework.transaction.support.TransactionSynchronization;
import org.springframework.transaction.support.TransactionSynchronizationManager;

/**
 * Transaction of the current thread, with the rows of the fence table that it keeps
 * locked. The transactions of a thread form a stack: suspended transactions, and those of
 * other {@link DataSource}s, are below later transactions. Not thread-safe.
 */
final class OpenTransaction implements TransactionSynchronization {

	private static final ThreadLocal<OpenTransaction> INNERMOST = new ThreadLocal<>();

	private final TransactionExecution execution;

	private final DataSource dataSource;

	/**
	 * Holder of the transaction's connection, or {@code null}. No other transaction has
	 * this holder.
	 */
	private final @Nullable Object resource;

	private final @Nullable OpenTransaction outer;

	private final Set<FenceRow> locked = new HashSet<>(2);

	/** Rows that were locked at the savepoints of the transaction. */
	private final Map<Object, Set<FenceRow>> savepoints = new HashMap<>(0);

	/** Rows of the leases under which a read-only transaction was begun. */
	private final Set<FenceRow> begunUnder = new HashSet<>(0);

	private boolean ended;

	private OpenTransaction(TransactionExecution execution, DataSource dataSource, @Nullable OpenTransaction outer) {
		this.execution = execution;
		this.dataSource = dataSource;
		this.resource = TransactionSynchronizationManager.getResource(dataSource);
		this.outer = outer;
	}

	/** Note that a transaction has begun. */
	static OpenTransaction begun(TransactionExecution execution, DataSource dataSource) {
		OpenTransaction begun = new OpenTransaction(execution, dataSource, innermost());
		INNERMOST.set(begun);
		if (TransactionSynchronizationManager.isSynchronizationActive()) {
			TransactionSynchronizationManager.registerSynchronization(begun);
		}
		return begun;
	}

	/** Note that a transaction ends, and no longer keeps rows locked. */
	static void ended(TransactionExecution execution) {
		OpenTransaction top = INNERMOST.get();
		for (OpenTransaction transaction = top; transaction != null; transaction = transaction.outer) {
			if (transaction.execution == execution) {
				transaction.ended = true;
			}
		}
		if (top != null) {
			OpenTransaction open = innermost();
			if (open != null) {
				INNERMOST.set(open);
			}
			else {
				INNERMOST.remove();
			}
		}
	}

	private static @Nullable OpenTransaction innermost() {
		OpenTransaction top = INNERMOST.get();
		while (top != null && !top.isOpen()) {
			top = top.outer;
		}
		return top;
	}

	/**
	 * Return whether the transaction is open. Listeners are not notified of every end.
	 */
	private boolean isOpen() {
		return !this.ended && !this.execution.isCompleted();
	}

	/**
	 * Return the current thread's transaction that may write.
	 * @return the transaction, or {@code null} if there is none, or it is suspended or
	 * read-only
	 */
	static @Nullable OpenTransaction writing(DataSource dataSource) {
		OpenTransaction open = current(dataSource);
		return (open != null && !open.execution.isReadOnly()) ? open : null;
	}

	/**
	 * Return the current thread's transaction, which may be read-only, or {@code null} if
	 * there is none or it is suspended.
	 */
	static @Nullable OpenTransaction current(DataSource dataSource) {
		Object resource = TransactionSynchronizationManager.getResource(dataSource);
		for (OpenTransaction transaction = innermost(); transaction != null
				&& resource != null; transaction = transaction.outer) {
			if (transaction.resource == resource && transaction.dataSource == dataSource && transaction.isOpen()) {
				return transaction;
			}
		}
		return null;
	}

	DataSource dataSource() {
		return this.dataSource;
	}

	boolean isReadOnly() {
		return this.execution.isReadOnly();
	}

	/**
	 * Return whether statements on the {@link DataSource} use this transaction's
	 * connection.
	 */
	boolean hasConnection() {
		return this.resource != null;
	}

	/**
	 * Note the rows of the leases under which this transaction was begun, without a lock.
	 */
	void begunUnder(List<FenceRow> rows) {
		this.begunUnder.addAll(rows);
	}

	/** Return whether this transaction was begun or checked under the lease of a row. */
	boolean isUnder(FenceRow row) {
		return this.begunUnder.contains(row) || isLocked(row);
	}

	@Override
	public void savepoint(Object savepoint) {
		this.savepoints.put(savepoint, Set.copyOf(this.locked));
	}

	/** Forget the rows that were raised after a savepoint, as the database does. */
	@Override
	public void savepointRollback(Object savepoint) {
		this.locked.retainAll(this.savepoints.getOrDefault(savepoint, this.locked));
	}

	/** Note rows that this transaction keeps locked until its end. */
	void locked(List<FenceRow> rows) {
		this.locked.addAll(rows);
	}

	/**
	 * Return whether this transaction, or one below it, keeps a row locked. Such a row
	 * keeps its token, so that it need not be checked again. Another transaction of the
	 * thread would wait for it without end.
	 */
	boolean isLocked(FenceRow row) {
		return this.locked.contains(row) || isLockedBelow(row);
	}

	/** Return whether a transaction below this transaction keeps a row locked. */
	boolean isLockedBelow(FenceRow row) {
		for (OpenTransaction transaction = this.outer; transaction != null; transaction = transaction.outer) {
			if (transaction.dataSource == this.dataSource && transaction.isOpen() && transaction.locked.contains(row)) {
				return true;
			}
		}
		return false;
	}

}
