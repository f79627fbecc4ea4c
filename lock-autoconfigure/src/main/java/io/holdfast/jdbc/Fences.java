package io.holdfast.jdbc;

import java.util.function.UnaryOperator;

import io.holdfast.LockLease;

import org.springframework.transaction.support.TransactionSynchronizationManager;

/**
 * Programmatic checks of fencing tokens in databases. A table of each fenced
 * {@code DataSource} has the highest fencing token of each lock, and a lease with a lower
 * token is refused. {@linkplain io.holdfast.LockRequest#fenced() Fenced} locks are
 * checked automatically. Use this bean for leases that code acquires and releases itself,
 * for code on other threads, and for JTA: <pre class="code">
 * transactions.executeWithoutResult((status) -&gt; {
 *     fences.check(lease);
 *     ...
 * });</pre> Thread-safe.
 *
 * @since 0.1.0
 */
public final class Fences {

	private final TransactionFences fences;

	private final UnaryOperator<String> names;

	/**
	 * Create the fences of a context.
	 * @param fences the fenced {@code DataSource}s
	 * @param names returns the name of a key in fence tables
	 */
	public Fences(TransactionFences fences, UnaryOperator<String> names) {
		this.fences = fences;
		this.names = names;
	}

	/**
	 * Check a lease, whether requested fenced or not, in the current transaction of each
	 * fenced {@code DataSource}. From then on, transactions of later holders wait until
	 * the end of this transaction. Call this method first in the transaction, because
	 * earlier reads are not covered. Blocks while a transaction of another holder is
	 * open, for {@code holdfast.fence.jdbc.timeout} at most.
	 * @param lease the lease from the lock service
	 * @throws io.holdfast.LeaseLostException if the lease is no longer held, or the table
	 * has the token of a later holder. Roll the transaction back
	 * @throws IllegalArgumentException if the lease is not of Holdfast, as a mock
	 * @throws IllegalStateException if no {@code DataSource} is fenced, if the thread is
	 * in no transaction of a fenced {@code DataSource} that may write, or if the
	 * transaction is of MySQL or MariaDB with an isolation level above READ COMMITTED,
	 * and may have read older data
	 * @throws org.springframework.dao.QueryTimeoutException if the wait was too long
	 * @throws org.springframework.dao.DataAccessException if the database fails
	 */
	public void check(LockLease lease) {
		boolean checked = false;
		for (FencedDataSource fenced : this.fences.required()) {
			OpenTransaction open = OpenTransaction.writing(fenced.dataSource());
			if (open != null
					|| fenced.manager() == null && TransactionSynchronizationManager.isActualTransactionActive()) {
				fenced.checkWithin(open, FencedLeases.of(lease), "transaction");
				checked = true;
			}
		}
		if (!checked) {
			throw new IllegalStateException("There is no transaction of a fenced DataSource on this thread that may "
					+ "write: call check(lease) in one, or raise(lease)");
		}
	}

	/**
	 * Raise the token of a lease, whether requested fenced or not, in a separate
	 * transaction of each fenced {@code DataSource}. From then on, earlier holders are
	 * refused, and reads see their last writes. Blocks as {@link #check(LockLease)} does.
	 * @param lease the lease from the lock service
	 * @throws io.holdfast.LeaseLostException if the lease is no longer held, or the table
	 * has the token of a later holder
	 * @throws IllegalArgumentException if the lease is not of Holdfast, as a mock
	 * @throws IllegalStateException if no {@code DataSource} is fenced, if a fenced
	 * {@code DataSource} has no transaction manager, or if the thread is in a transaction
	 * with an isolation level above READ COMMITTED that has begun before the grant, and
	 * may read older data
	 * @throws org.springframework.dao.QueryTimeoutException if the wait was too long
	 * @throws org.springframework.dao.DataAccessException if the database fails
	 */
	public void raise(LockLease lease) {
		this.fences.required().forEach((fenced) -> fenced.raise(lease));
	}

	/**
	 * Delete the token of a key in each fenced {@code DataSource}, so that the next token
	 * passes, however low. For the case that each new holder is refused, because the
	 * clock of Redis was ahead when an earlier holder got its token. Make sure that no
	 * late holder is left, because it would pass, too. Blocks while a checked transaction
	 * is open.
	 * @param key the key of a lock of the application's default lock service, with its
	 * namespace in front
	 * @throws IllegalStateException if no {@code DataSource} is fenced
	 * @throws org.springframework.dao.DataAccessException if a database fails
	 */
	public void reset(String key) {
		String name = FenceRow.of(this.names.apply(key), 0).name();
		this.fences.required().forEach((fenced) -> fenced.table().reset(name));
	}

}
