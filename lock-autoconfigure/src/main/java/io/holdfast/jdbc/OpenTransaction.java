package io.holdfast.jdbc;

import java.util.HashSet;
import java.util.List;
import java.util.Set;

import javax.sql.DataSource;

import org.jspecify.annotations.Nullable;

import org.springframework.transaction.TransactionExecution;
import org.springframework.transaction.support.TransactionSynchronizationManager;

/**
 * A transaction that was begun on the current thread, with the rows of the fence table
 * that it keeps locked. Those of a thread form a stack: a transaction that is suspended,
 * or is of another {@link DataSource}, stays below the later ones. Not thread-safe, as
 * each is of one thread.
 */
final class OpenTransaction {

	private static final ThreadLocal<OpenTransaction> INNERMOST = new ThreadLocal<>();

	private final TransactionExecution execution;

	private final DataSource dataSource;

	/** The holder of its connection, which no other transaction has. */
	private final @Nullable Object resource;

	private final @Nullable OpenTransaction outer;

	private final Set<FenceRow> locked = new HashSet<>(2);

	/** The rows of the leases that it was begun under, if it may only read. */
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
		return begun;
	}

	/** Note that a transaction ends, and keeps no row locked from now on. */
	static void ended(TransactionExecution execution) {
		OpenTransaction top = INNERMOST.get();
		for (OpenTransaction each = top; each != null; each = each.outer) {
			if (each.execution == execution) {
				each.ended = true;
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

	/** Not every end is told. */
	private boolean isOpen() {
		return !this.ended && !this.execution.isCompleted();
	}

	/**
	 * Return the transaction that statements of the current thread are part of.
	 * @return the transaction, or {@code null} if there is none, it is suspended, or may
	 * only read
	 */
	static @Nullable OpenTransaction writing(DataSource dataSource) {
		OpenTransaction open = current(dataSource);
		return (open != null && !open.execution.isReadOnly()) ? open : null;
	}

	/** Return the same, also if it may only read. */
	static @Nullable OpenTransaction current(DataSource dataSource) {
		Object resource = TransactionSynchronizationManager.getResource(dataSource);
		for (OpenTransaction each = innermost(); each != null && resource != null; each = each.outer) {
			if (each.resource == resource && each.dataSource == dataSource && each.isOpen()) {
				return each;
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

	/** Return whether statements on its {@link DataSource} are part of it. */
	boolean hasConnection() {
		return this.resource != null;
	}

	/** Note the rows of the leases that it was begun under, without locking them. */
	void begunUnder(List<FenceRow> rows) {
		this.begunUnder.addAll(rows);
	}

	/** Return whether it was begun, or first checked, under the lease of a row. */
	boolean isUnder(FenceRow row) {
		return this.begunUnder.contains(row) || isLocked(row);
	}

	/** Note rows that it keeps locked until its end. */
	void locked(List<FenceRow> rows) {
		this.locked.addAll(rows);
	}

	/**
	 * Return whether this transaction, or one below it, keeps a row locked. Such a row
	 * has its token until then, and another transaction of the thread would wait for
	 * itself.
	 */
	boolean isLocked(FenceRow row) {
		return this.locked.contains(row) || isLockedBelow(row);
	}

	/** Return whether one below it keeps a row locked. */
	boolean isLockedBelow(FenceRow row) {
		for (OpenTransaction each = this.outer; each != null; each = each.outer) {
			if (each.dataSource == this.dataSource && each.isOpen() && each.locked.contains(row)) {
				return true;
			}
		}
		return false;
	}

}
