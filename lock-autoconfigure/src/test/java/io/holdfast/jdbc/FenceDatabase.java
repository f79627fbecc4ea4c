package io.holdfast.jdbc;

import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;

import com.zaxxer.hikari.HikariDataSource;
import io.holdfast.testing.TestDatabase;
import org.awaitility.Awaitility;
import org.jspecify.annotations.Nullable;

import org.springframework.core.io.ClassPathResource;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.datasource.init.ResourceDatabasePopulator;
import org.springframework.transaction.annotation.Isolation;

/**
 * Database with the fence table of its script, and a stock for sales.
 */
final class FenceDatabase implements AutoCloseable {

	private final TestDatabase kind;

	private final HikariDataSource dataSource;

	private final Queue<FencedTransaction> transactions = new ConcurrentLinkedQueue<>();

	private FenceDatabase(TestDatabase kind, HikariDataSource dataSource) {
		this.kind = kind;
		this.dataSource = dataSource;
		new ResourceDatabasePopulator(
				new ClassPathResource("io/holdfast/jdbc/schema-" + kind.name().toLowerCase() + ".sql"))
			.execute(dataSource);
		jdbc().execute("CREATE TABLE stock (name VARCHAR(20) PRIMARY KEY, items INT)");
		jdbc().update("INSERT INTO stock VALUES ('a', 100)");
	}

	static FenceDatabase open(TestDatabase kind, String... parameters) {
		return new FenceDatabase(kind, kind.open(parameters));
	}

	HikariDataSource dataSource() {
		return this.dataSource;
	}

	JdbcTemplate jdbc() {
		return new JdbcTemplate(this.dataSource);
	}

	/** Begin a transaction, closed with the database at the latest. */
	FencedTransaction begin(Isolation level) throws SQLException {
		FencedTransaction transaction = FencedTransaction.begin(this.dataSource, level);
		this.transactions.add(transaction);
		return transaction;
	}

	FencedTransaction begin() throws SQLException {
		return begin(Isolation.READ_COMMITTED);
	}

	FenceTable table() {
		return table(Duration.ofMinutes(1));
	}

	FenceTable table(Duration timeout) {
		return new FenceTable(this.dataSource, "holdfast_fence", timeout);
	}

	/** Token of a key in the table. */
	@Nullable Long token(String key) {
		List<Long> found = jdbc().queryForList("SELECT token FROM holdfast_fence WHERE lock_key = ?", Long.class,
				FenceRow.of(key, 0).name());
		return found.isEmpty() ? null : found.get(0);
	}

	/** Wait until a statement waits for a row of another transaction. */
	void awaitWaiting() {
		String count = switch (this.kind) {
			// The server does not report an insert that waits for another.
			case H2 -> "SELECT COUNT(*) FROM INFORMATION_SCHEMA.SESSIONS WHERE BLOCKER_ID IS NOT NULL"
					+ " OR EXECUTING_STATEMENT LIKE 'INSERT INTO holdfast_fence%'";
			case POSTGRESQL -> "SELECT COUNT(*) FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid"
					+ " WHERE NOT l.granted AND a.datname = current_database()";
			// Renewed only every 100 ms.
			case MARIADB -> "SELECT COUNT(*) FROM information_schema.innodb_lock_waits";
		};
		Awaitility.await("a statement that waits")
			.atMost(Duration.ofMinutes(1))
			.pollDelay(Duration.ZERO)
			.pollInterval(Duration.ofMillis(110))
			.until(() -> jdbc().queryForObject(count, Integer.class) > 0);
	}

	@Override
	public void close() throws SQLException {
		for (FencedTransaction transaction : this.transactions) {
			transaction.close();
		}
		this.dataSource.close();
	}

}
