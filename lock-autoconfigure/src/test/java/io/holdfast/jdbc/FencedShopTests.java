package io.holdfast.jdbc;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

import javax.sql.DataSource;

import com.zaxxer.hikari.HikariDataSource;
import io.holdfast.LeaseContext;
import io.holdfast.LeaseLostException;
import io.holdfast.LockLease;
import io.holdfast.LockRequest;
import io.holdfast.LockService;
import io.holdfast.autoconfigure.LeaseEngineFactory;
import io.holdfast.engine.DefaultLockService;
import io.holdfast.engine.LeaseEngine;
import io.holdfast.jdbc.FencedShop.Kind;
import io.holdfast.testing.RedisTestCase;
import io.holdfast.testing.TestApplication;
import io.holdfast.testing.TestDatabase;
import io.holdfast.testing.TestRedis;
import io.micrometer.observation.Observation;
import io.micrometer.observation.ObservationHandler;
import io.micrometer.observation.tck.TestObservationRegistry;
import io.micrometer.observation.tck.TestObservationRegistryAssert;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

import org.springframework.beans.factory.annotation.Qualifier;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.dao.QueryTimeoutException;
import org.springframework.data.redis.connection.RedisConnectionFactory;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.TransactionDefinition;
import org.springframework.transaction.support.TransactionTemplate;
import org.springframework.util.Assert;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.awaitility.Awaitility.await;

/**
 * Fenced locks over several {@code DataSource}s, by hand, and in earlier transactions,
 * with their messages and events.
 */
@ExtendWith(OutputCaptureExtension.class)
class FencedShopTests extends RedisTestCase {

	private static final String STOCK = "stock";

	/** Application of all tests without settings of their own. */
	private static FencedShop common;

	@BeforeAll
	static void open(TestRedis redis) {
		common = FencedShop.open(redis, Kind.JDBC);
	}

	@BeforeEach
	void forget() {
		common.jdbc.update("DELETE FROM holdfast_fence");
		common.context.getBean(TestObservationRegistry.class).clear();
		common.sales.losses().clear();
	}

	@Test
	@DisplayName("NESTED and joining calls need no check; a lock within a nested part is checked there")
	void nested() {
		FencedShop shop = common;
		shop.sales.sell(() -> {
			shop.works.nested(() -> shop.write("nested"));
			shop.works.required(() -> shop.write("joined"));
		});
		assertThat(shop.written()).containsExactly("joined", "nested");
		shop.works.required(() -> {
			shop.works.nested(() -> shop.sales.sell(() -> shop.write("locked")));
			shop.write("outer");
		});
		assertThat(shop.written()).containsExactly("locked", "outer");
		shop.checkNothingLeft();
	}

	@Test
	@DisplayName("The method's own transaction raises the token, or a short transaction if it has none")
	void raisedOnce() throws Exception {
		FencedShop shop = common;
		TestObservationRegistry registry = shop.context.getBean(TestObservationRegistry.class);
		shop.sales.sell(() -> {
		});
		TestObservationRegistryAssert.assertThat(registry)
			.hasNumberOfObservationsWithNameEqualTo("holdfast.fence.check", 1)
			.hasObservationWithNameEqualTo("holdfast.fence.check")
			.that()
			.hasLowCardinalityKeyValue("when", "transaction")
			.hasLowCardinalityKeyValue("outcome", "passed");
		registry.clear();
		shop.sales.locked(() -> null);
		TestObservationRegistryAssert.assertThat(registry)
			.hasNumberOfObservationsWithNameEqualTo("holdfast.fence.check", 1)
			.hasObservationWithNameEqualTo("holdfast.fence.check")
			.that()
			.hasLowCardinalityKeyValue("when", "acquisition");
	}

	@ParameterizedTest
	@ValueSource(booleans = { true, false })
	@DisplayName("An observer that fails, at the start or at the end of a check, fails no transaction")
	void failingObserver(boolean first) {
		FencedShop shop = FencedShop.open(this.redis, Kind.JDBC);
		shop.context.getBean(TestObservationRegistry.class)
			.observationConfig()
			.observationHandler(new FailingHandler(first));
		for (String written : List.of("first", "second")) {
			shop.sales.sell(() -> shop.write(written));
		}
		assertThat(shop.written()).containsExactly("first", "second");
		shop.checkNothingLeft();
	}

	private record FailingHandler(boolean first) implements ObservationHandler<Observation.Context> {

		@Override
		public boolean supportsContext(Observation.Context context) {
			return "holdfast.fence.check".equals(context.getName());
		}

		@Override
		public void onStart(Observation.Context context) {
			Assert.state(!this.first, "on purpose");
		}

		@Override
		public void onStop(Observation.Context context) {
			Assert.state(this.first, "on purpose");
		}

	}

	@Test
	@DisplayName("A refusal is a loss: one warning with both tokens, one event, and the counter")
	void told(CapturedOutput output) {
		FencedShop shop = common;
		List<Long> tokens = new ArrayList<>();
		assertThatExceptionOfType(LeaseLostException.class).isThrownBy(() -> shop.sales.locked(() -> {
			tokens.add(LockLease.current().fencingToken());
			tokens.add(shop.overtake(STOCK));
			shop.works.required(() -> shop.write("late"));
			return null;
		}));
		assertThat(output.getOut().lines().filter((line) -> line.contains(" WARN "))).singleElement()
			.asString()
			.contains("the database has refused its fencing token " + tokens.get(0)
					+ ", as a later holder (fencing token " + tokens.get(1) + ") has been there");
		await().untilAsserted(() -> assertThat(shop.sales.losses()).singleElement()
			.satisfies((event) -> assertThat(event.reason()).contains("has refused its fencing token")));
	}

	@Test
	@DisplayName("A fenced call without a checked transaction gives a warning, once")
	void unchecked(CapturedOutput output) throws Exception {
		FencedShop shop = FencedShop.open(this.redis, Kind.JDBC);
		shop.sales.locked(() -> {
			shop.works.required(() -> shop.write("sale"));
			return null;
		});
		assertThat(output.getOut()).doesNotContain("began no transaction");
		for (int i = 0; i < 2; i++) {
			shop.sales.locked(() -> null);
		}
		assertThat(output.getOut()).containsOnlyOnce("is fenced, but a call began no transaction that was checked");
	}

	@Test
	@DisplayName("Fences.check works in a transaction, and Fences.raise in a new one, with a lease acquired by hand")
	void byHand() {
		FencedShop shop = common;
		Fences fences = shop.context.getBean(Fences.class);
		LockLease lease = shop.locks().acquire(STOCK);
		fences.raise(lease);
		assertThat(shop.token(STOCK)).isEqualTo(lease.fencingToken());
		assertThatIllegalStateException().isThrownBy(() -> fences.check(lease)).withMessageContaining("raise(lease)");
		shop.works.required(() -> {
			fences.check(lease);
			shop.write("sale");
			shop.works.requiresNew(() -> shop.write("inner"));
		});
		assertThat(shop.written()).containsExactly("inner", "sale");
		shop.overtake(STOCK, lease.fencingToken() + 1);
		assertThatExceptionOfType(LeaseLostException.class).isThrownBy(() -> shop.works.required(() -> {
			fences.check(lease);
			shop.write("late");
		})).withMessageContaining("(fencing token " + (lease.fencingToken() + 1) + ")");
		assertThat(lease.isHeld()).isFalse();
		assertThatExceptionOfType(LeaseLostException.class).isThrownBy(() -> fences.raise(lease));
		assertThat(shop.written()).isEmpty();
		lease.release();
		shop.checkNothingLeft();
	}

	@Test
	@DisplayName("A thread that opens the context of another is checked, too")
	@SuppressWarnings("try")
	void otherThread() {
		FencedShop shop = common;
		assertThatExceptionOfType(LeaseLostException.class).isThrownBy(() -> shop.sales.locked(() -> {
			shop.overtake(STOCK);
			LeaseContext leases = LeaseContext.current();
			Runnable late = () -> shop.works.required(() -> shop.write("late"));
			assertThat(CompletableFuture.runAsync(() -> FencedShop.within(leases, late)))
				.failsWithin(10, TimeUnit.SECONDS)
				.withThrowableThat()
				.withCauseInstanceOf(LeaseLostException.class);
			return null;
		}));
		assertThat(shop.written()).isEmpty();
	}

	@Test
	@DisplayName("A wait for another holder's transaction ends with QueryTimeoutException, also with SKIP")
	void timeout() throws SQLException {
		FencedShop shop = FencedShop.open(this.redis, Kind.JDBC, "holdfast.fence.jdbc.timeout=1s");
		shop.overtake(STOCK, 1);
		try (Connection frozen = shop.pool.getConnection()) {
			frozen.setAutoCommit(false);
			frozen.createStatement().executeUpdate("UPDATE holdfast_fence SET token = 2");
			assertThatExceptionOfType(QueryTimeoutException.class).isThrownBy(shop.sales::skipped)
				.withMessageContaining(
						"The fenced lock '" + STOCK + "' was not checked within holdfast.fence.jdbc.timeout");
			assertThatExceptionOfType(QueryTimeoutException.class).isThrownBy(() -> shop.sales.sell(() -> {
			}));
			frozen.rollback();
		}
		assertThat(shop.locks().status(STOCK).isLocked()).isFalse();
		shop.checkNothingLeft();
		assertThat(shop.sales.skipped()).isEqualTo("done");
	}

	@ParameterizedTest
	@EnumSource(names = { "POSTGRESQL", "MARIADB" })
	@DisplayName("MariaDB above READ COMMITTED: a lock within an earlier transaction is refused")
	void oldSnapshot(TestDatabase database) {
		FencedShop shop = FencedShop.open(this.redis, Kind.JDBC, database);
		LockRequest request = LockRequest.of(STOCK).fenced();
		for (int isolation : new int[] { TransactionDefinition.ISOLATION_READ_COMMITTED,
				TransactionDefinition.ISOLATION_REPEATABLE_READ }) {
			TransactionTemplate transaction = new TransactionTemplate(shop.transactions);
			transaction.setIsolationLevel(isolation);
			Runnable sale = () -> shop.locks().withLock(request, () -> shop.write("sale"));
			if (database == TestDatabase.MARIADB && isolation == TransactionDefinition.ISOLATION_REPEATABLE_READ) {
				assertThatIllegalStateException()
					.isThrownBy(() -> transaction.executeWithoutResult((status) -> sale.run()))
					.withMessageContaining("above READ COMMITTED")
					.withMessageContaining("Isolation.READ_COMMITTED");
				assertThat(shop.written()).isEmpty();
			}
			else {
				transaction.executeWithoutResult((status) -> sale.run());
				assertThat(shop.written()).containsExactly("sale");
			}
			// A transaction that begins under the lock reads no older data.
			shop.locks().withLock(request, () -> transaction.executeWithoutResult((status) -> sale.run()));
			assertThat(shop.written()).containsExactly("sale");
		}
		shop.checkNothingLeft();
	}

	@Test
	@DisplayName("Two fenced DataSources: the second refuses within a transaction of the first, which may commit")
	void severalSources() {
		ConfigurableApplicationContext context = TestApplication.start(this.redis, FencedShop.TwoDatabases.class,
				"holdfast.fence.jdbc.data-sources=one,two");
		DataSource one = context.getBean("one", DataSource.class);
		DataSource two = context.getBean("two", DataSource.class);
		TransactionTemplate ofOne = new TransactionTemplate(context.getBean("ofOne", PlatformTransactionManager.class));
		TransactionTemplate ofTwo = new TransactionTemplate(context.getBean("ofTwo", PlatformTransactionManager.class));
		LockService locks = context.getBean(LockService.class);
		LockRequest request = LockRequest.of(STOCK).fenced();
		locks.withLock(request, () -> ofOne
			.executeWithoutResult((status) -> ofTwo.executeWithoutResult((inner) -> write(two, "sale"))));
		assertThat(written(two)).containsExactly("sale");
		assertThatExceptionOfType(LeaseLostException.class).isThrownBy(() -> locks.withLock(request, () -> {
			new JdbcTemplate(two).update("UPDATE holdfast_fence SET token = token + 1");
			ofOne.executeWithoutResult((status) -> {
				write(one, "outer");
				assertThatExceptionOfType(LeaseLostException.class)
					.isThrownBy(() -> ofTwo.executeWithoutResult((inner) -> write(two, "late")));
			});
		}));
		assertThat(written(one)).containsExactly("outer");
		assertThat(written(two)).containsExactly("sale");
		for (DataSource each : List.of(one, two)) {
			assertThat(((HikariDataSource) each).getHikariPoolMXBean().getActiveConnections()).isZero();
		}
	}

	@Test
	@DisplayName("Without the property, the primary manager's DataSource is fenced; the other needs no table")
	void primaryOnly() {
		ConfigurableApplicationContext context = TestApplication.start(this.redis, FencedShop.TwoDatabases.class);
		DataSource two = context.getBean("two", DataSource.class);
		new JdbcTemplate(two).execute("DROP TABLE holdfast_fence");
		TransactionTemplate ofTwo = new TransactionTemplate(context.getBean("ofTwo", PlatformTransactionManager.class));
		context.getBean(LockService.class)
			.withLock(LockRequest.of(STOCK).fenced(), () -> ofTwo.executeWithoutResult((inner) -> write(two, "sale")));
		assertThat(written(two)).containsExactly("sale");
	}

	@Test
	@DisplayName("The rows of the default engine have plain keys, under any bean name; those of another engine have its name")
	void severalEngines() {
		ConfigurableApplicationContext context = TestApplication.start(this.redis, TwoEngines.class, "shop.kind=JDBC",
				"shop.database=H2");
		context.getBean(LockService.class).withLock(LockRequest.of("a").fenced(), () -> {
		});
		context.getBean("ordersLocks", LockService.class).withLock(LockRequest.of("b").fenced(), () -> {
		});
		JdbcTemplate jdbc = new JdbcTemplate(context.getBean(HikariDataSource.class));
		String rows = "SELECT lock_key FROM holdfast_fence";
		String other = "ordersEngine:" + this.redis.keyPrefix() + "b";
		assertThat(jdbc.queryForList(rows, String.class)).containsExactlyInAnyOrder(this.redis.keyPrefix() + "a",
				other);
		context.getBean(Fences.class).reset("a");
		assertThat(jdbc.queryForList(rows, String.class)).containsExactly(other);
	}

	private static void write(DataSource source, String text) {
		new JdbcTemplate(source).update("INSERT INTO sale VALUES (?)", text);
	}

	private static List<String> written(DataSource source) {
		return new JdbcTemplate(source).queryForList("SELECT what FROM sale", String.class);
	}

	@Configuration(proxyBeanMethods = false)
	@Import(FencedShop.Application.class)
	static class TwoEngines {

		@Bean
		LeaseEngine leaseEngine(LeaseEngineFactory engines, RedisConnectionFactory redis) {
			return engines.create(redis);
		}

		@Bean(defaultCandidate = false)
		LeaseEngine ordersEngine(LeaseEngineFactory engines, RedisConnectionFactory redis) {
			return engines.create(redis);
		}

		@Bean(defaultCandidate = false)
		LockService ordersLocks(@Qualifier("ordersEngine") LeaseEngine engine) {
			return new DefaultLockService(engine);
		}

	}

}
