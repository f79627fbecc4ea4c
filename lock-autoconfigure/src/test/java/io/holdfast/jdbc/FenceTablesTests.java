package io.holdfast.jdbc;

import java.time.Duration;
import java.time.Instant;
import java.util.concurrent.TimeUnit;

import javax.sql.DataSource;

import com.zaxxer.hikari.HikariDataSource;
import io.holdfast.KeyNamespace;
import io.holdfast.LockRequest;
import io.holdfast.LockService;
import io.holdfast.annotation.DistributedLock;
import io.holdfast.autoconfigure.HoldfastFenceAutoConfiguration;
import io.holdfast.engine.DefaultLockService;
import io.holdfast.engine.EngineSettings;
import io.holdfast.engine.LeaseEngine;
import io.holdfast.memory.MemoryLeaseStore;
import io.holdfast.memory.MemoryLeases;
import io.holdfast.testing.TestApplication;
import io.holdfast.testing.TestDatabase;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.annotation.Qualifier;
import org.springframework.boot.LazyInitializationBeanFactoryPostProcessor;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Primary;
import org.springframework.core.io.ClassPathResource;
import org.springframework.jdbc.BadSqlGrammarException;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.datasource.DelegatingDataSource;
import org.springframework.jdbc.support.JdbcTransactionManager;
import org.springframework.transaction.support.TransactionTemplate;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/**
 * Creation of fence tables, their check at the start, and their clean-up.
 */
@ExtendWith(OutputCaptureExtension.class)
class FenceTablesTests {

	private final ApplicationContextRunner application = TestApplication.runner(HoldfastFenceAutoConfiguration.class)
		.withUserConfiguration(Database.class);

	private final ApplicationContextRunner enabled = this.application
		.withPropertyValues("holdfast.fence.jdbc.enabled=true");

	@Test
	@DisplayName("Without a fenced method, no table is created or required")
	void notUsed() {
		this.application.run((context) -> {
			assertThat(context).hasNotFailed().doesNotHaveBean(FenceTableCheck.class);
			assertThatExceptionOfType(BadSqlGrammarException.class).isThrownBy(() -> table(context.getBean("main")));
		});
	}

	@Test
	@DisplayName("A schema that is always initialized needs no fenced method")
	void alwaysInitialized() {
		this.application.withPropertyValues("holdfast.fence.jdbc.initialize-schema=always")
			.run((context) -> assertThat(context).hasNotFailed().hasSingleBean(FenceTableCheck.class));
	}

	@Test
	@DisplayName("A fenced method, or the property, creates the table in an embedded database")
	void embedded() {
		this.application.withUserConfiguration(FencedMethod.class).run((context) -> table(context.getBean("main")));
		this.enabled.run((context) -> table(context.getBean("main")));
	}

	@Test
	@DisplayName("The table is created in a lazy application, too")
	void lazy() {
		this.application.withUserConfiguration(FencedMethod.class)
			.withInitializer(
					(context) -> context.addBeanFactoryPostProcessor(new LazyInitializationBeanFactoryPostProcessor()))
			.run((context) -> {
				assertThat(context).hasNotFailed();
				table(context.getBean("main"));
			});
	}

	@Test
	@DisplayName("A missing table fails the start, and the message has the script")
	void missing() {
		this.enabled
			.withPropertyValues("holdfast.fence.jdbc.initialize-schema=never",
					"holdfast.fence.jdbc.table-name=PUBLIC.f")
			.run((context) -> assertThat(context).getFailure()
				.hasMessageContaining("The DataSource 'main' has no fence table PUBLIC.f")
				.hasMessageContaining("holdfast.fence.jdbc.initialize-schema=always")
				.hasMessageContaining("CREATE TABLE IF NOT EXISTS PUBLIC.f ("));
	}

	@Test
	@DisplayName("A custom script creates a table of another name")
	void ownScript() {
		this.enabled
			.withPropertyValues("holdfast.fence.jdbc.schema=classpath:io/holdfast/jdbc/own-@@platform@@.sql",
					"holdfast.fence.jdbc.table-name=own_fence", "holdfast.fence.jdbc.platform=h2")
			.run((context) -> assertThat(context).hasNotFailed());
	}

	@Test
	@DisplayName("Tables are created in the named DataSources")
	void named() {
		this.enabled.withUserConfiguration(OtherDatabase.class)
			.withPropertyValues("holdfast.fence.jdbc.data-sources=main,other")
			.run((context) -> {
				table(context.getBean("main"));
				table(context.getBean("other"));
			});
		this.enabled.withUserConfiguration(OtherDatabase.class).run((context) -> {
			table(context.getBean("main"));
			assertThatExceptionOfType(BadSqlGrammarException.class).isThrownBy(() -> table(context.getBean("other")));
		});
	}

	@ParameterizedTest
	@ValueSource(strings = { "POSTGRESQL", "MARIADB" })
	@DisplayName("In other databases, the property creates the table")
	void always(TestDatabase kind) {
		ApplicationContextRunner runner = this.enabled.withPropertyValues("database=" + kind);
		runner.run((context) -> assertThat(context).hasFailed());
		try (HikariDataSource pool = kind.open()) {
			ApplicationContextRunner always = runner.withPropertyValues("holdfast.fence.jdbc.initialize-schema=always")
				.withBean("given", HikariDataSource.class, () -> pool,
						(definition) -> definition.setDestroyMethodName(""));
			// The second start finds the table.
			always.run((context) -> table(context.getBean("main")));
			always.run((context) -> table(context.getBean("main")));
		}
	}

	@ParameterizedTest
	@CsvSource({ "fence.jdbc.retention=23h, with value '23h' is invalid: it must be at least 1d",
			"lock.max-hold=31d, not be shorter than the longest",
			"fence.jdbc.timeout=900ms, with value '900ms' is invalid: it must be at least 1s",
			"'fence.jdbc.table-name=f;', letters" })
	@DisplayName("Invalid values fail the start")
	void refused(String property, String message) {
		this.enabled.withPropertyValues("holdfast." + property, "holdfast.fence.jdbc.initialize-schema=never")
			.run((context) -> assertThat(context.getStartupFailure()).rootCause().hasMessageContaining(message));
	}

	@Test
	@DisplayName("A shorter retention in Redis gives a warning, except with default values")
	void shortMemory(CapturedOutput output) {
		this.enabled.run((context) -> assertThat(output).doesNotContain("is shorter than"));
		this.enabled.withPropertyValues("holdfast.lock.fence-retention=7d")
			.run((context) -> assertThat(output).contains("holdfast.lock.fence-retention (168h) is shorter than"));
	}

	@ParameterizedTest
	@ValueSource(strings = { "h2", "hsqldb", "postgresql", "mysql", "mariadb", "oracle", "sqlserver", "db2" })
	@DisplayName("There is a script for each database")
	void scripts(String platform) {
		assertThat(new ClassPathResource("io/holdfast/jdbc/schema-" + platform + ".sql").exists()).isTrue();
	}

	@Test
	@DisplayName("Old rows are deleted once a day, without a tenant")
	void cleanUp() {
		this.enabled.withBean(KeyNamespace.class, () -> FenceTablesTests::noTenant).run((context) -> {
			JdbcTemplate jdbc = new JdbcTemplate(context.getBean("main", DataSource.class));
			FenceCleanUp cleanUp = new FenceCleanUp(context.getBean(TransactionFences.class),
					context.getBean(LockService.class), Duration.ofDays(30));
			insert(jdbc, "old", Duration.ofDays(31));
			insert(jdbc, "young", Duration.ofDays(29));
			insert(jdbc, "ahead", Duration.ofDays(-9));
			cleanUp.cleanUp();
			assertThat(names(jdbc)).containsExactly("ahead", "young");
			insert(jdbc, "old", Duration.ofDays(31));
			cleanUp.cleanUp();
			assertThat(names(jdbc)).as("same day").containsExactly("ahead", "old", "young");
		});
	}

	@Test
	@DisplayName("Applications with one Redis and separate databases clean up their own tables")
	void cleanUpOfSeparateDatabases() {
		MemoryLeases shared = new MemoryLeases(System::nanoTime);
		ApplicationContextRunner sharing = this.enabled.withBean(MemoryLeases.class, () -> shared);
		for (int i = 0; i < 2; i++) {
			sharing.run((context) -> {
				JdbcTemplate jdbc = new JdbcTemplate(context.getBean("main", DataSource.class));
				insert(jdbc, "old", Duration.ofDays(31));
				context.getBean(FenceCleanUp.class).cleanUp();
				assertThat(names(jdbc)).isEmpty();
			});
		}
	}

	@Test
	@DisplayName("A failed clean-up is repeated, and the lock of a completed one is kept for 23 hours")
	void failedCleanUp() {
		this.enabled.run((context) -> {
			JdbcTemplate jdbc = new JdbcTemplate(context.getBean("main", DataSource.class));
			FenceCleanUp cleanUp = context.getBean(FenceCleanUp.class);
			insert(jdbc, "old", Duration.ofDays(31));
			jdbc.execute("ALTER TABLE holdfast_fence RENAME TO away");
			assertThatExceptionOfType(BadSqlGrammarException.class).isThrownBy(cleanUp::cleanUp);
			jdbc.execute("ALTER TABLE away RENAME TO holdfast_fence");
			cleanUp.cleanUp();
			assertThat(names(jdbc)).isEmpty();
			context.getBean(TransactionFences.class)
				.dataSources()
				.forEach((fenced) -> assertThat(context.getBean(LockService.class)
					.status("holdfast:fence-clean-up:" + fenced.table().id())
					.remaining()).as("documented").isBetween(Duration.ofHours(22), Duration.ofHours(23)));
		});
	}

	@Test
	@DisplayName("The clean-up ends with its context")
	void lifecycle() {
		FenceCleanUp[] cleanUp = new FenceCleanUp[1];
		this.enabled.run((context) -> {
			cleanUp[0] = context.getBean(FenceCleanUp.class);
			assertThat(cleanUp[0].isRunning()).isTrue();
		});
		assertThat(cleanUp[0].isRunning()).isFalse();
	}

	@Test
	@DisplayName("The engine of an application without the auto-configuration of services has fences")
	void ownEngine() {
		LeaseEngine engine = new LeaseEngine(new MemoryLeaseStore(new MemoryLeases(System::nanoTime)),
				EngineSettings.defaults());
		new ApplicationContextRunner().withConfiguration(AutoConfigurations.of(HoldfastFenceAutoConfiguration.class))
			.withUserConfiguration(Database.class)
			.withBean(LeaseEngine.class, () -> engine)
			.withBean(LockService.class, () -> new DefaultLockService(engine))
			.withPropertyValues("holdfast.fence.jdbc.enabled=true", "holdfast.lock.key-prefix=shop:")
			.run((context) -> {
				JdbcTemplate jdbc = new JdbcTemplate(context.getBean("main", DataSource.class));
				context.getBean(LockService.class)
					.withLock(LockRequest.of("a").fenced(),
							() -> new TransactionTemplate(context.getBean(JdbcTransactionManager.class))
								.executeWithoutResult((status) -> jdbc.queryForList("SELECT 1")));
				assertThat(names(jdbc)).containsExactly("shop:a");
				context.getBean(Fences.class).reset("a");
				assertThat(names(jdbc)).isEmpty();
			});
	}

	private static String noTenant() {
		throw new IllegalStateException("no tenant");
	}

	private static void table(Object dataSource) {
		new FenceTable((DataSource) dataSource, "holdfast_fence", Duration.ofSeconds(10)).probe();
	}

	private static void insert(JdbcTemplate jdbc, String name, Duration age) {
		long token = TimeUnit.MILLISECONDS.toMicros(Instant.now().minus(age).toEpochMilli());
		jdbc.update("INSERT INTO holdfast_fence VALUES (?, ?)", name, token);
	}

	private static java.util.List<String> names(JdbcTemplate jdbc) {
		return jdbc.queryForList("SELECT lock_key FROM holdfast_fence ORDER BY lock_key", String.class);
	}

	@Configuration(proxyBeanMethods = false)
	static class Database {

		@Bean
		@Primary
		DataSource main(org.springframework.core.env.Environment environment, ObjectProvider<HikariDataSource> given) {
			if (given.getIfAvailable() != null) {
				// Stays open after its context.
				return new DelegatingDataSource(given.getObject());
			}
			return TestDatabase.valueOf(environment.getProperty("database", "H2")).open();
		}

		@Bean
		@Primary
		JdbcTransactionManager transactionManager(DataSource main) {
			return new JdbcTransactionManager(main);
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class OtherDatabase {

		@Bean
		DataSource other() {
			return TestDatabase.H2.open();
		}

		@Bean
		JdbcTransactionManager otherTransactionManager(@Qualifier("other") DataSource other) {
			return new JdbcTransactionManager(other);
		}

	}

	static class FencedMethod {

		@DistributedLock(key = "'a'", fenced = true)
		public void method() {
		}

	}

}
