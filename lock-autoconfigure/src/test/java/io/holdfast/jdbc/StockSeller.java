package io.holdfast.jdbc;

import java.time.Duration;
import java.util.List;
import java.util.stream.Stream;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import io.holdfast.annotation.DistributedLock;
import io.holdfast.testing.TestApplication;

import org.springframework.beans.factory.annotation.Value;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.support.JdbcTransactionManager;
import org.springframework.transaction.annotation.EnableTransactionManagement;
import org.springframework.transaction.annotation.Transactional;
import org.springframework.transaction.support.TransactionTemplate;

/**
 * Sells from stocks under locks, with and without the fence: reads a stock and writes the
 * stock minus one, beside a row for the sale. A pause at the wrong moment then loses a
 * sale.
 */
class StockSeller {

	private final JdbcTemplate jdbc;

	private final TransactionTemplate transactions;

	private volatile Pauses pauses = (place) -> {
	};

	StockSeller(HikariDataSource pool, JdbcTransactionManager manager) {
		this.jdbc = new JdbcTemplate(pool);
		this.transactions = new TransactionTemplate(manager);
	}

	/**
	 * Start an instance.
	 * @param pool the database, as configured for the instance
	 * @param host the host of Redis
	 * @param port the port of Redis
	 * @param isolation name of the isolation level, as of {@link java.sql.Connection}
	 * @param properties further properties
	 * @return the context, to be closed
	 */
	static ConfigurableApplicationContext start(HikariConfig pool, String host, int port, String isolation,
			String... properties) {
		List<String> all = Stream.concat(Stream.of(properties),
				Stream.of("stock.url=" + pool.getJdbcUrl(), "stock.user=" + pool.getUsername(),
						"stock.password=" + pool.getPassword(), "stock.isolation=" + isolation))
			.toList();
		return TestApplication.start(Application.class, host, port, "", all);
	}

	/** Create the tables, and stocks of this many items. */
	static void create(JdbcTemplate jdbc, int stocks, int items) {
		jdbc.execute("CREATE TABLE item (stock VARCHAR(20) PRIMARY KEY, items INT)");
		jdbc.execute("CREATE TABLE sale (stock VARCHAR(20))");
		for (int i = 0; i < stocks; i++) {
			jdbc.update("INSERT INTO item VALUES (?, ?)", "stock" + i, items);
		}
	}

	/** Return the number of sales. */
	static int sales(JdbcTemplate jdbc) {
		return jdbc.queryForObject("SELECT COUNT(*) FROM sale", Integer.class);
	}

	/** Return the number of items left. */
	static int items(JdbcTemplate jdbc) {
		return jdbc.queryForObject("SELECT SUM(items) FROM item", Integer.class);
	}

	void setPauses(Pauses pauses) {
		this.pauses = pauses;
	}

	/** Read and write in one transaction, without the fence. */
	@DistributedLock(key = "#stock", leaseTime = "${stock.lease}", autoRenew = false, waitTime = "5s")
	@Transactional
	public void sell(String stock) {
		sellWithin(stock);
	}

	/** Read and write in one transaction. */
	@DistributedLock(key = "#stock", leaseTime = "${stock.lease}", autoRenew = false, waitTime = "5s", fenced = true)
	@Transactional
	public void sellFenced(String stock) {
		sellWithin(stock);
	}

	/** Read before the transaction, without the fence. */
	@DistributedLock(key = "#stock", leaseTime = "${stock.lease}", autoRenew = false, waitTime = "5s")
	public void readAndSell(String stock) {
		sellAfterRead(stock);
	}

	/** Read before the transaction. */
	@DistributedLock(key = "#stock", leaseTime = "${stock.lease}", autoRenew = false, waitTime = "5s", fenced = true)
	public void readAndSellFenced(String stock) {
		sellAfterRead(stock);
	}

	private void sellWithin(String stock) {
		int items = read(stock);
		this.pauses.at("transaction");
		write(stock, items - 1);
	}

	private void sellAfterRead(String stock) {
		int items = read(stock);
		this.pauses.at("lock");
		this.transactions.executeWithoutResult((status) -> {
			this.pauses.at("transaction");
			write(stock, items - 1);
		});
	}

	private int read(String stock) {
		return this.jdbc.queryForObject("SELECT items FROM item WHERE stock = ?", Integer.class, stock);
	}

	private void write(String stock, int items) {
		this.jdbc.update("UPDATE item SET items = ? WHERE stock = ?", items, stock);
		this.jdbc.update("INSERT INTO sale VALUES (?)", stock);
	}

	/** Moments of a pause. */
	interface Pauses {

		/**
		 * Return at once, or after a pause.
		 * @param place the scope of the pause, {@code lock} or {@code transaction}
		 */
		void at(String place);

	}

	@Configuration(proxyBeanMethods = false)
	@EnableTransactionManagement
	@Import({ TestApplication.class, StockSeller.class })
	static class Application {

		@Bean
		HikariDataSource pool(@Value("${stock.url}") String url, @Value("${stock.user}") String user,
				@Value("${stock.password}") String password, @Value("${stock.isolation}") String isolation) {
			HikariConfig config = new HikariConfig();
			config.setJdbcUrl(url);
			config.setUsername(user);
			config.setPassword(password);
			config.setTransactionIsolation("TRANSACTION_" + isolation);
			config.setMaximumPoolSize(20);
			config.setMinimumIdle(0);
			config.setConnectionTimeout(Duration.ofMinutes(1).toMillis());
			return new HikariDataSource(config);
		}

		@Bean
		JdbcTransactionManager transactionManager(HikariDataSource pool) {
			return new JdbcTransactionManager(pool);
		}

	}

}
