package io.holdfast.jdbc;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import java.util.Objects;
import java.util.Queue;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.stream.Stream;

import javax.sql.DataSource;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import io.holdfast.LeaseContext;
import io.holdfast.LeaseLostEvent;
import io.holdfast.LockLease;
import io.holdfast.LockService;
import io.holdfast.annotation.DistributedLock;
import io.holdfast.annotation.OnTimeout;
import io.holdfast.testing.TestApplication;
import io.holdfast.testing.TestDatabase;
import io.holdfast.testing.TestRedis;
import io.micrometer.observation.tck.TestObservationRegistry;
import jakarta.persistence.EntityManagerFactory;
import org.jspecify.annotations.Nullable;

import org.springframework.beans.factory.annotation.Qualifier;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.context.annotation.Primary;
import org.springframework.context.event.EventListener;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.datasource.DelegatingDataSource;
import org.springframework.jdbc.datasource.LazyConnectionDataSourceProxy;
import org.springframework.jdbc.datasource.TransactionAwareDataSourceProxy;
import org.springframework.jdbc.support.JdbcTransactionManager;
import org.springframework.orm.jpa.JpaTransactionManager;
import org.springframework.orm.jpa.LocalContainerEntityManagerFactoryBean;
import org.springframework.orm.jpa.persistenceunit.PersistenceManagedTypes;
import org.springframework.orm.jpa.vendor.HibernateJpaVendorAdapter;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.annotation.EnableTransactionManagement;
import org.springframework.transaction.annotation.Propagation;
import org.springframework.transaction.annotation.Transactional;
import org.springframework.transaction.support.TransactionSynchronizationManager;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Application on its own database, with fenced methods.
 */
final class FencedShop {

	private static final String KIND = "shop.kind";

	private static final String DATABASE = "shop.database";

	final ConfigurableApplicationContext context;

	final HikariDataSource pool;

	final JdbcTemplate jdbc;

	final PlatformTransactionManager transactions;

	final Sales sales;

	final Works works;

	private final String keyPrefix;

	private FencedShop(TestRedis redis, ConfigurableApplicationContext context) {
		this.keyPrefix = redis.keyPrefix();
		this.context = context;
		this.pool = context.getBean(HikariDataSource.class);
		// Outside of the thread's transactions, for any kind of DataSource.
		this.jdbc = new JdbcTemplate(new PlainConnections(this.pool));
		this.transactions = context.getBean(PlatformTransactionManager.class);
		this.sales = context.getBean(Sales.class);
		this.works = context.getBean(Works.class);
	}

	/** Start an application, closed at the test's end. */
	static FencedShop open(TestRedis redis, Kind kind, String... properties) {
		return open(redis, kind, TestDatabase.H2, properties);
	}

	/** Start an application on the given database. */
	static FencedShop open(TestRedis redis, Kind kind, TestDatabase database, String... properties) {
		database.assumeAvailable();
		String[] all = Stream.concat(Stream.of(KIND + "=" + kind, DATABASE + "=" + database), Stream.of(properties))
			.toArray(String[]::new);
		return new FencedShop(redis, TestApplication.start(redis, Application.class, all));
	}

	LockService locks() {
		return this.context.getBean(LockService.class);
	}

	/**
	 * Make the current holder of a key late, by the token of a later holder.
	 * @return the later token
	 */
	long overtake(String key) {
		return overtake(key, LockLease.current().fencingToken() + 64);
	}

	/**
	 * Write a token into the table that is higher than the tokens of the next holders.
	 */
	long overtake(String key, long token) {
		String name = this.keyPrefix + key;
		if (this.jdbc.update("UPDATE holdfast_fence SET token = ? WHERE lock_key = ?", token, name) == 0) {
			this.jdbc.update("INSERT INTO holdfast_fence (lock_key, token) VALUES (?, ?)", name, token);
		}
		return token;
	}

	/** Return the token in the table, or {@code null}. */
	@Nullable Long token(String key) {
		return this.jdbc
			.queryForList("SELECT token FROM holdfast_fence WHERE lock_key = ?", Long.class, this.keyPrefix + key)
			.stream()
			.findFirst()
			.orElse(null);
	}

	/** Write a row in the current transaction. */
	void write(String text) {
		new JdbcTemplate(this.context.getBean(Connections.class).forStatements()).update("INSERT INTO sale VALUES (?)",
				text);
	}

	/** Return the committed rows, in order, and delete them. */
	List<String> written() {
		List<String> all = this.jdbc.queryForList("SELECT what FROM sale ORDER BY what", String.class);
		this.jdbc.update("DELETE FROM sale");
		return all;
	}

	/** Run code within a context. */
	static void within(LeaseContext context, Runnable code) {
		LeaseContext.Scope scope = context.open();
		try {
			code.run();
		}
		finally {
			scope.close();
		}
	}

	/**
	 * Check that no lock and no connection stays behind on this thread and in the pool.
	 */
	void checkNothingLeft() {
		assertThat(TransactionSynchronizationManager.isActualTransactionActive()).isFalse();
		assertThat(TransactionSynchronizationManager.isSynchronizationActive()).isFalse();
		assertThat(TransactionSynchronizationManager.getResourceMap()).isEmpty();
		assertThat(this.pool.getHikariPoolMXBean().getActiveConnections()).isZero();
		assertThat(OpenTransaction.writing(this.pool)).isNull();
	}

	/** Kinds of managers and connections. */
	enum Kind {

		JDBC, JPA, JPA_WITHOUT_AUTO_COMMIT, LAZY, TRANSACTION_AWARE

	}

	/** DataSources of an application. */
	record Connections(DataSource forTransactions, DataSource forStatements) {
	}

	/** Gives connections outside of the thread's transactions. */
	private static final class PlainConnections extends DelegatingDataSource {

		PlainConnections(DataSource target) {
			super(target);
		}

		@Override
		public Connection getConnection() throws SQLException {
			Connection connection = super.getConnection();
			connection.setAutoCommit(true);
			return connection;
		}

	}

	/** Open an in-memory database with the fence table and a table for sales. */
	static HikariDataSource database() {
		HikariDataSource pool = TestDatabase.H2.open();
		JdbcTemplate jdbc = new JdbcTemplate(pool);
		jdbc.execute("SET DB_CLOSE_DELAY -1");
		jdbc.execute("CREATE TABLE holdfast_fence (lock_key VARCHAR(255) PRIMARY KEY, token BIGINT NOT NULL)");
		jdbc.execute("CREATE TABLE sale (what VARCHAR(100))");
		return pool;
	}

	static class TwoDatabases {

		@Bean
		HikariDataSource one() {
			return database();
		}

		@Bean
		HikariDataSource two() {
			return database();
		}

		@Bean
		@Primary
		JdbcTransactionManager ofOne(@Qualifier("one") DataSource one) {
			return new JdbcTransactionManager(one);
		}

		@Bean
		JdbcTransactionManager ofTwo(@Qualifier("two") DataSource two) {
			return new JdbcTransactionManager(two);
		}

	}

	@Configuration(proxyBeanMethods = false)
	@EnableTransactionManagement
	@Import({ TestApplication.class, Sales.class, Works.class })
	static class Application {

		@Bean
		HikariDataSource pool(@Value("${" + KIND + "}") Kind kind,
				@Value("${" + DATABASE + "}") TestDatabase database) {
			HikariConfig config = new HikariConfig();
			try (HikariDataSource template = database.open()) {
				template.copyStateTo(config);
			}
			config.setAutoCommit(kind != Kind.JPA_WITHOUT_AUTO_COMMIT);
			HikariDataSource pool = new HikariDataSource(config);
			JdbcTemplate jdbc = new JdbcTemplate(new PlainConnections(pool));
			if (database == TestDatabase.H2) {
				jdbc.execute("SET DB_CLOSE_DELAY -1");
			}
			jdbc.execute(
					"CREATE TABLE IF NOT EXISTS holdfast_fence (lock_key VARCHAR(255) PRIMARY KEY, token BIGINT NOT NULL)");
			jdbc.execute("CREATE TABLE sale (what VARCHAR(100))");
			return pool;
		}

		@Bean
		TestObservationRegistry observations() {
			return TestObservationRegistry.create();
		}

		@Bean
		Connections connections(HikariDataSource pool, @Value("${" + KIND + "}") Kind kind) {
			return switch (kind) {
				case JDBC, JPA, JPA_WITHOUT_AUTO_COMMIT -> new Connections(pool, pool);
				case LAZY -> {
					DataSource lazy = new LazyConnectionDataSourceProxy(pool);
					yield new Connections(lazy, lazy);
				}
				case TRANSACTION_AWARE -> {
					DataSource aware = new TransactionAwareDataSourceProxy(pool);
					yield new Connections(aware, aware);
				}
			};
		}

		@Bean
		PlatformTransactionManager transactionManager(Connections connections, @Value("${" + KIND + "}") Kind kind) {
			return kind.name().startsWith("JPA") ? new JpaTransactionManager(entities(connections, kind))
					: new JdbcTransactionManager(connections.forTransactions());
		}

		private static EntityManagerFactory entities(Connections connections, Kind kind) {
			LocalContainerEntityManagerFactoryBean factory = new LocalContainerEntityManagerFactoryBean();
			factory.setDataSource(connections.forTransactions());
			factory.setPersistenceUnitName("shop");
			factory.setManagedTypes(PersistenceManagedTypes.of());
			factory.setJpaVendorAdapter(new HibernateJpaVendorAdapter());
			if (kind == Kind.JPA_WITHOUT_AUTO_COMMIT) {
				factory.getJpaPropertyMap().put("hibernate.connection.provider_disables_autocommit", "true");
			}
			factory.afterPropertiesSet();
			return Objects.requireNonNull(factory.getObject());
		}

	}

	/** Fenced methods, with and without their own transaction. */
	static class Sales {

		private final Queue<LeaseLostEvent> losses = new ConcurrentLinkedQueue<>();

		public Queue<LeaseLostEvent> losses() {
			return this.losses;
		}

		@EventListener
		void lost(LeaseLostEvent event) {
			this.losses.add(event);
		}

		@DistributedLock(key = "'stock'", fenced = true, onTimeout = OnTimeout.SKIP)
		public @Nullable String skipped() {
			return "done";
		}

		@DistributedLock(key = "'stock'", fenced = true)
		public <T extends @Nullable Object> T locked(Callable<T> body) throws Exception {
			return body.call();
		}

		@DistributedLock(key = "'stock'", fenced = true)
		@Transactional
		public void sell(Runnable body) {
			body.run();
		}

		@DistributedLock(key = "'stock'", fenced = true)
		@Transactional(readOnly = true)
		public void look(Runnable body) {
			body.run();
		}

	}

	/** Transactional methods without a lock. */
	static class Works {

		@Transactional
		public void required(Runnable body) {
			body.run();
		}

		@Transactional(noRollbackFor = RuntimeException.class)
		public void withoutRollback(Runnable body) {
			body.run();
		}

		@Transactional(propagation = Propagation.SUPPORTS)
		public void supports(Runnable body) {
			body.run();
		}

		@Transactional(propagation = Propagation.NOT_SUPPORTED)
		public void notSupported(Runnable body) {
			body.run();
		}

		@Transactional(propagation = Propagation.REQUIRES_NEW)
		public void requiresNew(Runnable body) {
			body.run();
		}

		@Transactional(propagation = Propagation.NESTED)
		public void nested(Runnable body) {
			body.run();
		}

		@Transactional(readOnly = true)
		public void readOnly(Runnable body) {
			body.run();
		}

	}

}
