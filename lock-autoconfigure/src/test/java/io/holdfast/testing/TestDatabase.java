package io.holdfast.testing;

import java.util.concurrent.atomic.AtomicInteger;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

/** Databases for tests. */
public enum TestDatabase {

	/** Database in the memory of the tests' JVM. */
	H2 {
		@Override
		HikariConfig create(String name) {
			return config("jdbc:h2:mem:" + name, "sa", "");
		}

		@Override
		public void assumeAvailable() {
			// Always available.
		}
	},

	/** Server of this JVM. */
	POSTGRESQL {
		@Override
		HikariConfig create(String name) {
			return server().create(name);
		}

		@Override
		public void assumeAvailable() {
			server();
		}

		private DatabaseServer server() {
			DatabaseServer server = DatabaseServer.postgresql();
			assumeTrue(server != null, "There is no PostgreSQL, and no Docker to run it in");
			return server;
		}
	},

	/** Server of this JVM. */
	MARIADB {
		@Override
		HikariConfig create(String name) {
			return server().create(name);
		}

		@Override
		public void assumeAvailable() {
			server();
		}

		private DatabaseServer server() {
			DatabaseServer server = DatabaseServer.mariaDb();
			assumeTrue(server != null, "There is no MariaDB, and no Docker to run it in");
			return server;
		}
	};

	private static final AtomicInteger NUMBER = new AtomicInteger();

	/**
	 * Create a database and its connection pool. Skips the test without a server. The
	 * start of a server takes some seconds.
	 * @param parameters further parameters of the URL, as {@code "name=value"}
	 * @return the pool, which the caller has to close
	 */
	public HikariDataSource open(String... parameters) {
		HikariConfig config = create("test" + NUMBER.incrementAndGet());
		for (String parameter : parameters) {
			String[] parts = parameter.split("=", 2);
			config.addDataSourceProperty(parts[0], parts[1]);
		}
		config.setMaximumPoolSize(20);
		config.setMinimumIdle(0);
		config.setPoolName(name());
		return new HikariDataSource(config);
	}

	/**
	 * Skip the test without a server. An application context that opens the database
	 * would fail instead.
	 */
	public abstract void assumeAvailable();

	abstract HikariConfig create(String name);

	static HikariConfig config(String url, String user, String password) {
		HikariConfig config = new HikariConfig();
		config.setJdbcUrl(url);
		config.setUsername(user);
		config.setPassword(password);
		return config;
	}

}
