package io.holdfast.jdbc;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;

import javax.sql.DataSource;

import io.holdfast.LeaseContext;
import io.holdfast.LeaseLostException;
import io.holdfast.async.Guard;
import io.holdfast.LockLease;
import io.holdfast.async.SingleLine;
import io.micrometer.observation.Observation;
import io.micrometer.observation.ObservationRegistry;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

import org.springframework.jdbc.datasource.DataSourceUtils;
import org.springframework.dao.InvalidDataAccessResourceUsageException;
import org.springframework.dao.QueryTimeoutException;
import org.springframework.jdbc.BadSqlGrammarException;
import org.springframework.jdbc.UncategorizedSQLException;
import org.springframework.transaction.TransactionDefinition;
import org.springframework.transaction.support.AbstractPlatformTransactionManager;
import org.springframework.transaction.support.TransactionTemplate;

/**
 * A {@link DataSource} whose transactions are checked. Thread-safe.
 *
 * @param name the name of the bean, for messages
 * @param dataSource the source of connections that the transaction manager uses
 * @param table the fence table
 * @param tableName the name of the fence table
 * @param manager the transaction manager, or {@code null} if the context has none, as
 * with JTA
 * @param observations the registry of observations
 */
record FencedDataSource(String name, DataSource dataSource, FenceTable table, String tableName,
		@Nullable AbstractPlatformTransactionManager manager, ObservationRegistry observations) {

	private static final Guard OBSERVERS = new Guard(LogFactory.getLog(FencedDataSource.class),
			"An observer of fence checks failed", "transactions are not affected");

	/** Check leases in a transaction that has just begun. */
	void checkBegun(OpenTransaction begun, FencedLeases leases) {
		checkBegun(begun, leases, "transaction", "The transaction under lock", "Nothing of it was written");
		leases.passed();
	}

	private void checkBegun(OpenTransaction begun, FencedLeases leases, String when, String what, String consequence) {
		if (!begun.hasConnection()) {
			throw new IllegalStateException("A transaction manager of the DataSource '" + this.name
					+ "' does not show the connection of its transactions, so that they cannot be checked: give its "
					+ "EntityManagerFactory a JpaVendorAdapter");
		}
		List<FenceRow> free = leases.rows().stream().filter((row) -> !begun.isLocked(row)).toList();
		observe(when, () -> {
			leases.ensureHeld();
			if (!free.isEmpty()) {
				withConnection(what, consequence, leases, (connection) -> this.table.raise(connection, free, true));
			}
		});
		begun.locked(free);
	}

	/** Check leases in the current transaction of the thread. */
	void checkWithin(@Nullable OpenTransaction open, FencedLeases leases, String when) {
		// Skip rows that a suspended transaction of this thread keeps locked: the wait
		// would never end.
		List<FenceRow> rows = leases.rows().stream().filter((row) -> open == null || !open.isLockedBelow(row)).toList();
		observe(when, () -> {
			leases.ensureHeld();
			if (!rows.isEmpty()) {
				withConnection("The lock", "Roll back what was done under it", leases, (connection) -> {
					if (open == null || !rows.stream().allMatch(open::isLocked)) {
						refuseOldSnapshot(connection, leases, "MariaDB|MySQL");
					}
					this.table.raise(connection, rows, false);
				});
			}
		});
		if (open != null) {
			open.locked(rows);
		}
		leases.passed();
	}

	/** Raise the token of a lease in a separate transaction. */
	void raise(LockLease lease) {
		AbstractPlatformTransactionManager manager = this.manager;
		if (manager == null) {
			throw noManager();
		}
		FencedLeases leases = FencedLeases.of(lease);
		OpenTransaction open = OpenTransaction.current(this.dataSource);
		if (open != null && !leases.rows().stream().allMatch(open::isUnder)) {
			// The open transaction writes nothing that the database could refuse.
			withConnection("The lock", "No code has run under it", leases,
					(connection) -> refuseOldSnapshot(connection, leases, ".*"));
		}
		TransactionTemplate transaction = new TransactionTemplate(manager);
		transaction.setName("holdfast.fence");
		transaction.setPropagationBehavior(TransactionDefinition.PROPAGATION_REQUIRES_NEW);
		// Without leases, so that the beginning of the transaction does not repeat the
		// check.
		LeaseContext.Scope scope = LeaseContext.empty().open();
		try {
			transaction.executeWithoutResult((status) -> {
				OpenTransaction begun = OpenTransaction.writing(this.dataSource);
				if (begun == null) {
					throw noManager();
				}
				checkBegun(begun, leases, "acquisition", "The lock", "No code has run under it");
			});
		}
		finally {
			scope.close();
		}
	}

	private IllegalStateException noManager() {
		return new IllegalStateException("The DataSource '" + this.name
				+ "' has no transaction manager with the listener "
				+ "of the fence: leave the listeners of the manager in place, or call Fences.check(lease) in each transaction");
	}

	private void withConnection(String what, String consequence, FencedLeases leases, ConnectionUser user) {
		Connection connection = DataSourceUtils.getConnection(this.dataSource);
		try {
			user.use(connection);
		}
		catch (LateFenceException ex) {
			throw leases.refuse(what, consequence, this.tableName, ex);
		}
		catch (QueryTimeoutException ex) {
			throw new QueryTimeoutException("The fenced lock '" + SingleLine.of(leases.leases().get(0).key())
					+ "' was not checked within holdfast.fence.jdbc.timeout, or the time of its transaction: the transaction "
					+ "of an earlier holder is still open in '" + this.name + "'. Have the database end it", ex);
		}
		catch (BadSqlGrammarException ex) {
			throw new InvalidDataAccessResourceUsageException(
					"The DataSource '" + this.name + "' has no fence table " + this.tableName
							+ ", which fenced locks need: set holdfast.fence.jdbc.enabled=true, with which the "
							+ "start creates it or shows its script",
					ex);
		}
		catch (SQLException ex) {
			throw new UncategorizedSQLException("fence check", null, ex);
		}
		finally {
			DataSourceUtils.releaseConnection(connection, this.dataSource);
		}
	}

	/**
	 * Refuse a transaction whose snapshot may be older than the grant, because it could
	 * overwrite data of the previous holder. Not needed for databases that report a
	 * serialization failure when the transaction raises the row.
	 */
	private void refuseOldSnapshot(Connection connection, FencedLeases leases, String databases) throws SQLException {
		if (connection.getMetaData().getDatabaseProductName().matches(databases)
				&& connection.getTransactionIsolation() > Connection.TRANSACTION_READ_COMMITTED) {
			throw new IllegalStateException("The fenced lock '" + SingleLine.of(leases.leases().get(0).key())
					+ "' was acquired in a transaction of '" + this.name
					+ "' above READ COMMITTED, which may read what was"
					+ " there before the lock, and overwrite later changes without an error: begin the transaction under"
					+ " the lock, or give it Isolation.READ_COMMITTED");
		}
	}

	private void observe(String when, Runnable check) {
		Observation observation = OBSERVERS
			.get(() -> Observation.createNotStarted("holdfast.fence.check", this.observations)
				.contextualName("fence check")
				.lowCardinalityKeyValue("when", when)
				.start(), () -> Observation.NOOP);
		try {
			check.run();
			end(observation, "passed", null);
		}
		catch (LeaseLostException ex) {
			end(observation, "refused", null);
			throw ex;
		}
		catch (RuntimeException | Error ex) {
			end(observation, "failed", ex);
			throw ex;
		}
	}

	private static void end(Observation observation, String outcome, @Nullable Throwable failure) {
		OBSERVERS.run(() -> {
			observation.lowCardinalityKeyValue("outcome", outcome);
			if (failure != null) {
				observation.error(failure);
			}
			observation.stop();
		});
	}

	/** Action with a connection of the current transaction. */
	private interface ConnectionUser {

		void use(Connection connection) throws SQLException;

	}

}
