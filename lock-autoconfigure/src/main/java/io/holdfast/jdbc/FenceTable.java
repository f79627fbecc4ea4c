package io.holdfast.jdbc;

import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.SQLTransactionRollbackException;
import java.time.Duration;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
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
import org.springframework.jdbc.core.ConnectionCallback;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.datasource.ConnectionHolder;
import org.springframework.jdbc.support.JdbcTransactionManager;
import org.springframework.jdbc.support.SQLErrorCodeSQLExceptionTranslator;
import org.springframework.transaction.TransactionDefinition;
import org.springframework.transaction.support.TransactionSynchronizationManager;
import org.springframework.transaction.support.TransactionTemplate;

/**
 * Fence table of a {@code DataSource}. For each lock, a row has the highest token that
 * was checked. A check raises the token of the row, and thereby locks the row until the
 * end of the transaction. Therefore the transactions of two leases of a lock never
 * overlap, and a lease with a lower token is refused.
 * <p>
 * A check does not read before it writes: with MariaDB and MySQL, a transaction with
 * repeatable reads would keep a snapshot from before the grant. PostgreSQL needs a single
 * statement. With other databases, the row is updated, or inserted if it is missing. If
 * no other statement has run in the transaction yet, the transaction is restarted between
 * update and insert: with MariaDB and MySQL, an update without a row locks gaps, so that
 * inserts of other keys would cause deadlocks.
 * <p>
 * Thread-safe.
 */
final class FenceTable {

	private static final int REPETITIONS = 5;

	private static final int BATCH = 100;

	private static final String TASK = "fence check";

	/**
	 * Error code of MariaDB with {@code innodb_snapshot_isolation}, which Spring does not
	 * know.
	 */
	private static final int RECORD_HAS_CHANGED = 1020;

	private final DataSource dataSource;

	private final String name;

	private final Duration timeout;

	/** Template for statements other than checks. */
	private final JdbcTemplate jdbc;

	private final TransactionTemplate ownTransaction;

	/** Name of the database product, or {@code null} if it is not known yet. */
	private volatile @Nullable String product;

	/**
	 * Create an accessor of the table. Sends nothing to the database.
	 * @param dataSource the source of connections
	 * @param name the name of the table, with its schema if needed
	 * @param timeout the maximum wait for the rows of a check, above zero
	 */
	FenceTable(DataSource dataSource, String name, Duration timeout) {
		this.dataSource = dataSource;
		this.name = name;
		this.timeout = timeout;
		this.jdbc = new JdbcTemplate(dataSource);
		this.ownTransaction = new TransactionTemplate(new JdbcTransactionManager(dataSource));
		this.ownTransaction.setPropagationBehavior(TransactionDefinition.PROPAGATION_REQUIRES_NEW);
		// With a higher level, MariaDB and MySQL lock each row that a statement scans.
		this.ownTransaction.setIsolationLevel(TransactionDefinition.ISOLATION_READ_COMMITTED);
		this.ownTransaction.setTimeout(seconds(timeout.toNanos()));
	}

	/**
	 * Raise the tokens of rows in the transaction of a connection, in the order of their
	 * names. Blocks while transactions of other holders are open, for the timeout at
	 * most, or for the rest of the transaction's timeout if that is shorter.
	 * @param connection the connection, without auto-commit
	 * @param rows the rows, one or more
	 * @param atBegin whether no statement has run in the transaction before; the check is
	 * then rolled back and repeated after a failure because of concurrent transactions
	 * @throws LateFenceException if the table has a later token; the caller must roll the
	 * transaction back
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
	 * Delete a row in a separate transaction, so that any next token passes. Blocks while
	 * a checked transaction is open.
	 * @param rowName the name of the row, as in {@link FenceRow#name()}
	 * @throws DataAccessException if the database fails
	 */
	void reset(String rowName) {
		this.ownTransaction.executeWithoutResult(
				(status) -> this.jdbc.update("DELETE FROM " + this.name + " WHERE lock_key = ?", rowName));
	}

	/**
	 * Delete all rows with tokens below a token. Selects the rows first, and deletes them
	 * by key in batches, each in a separate transaction, so that checks of other rows
	 * never wait. Blocks.
	 * @param token the lowest token to keep
	 * @return the number of deleted rows
	 * @throws DataAccessException if the database fails; some rows may already be deleted
	 */
	int deleteBelow(long token) {
		String select = "SELECT lock_key FROM " + this.name + " WHERE token < ?";
		List<String> names = this.ownTransaction
			.execute((status) -> this.jdbc.queryForList(select, String.class, token));
		List<Object[]> rows = names.stream().sorted().map((name) -> new Object[] { name, token }).toList();
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
	 * Return an id of the table, which is the same in all instances with this database.
	 * Other tables have other ids, except by chance. Blocks.
	 * @throws DataAccessException if the database fails
	 */
	String id() {
		return String.valueOf(this.jdbc.execute((ConnectionCallback<String>) (connection) -> {
			DatabaseMetaData database = connection.getMetaData();
			return Integer.toHexString(Objects.hash(database.getURL(), database.getUserName(), this.name));
		}));
	}

	/**
	 * Check that the table exists, by a query without result. Blocks.
	 * @throws org.springframework.jdbc.BadSqlGrammarException if there is no such table
	 * @throws DataAccessException if the database fails otherwise
	 */
	void probe() {
		this.jdbc.queryForList("SELECT lock_key, token FROM " + this.name + " WHERE 1 = 0");
	}

	/**
	 * Return the timeout of a check, or the rest of the transaction's timeout if that is
	 * shorter.
	 */
	private Duration patience() {
		if (TransactionSynchronizationManager.getResource(this.dataSource) instanceof ConnectionHolder holder
				&& holder.hasTimeout()) {
			Duration left = Duration.ofMillis(holder.getTimeToLiveInMillis());
			return (left.compareTo(this.timeout) < 0) ? left : this.timeout;
		}
		return this.timeout;
	}

	/** Return a timeout in seconds, rounded up, as zero would mean no timeout. */
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
		// By product name: a translator for the DataSource might open a second
		// connection.
		DataAccessException translated = new SQLErrorCodeSQLExceptionTranslator(product).translate(TASK, null, ex);
		return (translated != null) ? translated : new UncategorizedSQLException(TASK, null, ex);
	}

	/** One attempt to raise all rows of a check. */
	private final class Raise {

		private final Connection connection;

		private final String product;

		private final boolean atBegin;

		private final long deadline;

		/** Names of rows that an update has not found. */
		private final Set<String> missing = new HashSet<>();

		/** Names of rows that already existed at an insert. */
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
					// Start over with the first row, as the transaction was restarted.
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

		/** Raise a row. Returns {@code false} if the transaction was restarted. */
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

		/**
		 * Refuse a row with the later token in the table, unless the row was deleted in
		 * between.
		 */
		private void refuse(FenceRow row) throws SQLException {
			Long later = token(row);
			if (later == null || later < row.token()) {
				throw new SQLTransactionRollbackException("The row of '" + row.name() + "' was deleted by then",
						"40001");
			}
			// The token may be equal: some drivers count only rows that an update has
			// changed.
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
					// With H2, the query timeout belongs to the connection.
					statement.setQueryTimeout(before);
				}
			}
		}

	}

}
