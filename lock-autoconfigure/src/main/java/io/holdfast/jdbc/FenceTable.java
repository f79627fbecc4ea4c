package io.holdfast.jdbc;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.SQLTransactionRollbackException;
import java.time.Duration;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.IntStream;

import javax.sql.DataSource;

import org.jspecify.annotations.Nullable;

import org.springframework.dao.CannotAcquireLockException;
import org.springframework.dao.ConcurrencyFailureException;
import org.springframework.dao.DataAccessException;
import org.springframework.dao.DuplicateKeyException;
import org.springframework.dao.QueryTimeoutException;
import org.springframework.jdbc.UncategorizedSQLException;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.datasource.ConnectionHolder;
import org.springframework.jdbc.support.JdbcTransactionManager;
import org.springframework.jdbc.support.SQLErrorCodeSQLExceptionTranslator;
import org.springframework.transaction.TransactionDefinition;
import org.springframework.transaction.support.TransactionSynchronizationManager;
import org.springframework.transaction.support.TransactionTemplate;

/**
 * The fence table of a {@code DataSource}: a row for each lock, with the highest token
 * that a transaction was checked with. A check raises the row and so locks it until its
 * transaction ends. Hence the transactions of two leases of a lock never overlap, and a
 * lease whose token is not the highest any more is refused.
 * <p>
 * Nothing is read before a check: under MariaDB and MySQL, a transaction with repeatable
 * reads would keep a snapshot from before the lock. PostgreSQL decides by one statement.
 * In other databases, a row is updated, and inserted if it is missing. At its beginning,
 * the transaction is begun again in between: an update without a row locks gaps in
 * MariaDB and MySQL, where inserts of other keys then deadlock.
 * <p>
 * Thread-safe.
 */
final class FenceTable {

	private static final int REPETITIONS = 5;

	private static final int BATCH = 100;

	private static final String TASK = "fence check";

	/** Of MariaDB with {@code innodb_snapshot_isolation}; Spring does not know it. */
	private static final int RECORD_HAS_CHANGED = 1020;

	private final DataSource dataSource;

	private final String name;

	private final Duration timeout;

	/** For statements besides checks. */
	private final JdbcTemplate jdbc;

	private final TransactionTemplate ownTransaction;

	/** Name of the database product, once known. */
	private volatile @Nullable String product;

	/**
	 * Create the table's accessor. Nothing is sent to the database.
	 * @param dataSource the source of the connections of later calls
	 * @param name name of the table, with its schema if need be
	 * @param timeout longest wait for the rows of a check, above zero
	 */
	FenceTable(DataSource dataSource, String name, Duration timeout) {
		this.dataSource = dataSource;
		this.name = name;
		this.timeout = timeout;
		this.jdbc = new JdbcTemplate(dataSource);
		this.ownTransaction = new TransactionTemplate(new JdbcTransactionManager(dataSource));
		this.ownTransaction.setPropagationBehavior(TransactionDefinition.PROPAGATION_REQUIRES_NEW);
		// Above it, MariaDB and MySQL lock each row that a statement passes.
		this.ownTransaction.setIsolationLevel(TransactionDefinition.ISOLATION_READ_COMMITTED);
		this.ownTransaction.setTimeout(seconds(timeout.toNanos()));
	}

	/**
	 * Raise rows in the transaction of a connection, in the order of their names. Blocks
	 * while transactions of other holders are under way, for the timeout at most, or for
	 * the rest of the transaction's own.
	 * @param connection the connection, without auto-commit
	 * @param rows the rows, one or more
	 * @param atBegin whether no statement has run in that transaction before: failures by
	 * transactions beside it are rolled back then, and the check is repeated
	 * @throws LateFenceException if the table has a later token; the caller is to roll
	 * the transaction back
	 * @throws QueryTimeoutException if the wait was too long
	 * @throws DataAccessException if the database fails otherwise
	 */
	void raise(Connection connection, Collection<FenceRow> rows, boolean atBegin) {
		String product = product(connection);
		List<FenceRow> sorted = rows.stream()
			.sorted(Comparator.comparing(FenceRow::name).thenComparing(FenceRow::token))
			.toList();
		Duration patience = patience();
		long deadline = System.nanoTime() + patience.toNanos();
		for (int left = atBegin ? REPETITIONS : 0;; left--) {
			Raise raise = new Raise(connection, product, atBegin, deadline);
			try {
				raise.all(sorted);
				return;
			}
			catch (SQLException ex) {
				DataAccessException failure = translate(product, ex);
				if (!(failure instanceof ConcurrencyFailureException)) {
					throw failure;
				}
				if (deadline - System.nanoTime() <= 0) {
					throw new QueryTimeoutException("No end of the fence check within " + patience, failure);
				}
				if (left == 0) {
					throw failure;
				}
			}
			rollback(connection, product);
		}
	}

	/**
	 * Delete a row in a transaction of its own, so that any token passes. Blocks while a
	 * checked transaction is under way.
	 * @param rowName the name of the row, as in {@link FenceRow#name()}
	 * @throws DataAccessException if the database fails
	 */
	void reset(String rowName) {
		this.ownTransaction.executeWithoutResult(
				(status) -> this.jdbc.update("DELETE FROM " + this.name + " WHERE lock_key = ?", rowName));
	}

	/**
	 * Delete the rows whose tokens are below the given one. The rows are found first, and
	 * deleted by their keys, in batches with a transaction of their own: so checks of
	 * other rows never wait. Blocks.
	 * @param token the lowest token to stay
	 * @return the number of rows
	 * @throws DataAccessException if the database fails; some rows may be deleted then
	 */
	int deleteBelow(long token) {
		String select = "SELECT lock_key FROM " + this.name + " WHERE token < ?";
		List<String> names = this.ownTransaction
			.execute((status) -> this.jdbc.queryForList(select, String.class, token));
		List<Object[]> rows = names.stream().sorted().map((each) -> new Object[] { each, token }).toList();
		String delete = "DELETE FROM " + this.name + " WHERE lock_key = ? AND token < ?";
		int deleted = 0;
		for (int from = 0; from < rows.size(); from += BATCH) {
			List<Object[]> batch = rows.subList(from, Math.min(from + BATCH, rows.size()));
			int[] counts = this.ownTransaction.execute((status) -> this.jdbc.batchUpdate(delete, batch));
			deleted += IntStream.of(counts).sum();
		}
		return deleted;
	}

	/**
	 * Read no row of the table, to find out whether it is there. Blocks.
	 * @throws org.springframework.jdbc.BadSqlGrammarException if there is no such table
	 * @throws DataAccessException if the database fails otherwise
	 */
	void probe() {
		this.jdbc.queryForList("SELECT lock_key, token FROM " + this.name + " WHERE 1 = 0");
	}

	/** The timeout of checks, or the rest of the transaction's if that is shorter. */
	private Duration patience() {
		if (TransactionSynchronizationManager.getResource(this.dataSource) instanceof ConnectionHolder holder
				&& holder.hasTimeout()) {
			Duration left = Duration.ofMillis(holder.getTimeToLiveInMillis());
			return (left.compareTo(this.timeout) < 0) ? left : this.timeout;
		}
		return this.timeout;
	}

	/** Rounded up, as zero would be no timeout. */
	private static int seconds(long nanos) {
		return (int) Math.max(1, Math.min(Integer.MAX_VALUE, Math.ceil(nanos / 1e9)));
	}

	private static void rollback(Connection connection, String product) {
		try {
			connection.rollback();
		}
		catch (SQLException ex) {
			throw translate(product, ex);
		}
	}

	private String product(Connection connection) {
		String known = this.product;
		if (known == null) {
			try {
				known = connection.getMetaData().getDatabaseProductName();
			}
			catch (SQLException ex) {
				throw new UncategorizedSQLException(TASK, null, ex);
			}
			this.product = known;
		}
		return known;
	}

	private static DataAccessException translate(String product, SQLException ex) {
		if (ex.getErrorCode() == RECORD_HAS_CHANGED && product.matches("MariaDB|MySQL")) {
			return new CannotAcquireLockException(TASK + ": " + ex.getMessage(), ex);
		}
		// By name, as one by DataSource might ask for a second connection.
		DataAccessException translated = new SQLErrorCodeSQLExceptionTranslator(product).translate(TASK, null, ex);
		return (translated != null) ? translated : new UncategorizedSQLException(TASK, null, ex);
	}

	/** A try to raise all rows of a check. */
	private final class Raise {

		private final Connection connection;

		private final String product;

		private final boolean atBegin;

		private final long deadline;

		/** Names of rows that an update did not find. */
		private final Set<String> missing = new HashSet<>();

		/** Names of rows that an insert met. */
		private final Set<String> present = new HashSet<>();

		Raise(Connection connection, String product, boolean atBegin, long deadline) {
			this.connection = connection;
			this.product = product;
			this.atBegin = atBegin;
			this.deadline = deadline;
		}

		void all(List<FenceRow> rows) throws SQLException {
			for (int i = 0; i < rows.size(); i++) {
				FenceRow row = rows.get(i);
				boolean raised = this.product.equals("PostgreSQL") ? upsert(row) : updateOrInsert(row);
				if (!raised) {
					// From the first row on, as the transaction was begun again.
					i = -1;
				}
			}
		}

		private boolean upsert(FenceRow row) throws SQLException {
			String sql = "INSERT INTO " + FenceTable.this.name + " AS fence (lock_key, token) VALUES (?, ?)"
					+ " ON CONFLICT (lock_key) DO UPDATE SET token = excluded.token"
					+ " WHERE fence.token <= excluded.token";
			if (execute(sql, row.name(), row.token()) == 0) {
				refuse(row);
			}
			return true;
		}

		/** Returns {@code false} if the transaction was begun again. */
		private boolean updateOrInsert(FenceRow row) throws SQLException {
			if (this.missing.contains(row.name())) {
				return insert(row);
			}
			if (update(row)) {
				return true;
			}
			if (this.present.contains(row.name())) {
				refuse(row);
				return true;
			}
			this.missing.add(row.name());
			return !begunAgain() && insert(row);
		}

		private boolean update(FenceRow row) throws SQLException {
			return execute("UPDATE " + FenceTable.this.name + " SET token = ? WHERE lock_key = ? AND token <= ?",
					row.token(), row.name(), row.token()) > 0;
		}

		private boolean insert(FenceRow row) throws SQLException {
			try {
				execute("INSERT INTO " + FenceTable.this.name + " (lock_key, token) VALUES (?, ?)", row.name(),
						row.token());
				return true;
			}
			catch (SQLException ex) {
				if (!(translate(this.product, ex) instanceof DuplicateKeyException)) {
					throw ex;
				}
			}
			this.missing.remove(row.name());
			this.present.add(row.name());
			return !begunAgain() && updateOrInsert(row);
		}

		private boolean begunAgain() throws SQLException {
			if (this.atBegin) {
				this.connection.rollback();
			}
			return this.atBegin;
		}

		/** Finds the later token, which the row has unless it was deleted by then. */
		private void refuse(FenceRow row) throws SQLException {
			Long later = token(row);
			if (later == null || later < row.token()) {
				throw new SQLTransactionRollbackException("The row of '" + row.name() + "' was deleted by then",
						"40001");
			}
			// Equal where the driver counts changed rows only, and the update changed
			// nothing.
			if (later > row.token()) {
				throw new LateFenceException(row, later);
			}
		}

		private @Nullable Long token(FenceRow row) throws SQLException {
			try (PreparedStatement select = this.connection
				.prepareStatement("SELECT token FROM " + FenceTable.this.name + " WHERE lock_key = ?")) {
				select.setString(1, row.name());
				try (ResultSet rows = select.executeQuery()) {
					return rows.next() ? rows.getLong(1) : null;
				}
			}
		}

		private int execute(String sql, Object... parameters) throws SQLException {
			try (PreparedStatement statement = this.connection.prepareStatement(sql)) {
				for (int i = 0; i < parameters.length; i++) {
					statement.setObject(i + 1, parameters[i]);
				}
				int before = statement.getQueryTimeout();
				statement.setQueryTimeout(seconds(this.deadline - System.nanoTime()));
				try {
					return statement.executeUpdate();
				}
				finally {
					// In H2, the connection keeps it.
					statement.setQueryTimeout(before);
				}
			}
		}

	}

}
