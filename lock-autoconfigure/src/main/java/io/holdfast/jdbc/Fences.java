package io.holdfast.jdbc;

import java.util.function.UnaryOperator;

import io.holdfast.LockLease;

import org.springframework.transaction.support.TransactionSynchronizationManager;

/**
 * The fences of databases, by hand: a table of each fenced {@code DataSource} has the
 * highest fencing token of each lock, and refuses a lease with a lower one. Locks that
 * are {@linkplain io.holdfast.LockRequest#fenced() fenced} need none of this; it is for
 * leases that code acquires and releases by itself, for code on other threads, and for
 * JTA: <pre class="code">
 * transactions.executeWithoutResult((status) -&gt; {
 *     fences.check(lease);
 *     ...
 * });</pre> A bean. Thread-safe.
 *
 * @since 0.1.0
 */
public final class Fences {

	private final TransactionFences fences;

	private final UnaryOperator<String> names;

	/**
	 * Create the fences of a context.
	 * @param fences the fenced {@code DataSource}s
	 * @param names gives the name of a key in fence tables
	 */
	public Fences(TransactionFences fences, UnaryOperator<String> names) {
		this.fences = fences;
		this.names = names;
	}

	/**
	 * Check a lease, fenced or not, in the current transaction of each fenced
	 * {@code DataSource}: a later holder waits from then on until the transaction ends.
	 * Call this first in the transaction, as earlier reads are not covered. Blocks while
	 * a transaction of another holder is under way, for
	 * {@code holdfast.fence.jdbc.timeout} at most.
	 * @param lease the lease, as the lock service gave it
	 * @throws io.holdfast.LeaseLostException if the lease is not held any more, or a
	 * later holder has been there. Roll the transaction back
	 * @throws IllegalStateException if the thread is in no such transaction that may
	 * write, or in one of MySQL or MariaDB above READ COMMITTED, which may have read
	 * before
	 * @throws org.springframework.dao.QueryTimeoutException if the wait was too long
	 * @throws org.springframework.dao.DataAccessException if the database fails
	 */
	public void check(LockLease lease) {
		boolean checked = false;
		for (FencedDataSource each : this.fences.required()) {
			OpenTransaction open = OpenTransaction.writing(each.dataSource());
			if (open != null
					|| each.manager() == null && TransactionSynchronizationManager.isActualTransactionActive()) {
				each.checkWithin(open, FencedLeases.of(lease), "transaction");
				checked = true;
			}
		}
		if (!checked) {
			throw new IllegalStateException("There is no transaction of a fenced DataSource on this thread that may "
					+ "write: call check(lease) in one, or raise(lease)");
		}
	}

	/**
	 * Raise the token of a lease, fenced or not, in a transaction of its own for each
	 * fenced {@code DataSource}. Later reads are not older than the lock; earlier holders
	 * are refused from then on. Blocks as {@link #check(LockLease)} does.
	 * @param lease the lease, as the lock service gave it
	 * @throws io.holdfast.LeaseLostException if the lease is not held any more, or a
	 * later holder has been there
	 * @throws IllegalStateException if a fenced {@code DataSource} has no transaction
	 * manager of its own, or the thread is in a transaction above READ COMMITTED that has
	 * begun before the lock, and may read older data
	 * @throws org.springframework.dao.QueryTimeoutException if the wait was too long
	 * @throws org.springframework.dao.DataAccessException if the database fails
	 */
	public void raise(LockLease lease) {
		this.fences.required().forEach((each) -> each.raise(lease));
	}

	/**
	 * Forget the token of a key in each fenced {@code DataSource}, so that any token
	 * passes once. The cure where each new holder is refused, as the clock of Redis was
	 * ahead when an earlier one got its token. A late holder of that time is let in, too:
	 * be sure that none is left. Blocks while a checked transaction is under way.
	 * @param key the key of a lock of the application's default lock service, after its
	 * namespace
	 * @throws org.springframework.dao.DataAccessException if a database fails
	 */
	public void reset(String key) {
		String name = FenceRow.of(this.names.apply(key), 0).name();
		this.fences.required().forEach((each) -> each.table().reset(name));
	}

}
