package io.holdfast.jdbc;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import java.util.stream.Stream;

import javax.sql.DataSource;

import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.datasource.SingleConnectionDataSource;
import org.springframework.transaction.annotation.Isolation;

/**
 * Transaction of a test, on its own connection.
 */
final class FencedTransaction implements AutoCloseable {

	private final Connection connection;

	private final JdbcTemplate jdbc;

	private FencedTransaction(Connection connection) {
		this.connection = connection;
		this.jdbc = new JdbcTemplate(new SingleConnectionDataSource(connection, true));
	}

	static FencedTransaction begin(DataSource dataSource, Isolation isolation) throws SQLException {
		Connection connection = dataSource.getConnection();
		connection.setTransactionIsolation(isolation.value());
		connection.setAutoCommit(false);
		return new FencedTransaction(connection);
	}

	/** Check keys as the first statement. */
	FencedTransaction check(FenceTable table, long token, String... keys) {
		table.raise(this.connection, rows(token, keys), true);
		return this;
	}

	/** Check keys after other statements. */
	FencedTransaction checkLater(FenceTable table, long token, String... keys) {
		table.raise(this.connection, rows(token, keys), false);
		return this;
	}

	private static List<FenceRow> rows(long token, String... keys) {
		return Stream.of(keys).map((key) -> FenceRow.of(key, token)).toList();
	}

	/** Code in the transaction. */
	JdbcTemplate jdbc() {
		return this.jdbc;
	}

	int queryTimeout() throws SQLException {
		try (Statement statement = this.connection.createStatement()) {
			return statement.getQueryTimeout();
		}
	}

	void commit() throws SQLException {
		this.connection.commit();
	}

	void rollback() throws SQLException {
		this.connection.rollback();
	}

	/** Rolls back uncommitted changes, unless already closed. */
	@Override
	public void close() throws SQLException {
		if (this.connection.isClosed()) {
			return;
		}
		this.connection.rollback();
		this.connection.setAutoCommit(true);
		this.connection.close();
	}

}
