package io.holdfast.jdbc;

import java.util.ArrayList;
import java.util.List;
import java.util.Objects;

import javax.sql.DataSource;

import com.zaxxer.hikari.HikariDataSource;
import io.holdfast.LeaseLostException;
import io.holdfast.LockLease;
import io.holdfast.LockRequest;
import io.holdfast.LockService;
import io.holdfast.annotation.DistributedLock;
import io.holdfast.annotation.OnLoss;
import io.holdfast.jdbc.FencedShop.Kind;
import io.holdfast.testing.RedisTestCase;
import io.holdfast.testing.TestApplication;
import io.holdfast.testing.TestDatabase;
import jakarta.persistence.EntityManagerFactory;
import org.hibernate.jpa.HibernatePersistenceProvider;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

import org.springframework.beans.factory.annotation.Qualifier;
import org.springframework.boot.context.properties.source.InvalidConfigurationPropertyValueException;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.context.annotation.Primary;
import org.springframework.dao.DataAccessException;
import org.springframework.dao.InvalidDataAccessResourceUsageException;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.support.JdbcTransactionManager;
import org.springframework.orm.jpa.JpaTransactionManager;
import org.springframework.orm.jpa.LocalContainerEntityManagerFactoryBean;
import org.springframework.orm.jpa.persistenceunit.PersistenceManagedTypes;
import org.springframework.orm.jpa.vendor.HibernateJpaVendorAdapter;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.TransactionDefinition;
import org.springframework.transaction.TransactionManager;
import org.springframework.transaction.annotation.EnableTransactionManagement;
import org.springframework.transaction.annotation.TransactionManagementConfigurer;
import org.springframework.transaction.annotation.Transactional;
import org.springframework.transaction.support.TransactionTemplate;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatException;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

/**
 * Ways past a fence, or into a wait of a call for itself, found by experiment: unusual
 * transactions, managers and configurations.
 */
class FenceGapTests extends RedisTestCase {

	private static final LockRequest STOCK = LockRequest.of("stock").fenced();

	@Test
	@DisplayName("A nested lock in REQUIRES_NEW does not wait for the suspended transaction of the same lease")
	void nestedLockInRequiresNew() {
		FencedShop shop = FencedShop.open(this.redis, Kind.JDBC, "holdfast.fence.jdbc.timeout=2s");
		Fences fences = shop.context.getBean(Fences.class);
		shop.sales.sell(() -> {
			shop.write("outer");
			shop.works.requiresNew(() -> shop.sales.sell(() -> shop.write("annotated")));
			LockLease lease = LockLease.current();
			shop.works.requiresNew(() -> {
				fences.check(lease);
				shop.write("by hand");
			});
		});
		assertThat(shop.written()).containsExactly("annotated", "by hand", "outer");
		shop.checkNothingLeft();
	}

	@ParameterizedTest
	@EnumSource
	@DisplayName("A token whose raise was rolled back to a savepoint is raised by the next transaction under the lock")
	void savepoint(TestDatabase database) {
		FencedShop shop = FencedShop.open(this.redis, Kind.JDBC, database);
		TransactionTemplate nested = transaction(shop, TransactionDefinition.PROPAGATION_NESTED);
		TransactionTemplate separate = transaction(shop, TransactionDefinition.PROPAGATION_REQUIRES_NEW);
		LockRequest kept = LockRequest.of("kept").fenced();
		transaction(shop, TransactionDefinition.PROPAGATION_REQUIRED).executeWithoutResult((outer) -> {
			shop.locks().withLock(kept, () -> shop.write("outer"));
			nested.executeWithoutResult((status) -> {
				shop.locks().withLock(STOCK, () -> shop.write("nested"));
				status.setRollbackOnly();
			});
			separate.executeWithoutResult((status) -> shop.locks().withLock(STOCK, () -> shop.write("stock")));
			separate.executeWithoutResult((status) -> shop.locks().withLock(kept, () -> shop.write("kept")));
		});
		assertThat(shop.written()).containsExactly("kept", "outer", "stock");
		assertThat(shop.jdbc.queryForList("SELECT token FROM holdfast_fence")).as("raised tokens").hasSize(2);
		shop.checkNothingLeft();
	}

	private static TransactionTemplate transaction(FencedShop shop, int propagation) {
		TransactionTemplate transaction = new TransactionTemplate(shop.transactions);
		transaction.setPropagationBehavior(propagation);
		transaction.setIsolationLevel(TransactionDefinition.ISOLATION_READ_COMMITTED);
		return transaction;
	}

	@ParameterizedTest
	@EnumSource
	@DisplayName("A lock within a read-only transaction that has begun before is refused above READ COMMITTED")
	void oldReadOnlySnapshot(TestDatabase database) {
		FencedShop shop = FencedShop.open(this.redis, Kind.JDBC, database);
		shop.jdbc.execute("CREATE TABLE stock (items INT)");
		shop.jdbc.update("INSERT INTO stock VALUES (100)");
		JdbcTemplate inside = new JdbcTemplate(shop.pool);
		Runnable sale = () -> {
			int items = inside.queryForObject("SELECT items FROM stock", Integer.class);
			shop.works.requiresNew(() -> inside.update("UPDATE stock SET items = ?", items - 1));
		};
		readOnly(shop, TransactionDefinition.ISOLATION_REPEATABLE_READ, () -> {
			inside.queryForObject("SELECT items FROM stock", Integer.class);
			// As the previous holder.
			shop.jdbc.update("UPDATE stock SET items = 99");
			assertThatIllegalStateException().isThrownBy(() -> shop.locks().withLock(STOCK, sale::run))
				.withMessageContaining("Isolation.READ_COMMITTED");
			assertThatIllegalStateException()
				.isThrownBy(() -> shop.context.getBean(Fences.class).raise(shop.locks().acquire("other")));
		});
		readOnly(shop, TransactionDefinition.ISOLATION_READ_COMMITTED, () -> shop.locks().withLock(STOCK, sale::run));
		assertThat(shop.jdbc.queryForObject("SELECT items FROM stock", Integer.class)).isEqualTo(98);
		shop.checkNothingLeft();
	}

	@ParameterizedTest
	@EnumSource
	@DisplayName("A nested lock within a read-only transaction of the same lease is not refused")
	void readOnlyUnderLock(TestDatabase database) {
		FencedShop shop = FencedShop.open(this.redis, Kind.JDBC, database);
		Runnable nested = () -> shop.locks().withLock(STOCK, () -> shop.works.requiresNew(() -> shop.write("sale")));
		shop.locks().withLock(STOCK, () -> readOnly(shop, TransactionDefinition.ISOLATION_REPEATABLE_READ, nested));
		assertThat(shop.written()).containsExactly("sale");
		shop.checkNothingLeft();
	}

	private static void readOnly(FencedShop shop, int isolation, Runnable body) {
		TransactionTemplate transaction = new TransactionTemplate(shop.transactions);
		transaction.setReadOnly(true);
		transaction.setIsolationLevel(isolation);
		transaction.executeWithoutResult((status) -> body.run());
	}

	@ParameterizedTest
	@EnumSource(names = { "POSTGRESQL", "MARIADB" })
	@DisplayName("A write that joins a read-only transaction is refused by the database itself")
	void writeInReadOnly(TestDatabase database) {
		FencedShop shop = FencedShop.open(this.redis, Kind.JDBC, database);
		assertThatExceptionOfType(DataAccessException.class).isThrownBy(() -> shop.sales.locked(() -> {
			shop.overtake("stock");
			shop.works.readOnly(() -> shop.works.required(() -> shop.write("late")));
			return null;
		}));
		assertThat(shop.written()).isEmpty();
	}

	@Test
	@DisplayName("The token is raised for a method whose class uses the manager of another database")
	void managerOfClass() {
		ConfigurableApplicationContext context = TestApplication.start(this.redis, OfClass.class);
		JdbcTemplate one = new JdbcTemplate(context.getBean("one", DataSource.class));
		context.getBean(OtherSales.class)
			.sell(() -> assertThat(one.queryForList("SELECT token FROM holdfast_fence")).hasSize(1));
	}

	@Test
	@DisplayName("A transaction is refused if its manager hides the connection")
	void hiddenConnection() {
		ConfigurableApplicationContext context = TestApplication.start(this.redis, Hidden.class);
		List<String> ran = new ArrayList<>();
		assertThatIllegalStateException().isThrownBy(() -> context.getBean(Sales.class).sell(() -> ran.add("body")))
			.withMessageContaining("does not show the connection");
		assertThat(ran).isEmpty();
		checkReleased(context);
	}

	@Test
	@DisplayName("A method is refused if its manager has lost the listener")
	void replacedListeners() {
		ConfigurableApplicationContext context = TestApplication.start(this.redis, One.class);
		context.getBean(JdbcTransactionManager.class).setTransactionExecutionListeners(List.of());
		List<String> ran = new ArrayList<>();
		assertThatIllegalStateException().isThrownBy(() -> context.getBean(Sales.class).sell(() -> ran.add("body")))
			.withMessageContaining("leave the listeners of the manager in place");
		assertThat(ran).isEmpty();
		checkReleased(context);
	}

	@Test
	@DisplayName("A call without the fence table fails with the table and the property, and holds no lock")
	void tableIsGone() {
		ConfigurableApplicationContext context = TestApplication.start(this.redis, One.class);
		new JdbcTemplate(context.getBean("one", DataSource.class)).execute("DROP TABLE holdfast_fence");
		List<String> ran = new ArrayList<>();
		assertThatExceptionOfType(InvalidDataAccessResourceUsageException.class)
			.isThrownBy(() -> context.getBean(Sales.class).sell(() -> ran.add("body")))
			.withMessageContainingAll("'one'", "has no fence table holdfast_fence", "holdfast.fence.jdbc.enabled=true");
		assertThat(ran).isEmpty();
		checkReleased(context);
		LockService locks = context.getBean(LockService.class);
		assertThat(locks.status("stock").isLocked()).isFalse();
	}

	@Test
	@DisplayName("A refusal that interrupts the thread leaves no connection in use")
	void interrupted() {
		ConfigurableApplicationContext context = TestApplication.start(this.redis, One.class);
		JdbcTemplate jdbc = new JdbcTemplate(context.getBean("one", DataSource.class));
		TransactionTemplate inner = new TransactionTemplate(context.getBean(PlatformTransactionManager.class));
		List<String> ran = new ArrayList<>();
		assertThatExceptionOfType(LeaseLostException.class)
			.isThrownBy(() -> context.getBean(Sales.class).interrupted(() -> {
				jdbc.update("UPDATE holdfast_fence SET token = token + 64");
				inner.executeWithoutResult((status) -> ran.add("late"));
			}));
		assertThat(ran).isEmpty();
		assertThat(Thread.interrupted()).isFalse();
		checkReleased(context);
	}

	@Test
	@DisplayName("Managers that are created later are found")
	void lazyManagers() {
		ConfigurableApplicationContext context = TestApplication.start(this.redis, FencedShop.TwoDatabases.class,
				"holdfast.fence.jdbc.data-sources=one,two", "spring.main.lazy-initialization=true");
		assertThatCode(() -> context.getBean(LockService.class).withLock(STOCK, () -> {
		})).doesNotThrowAnyException();
	}

	@ParameterizedTest
	@ValueSource(strings = { "jdbc", "jpa" })
	@DisplayName("With managers of both kinds, the token is raised within a read-only transaction of either")
	void managersOfBothKinds(String outer) {
		ConfigurableApplicationContext context = TestApplication.start(this.redis, Both.class);
		TransactionTemplate readOnly = new TransactionTemplate(
				context.getBean(outer, PlatformTransactionManager.class));
		readOnly.setReadOnly(true);
		List<String> ran = new ArrayList<>();
		readOnly.executeWithoutResult(
				(status) -> context.getBean(LockService.class).withLock(STOCK, () -> ran.add("body")));
		assertThat(ran).containsExactly("body");
		checkReleased(context);
	}

	@Test
	@DisplayName("An unknown name of a DataSource, and a wait that is too short, are refused with the property")
	void configuration() {
		assertThatException()
			.isThrownBy(() -> TestApplication.start(this.redis, One.class, "holdfast.fence.jdbc.data-sources=none"))
			.havingRootCause()
			.isInstanceOf(InvalidConfigurationPropertyValueException.class)
			.withMessageContaining("holdfast.fence.jdbc.data-sources");
		LockService locks = TestApplication
			.start(this.redis, FencedShop.TwoDatabases.class, "holdfast.fence.jdbc.timeout=-1s")
			.getBean(LockService.class);
		assertThatExceptionOfType(InvalidConfigurationPropertyValueException.class)
			.isThrownBy(() -> locks.withLock(STOCK, () -> {
			}))
			.withMessageContaining("holdfast.fence.jdbc.timeout");
	}

	private static void checkReleased(ConfigurableApplicationContext context) {
		HikariDataSource pool = context.getBean("one", HikariDataSource.class);
		assertThat(pool.getHikariPoolMXBean().getActiveConnections()).isZero();
	}

	private static EntityManagerFactory entities(LocalContainerEntityManagerFactoryBean factory, DataSource source) {
		factory.setDataSource(source);
		factory.setPersistenceUnitName("shop");
		factory.setManagedTypes(PersistenceManagedTypes.of());
		factory.afterPropertiesSet();
		return Objects.requireNonNull(factory.getObject());
	}

	static class Sales {

		@DistributedLock(key = "'stock'", fenced = true)
		@Transactional
		public void sell(Runnable body) {
			body.run();
		}

		@DistributedLock(key = "'stock'", fenced = true, onLoss = OnLoss.INTERRUPT)
		public void interrupted(Runnable body) {
			body.run();
		}

	}

	@Qualifier("ofTwo")
	static class OtherSales extends Sales {

	}

	@Configuration(proxyBeanMethods = false)
	@EnableTransactionManagement
	@Import({ TestApplication.class, Sales.class })
	static class One {

		@Bean
		HikariDataSource one() {
			return FencedShop.database();
		}

		@Bean
		JdbcTransactionManager transactionManager(DataSource one) {
			return new JdbcTransactionManager(one);
		}

	}

	/** Manager for all methods, except methods of a class with another manager. */
	@Configuration(proxyBeanMethods = false)
	@EnableTransactionManagement
	@Import(OtherSales.class)
	static class OfClass extends FencedShop.TwoDatabases {

		@Bean
		TransactionManagementConfigurer configurer(@Qualifier("ofOne") TransactionManager one) {
			return () -> one;
		}

	}

	/** JPA without the adapter of its vendor. */
	@Configuration(proxyBeanMethods = false)
	@EnableTransactionManagement
	@Import({ TestApplication.class, Sales.class })
	static class Hidden {

		@Bean
		HikariDataSource one() {
			return FencedShop.database();
		}

		@Bean
		JpaTransactionManager transactionManager(DataSource one) {
			LocalContainerEntityManagerFactoryBean factory = new LocalContainerEntityManagerFactoryBean();
			factory.setPersistenceProviderClass(HibernatePersistenceProvider.class);
			return new JpaTransactionManager(entities(factory, one));
		}

	}

	/** Two managers of a database. */
	@Configuration(proxyBeanMethods = false)
	@Import(TestApplication.class)
	static class Both {

		@Bean
		HikariDataSource one() {
			return FencedShop.database();
		}

		@Bean
		@Primary
		JpaTransactionManager jpa(DataSource one) {
			LocalContainerEntityManagerFactoryBean factory = new LocalContainerEntityManagerFactoryBean();
			factory.setJpaVendorAdapter(new HibernateJpaVendorAdapter());
			return new JpaTransactionManager(entities(factory, one));
		}

		@Bean
		JdbcTransactionManager jdbc(DataSource one) {
			return new JdbcTransactionManager(one);
		}

	}

}
