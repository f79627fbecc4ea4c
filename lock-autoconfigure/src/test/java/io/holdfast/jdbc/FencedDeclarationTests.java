package io.holdfast.jdbc;

import java.util.concurrent.CompletableFuture;

import javax.sql.DataSource;

import io.holdfast.LockMode;
import io.holdfast.LockRequest;
import io.holdfast.LockService;
import io.holdfast.annotation.DistributedLock;
import io.holdfast.aop.InvalidDeclarationException;
import io.holdfast.autoconfigure.HoldfastAutoConfiguration;
import io.holdfast.autoconfigure.HoldfastFenceAutoConfiguration;
import io.holdfast.testing.TestApplication;
import io.holdfast.testing.TestTransactions;
import org.h2.jdbcx.JdbcDataSource;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import reactor.core.publisher.Mono;

import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.test.context.FilteredClassLoader;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.core.NestedExceptionUtils;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.support.JdbcTransactionManager;
import org.springframework.transaction.PlatformTransactionManager;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

/**
 * Fenced methods and requests that cannot be fenced, and their messages at the start.
 */
class FencedDeclarationTests {

	private final ApplicationContextRunner runner = TestApplication.runner(HoldfastFenceAutoConfiguration.class);

	private static DataSource database() {
		JdbcDataSource database = new JdbcDataSource();
		database.setUrl("jdbc:h2:mem:declarations;DB_CLOSE_DELAY=-1");
		return database;
	}

	private ApplicationContextRunner withDatabase(String name) {
		DataSource database = database();
		return this.runner.withBean(name, DataSource.class, () -> database)
			.withBean(name + "Transactions", PlatformTransactionManager.class,
					() -> new JdbcTransactionManager(database));
	}

	private static void refused(ApplicationContextRunner runner, String problem, String cure) {
		runner
			.run((context) -> assertThat(NestedExceptionUtils.getRootCause(new Exception(context.getStartupFailure())))
				.isInstanceOfSatisfying(InvalidDeclarationException.class, (ex) -> {
					assertThat(ex.getProblem()).contains("fenced").contains(problem);
					assertThat(ex.getCure()).contains(cure);
				}));
	}

	@Test
	@DisplayName("A fenced method is refused without spring-jdbc, without a manager, and with JTA only")
	void impossible() {
		ApplicationContextRunner fenced = this.runner.withBean(Fenced.class);
		refused(fenced.withClassLoader(new FilteredClassLoader("org.springframework.jdbc")), "there is no bean for it",
				"Add spring-jdbc");
		refused(fenced, "there is no transaction manager for JDBC or JPA", "Add a DataSource");
		refused(fenced.withBean(PlatformTransactionManager.class, TestTransactions::new),
				"no transaction manager tells its DataSource", "Fences.check(lease)");
		DataSource one = database();
		DataSource two = database();
		refused(fenced.withBean("one", PlatformTransactionManager.class, () -> new JdbcTransactionManager(one))
			.withBean("two", PlatformTransactionManager.class, () -> new JdbcTransactionManager(two)),
				"none of several is primary", "holdfast.fence.jdbc.data-sources");
		refused(fenced.withBean("database", DataSource.class, () -> one)
			.withPropertyValues("holdfast.fence.jdbc.data-sources=database"),
				"the DataSource 'database' has no transaction manager of its own", "Fences.check(lease)");
	}

	@Test
	@DisplayName("A fenced method of a child context works with the lock service and the DataSource of the parent")
	void ofParent() {
		withDatabase("shop").run((parent) -> this.runner.withParent(parent).withBean(Fenced.class).run((child) -> {
			assertThat(child).hasNotFailed();
			assertThat(child.getBeanFactory().getBeanNamesForType(LockService.class)).isEmpty();
			JdbcTemplate jdbc = new JdbcTemplate(parent.getBean(DataSource.class));
			jdbc.update("DELETE FROM holdfast_fence");
			child.getBean(Fenced.class).sell();
			assertThat(jdbc.queryForList("SELECT lock_key FROM holdfast_fence", String.class)).hasSize(1);
		}));
	}

	@Test
	@DisplayName("A fenced method is refused with a DataSource of a child context and the lock service of its parent")
	void ofChild() {
		String problem = "the LockService is a bean of a parent context, which has no transaction manager of the"
				+ " DataSource 'orders'";
		String cure = "Define the DataSource and its transaction manager in that context";
		ApplicationContextRunner child = withDatabase("orders").withBean(Fenced.class);
		this.runner.run((parent) -> refused(child.withParent(parent), problem, cure));
		withDatabase("shop").run((parent) -> refused(child.withParent(parent), problem, cure));
		new ApplicationContextRunner().withConfiguration(AutoConfigurations.of(HoldfastAutoConfiguration.class))
			.withPropertyValues("holdfast.backend=memory")
			.run((parent) -> refused(child.withParent(parent), problem, cure));
		this.runner.run((parent) -> refused(this.runner.withBean(Fenced.class).withParent(parent),
				"there is no transaction manager for JDBC or JPA in the context of the LockService",
				"Add a DataSource to it"));
	}

	@Test
	@DisplayName("A fenced method that the declared type of its bean hides is refused, unless the check of the table is set")
	void hidden() {
		ApplicationContextRunner hidden = withDatabase("shop").withBean(Runnable.class, HiddenFenced::new);
		refused(hidden, "the declared type of the bean hides the method", "set holdfast.fence.jdbc.enabled=true");
		for (boolean enabled : new boolean[] { true, false }) {
			hidden.withPropertyValues("holdfast.fence.jdbc.enabled=" + enabled)
				.run((context) -> assertThat(context).hasNotFailed());
		}
		hidden.withBean(Fenced.class).run((context) -> assertThat(context).hasNotFailed());
	}

	@Test
	@DisplayName("A fenced method is refused with READ, and if its code leaves the thread")
	void wrongPlaces() {
		refused(withDatabase("shop").withBean(FencedReader.class), "mode = READ are both given",
				"Leave one of them out");
		refused(withDatabase("shop").withBean(FencedFuture.class), "leaves the thread",
				"returns when its work is done");
		refused(withDatabase("shop").withBean(FencedMono.class), "leaves the thread", "returns when its work is done");
	}

	@Test
	@DisplayName("A fenced request without code is refused, with the way to go")
	void requests() {
		assertThatIllegalArgumentException().isThrownBy(() -> LockRequest.of("stock").mode(LockMode.READ).fenced())
			.withMessageContaining("'stock' is fenced and of mode READ");
		assertThatIllegalArgumentException().isThrownBy(() -> LockRequest.of("stock").fenced().mode(LockMode.READ));
		assertThat(LockRequest.of("stock").fenced()).isNotEqualTo(LockRequest.of("stock"))
			.hasToString(LockRequest.of("stock").toString().replace("]", ", fenced]"));
		withDatabase("shop").run((context) -> {
			LockService locks = context.getBean(LockService.class);
			LockRequest request = LockRequest.of("stock").fenced();
			for (Runnable way : new Runnable[] { () -> locks.acquire(request), () -> locks.tryAcquire(request),
					() -> locks.acquireAsync(request), () -> locks.tryAcquireAsync(request),
					() -> locks.asLock(request), () -> locks.asReadWriteLock(request),
					() -> locks.withLockAsync(request, () -> CompletableFuture.completedFuture("")) }) {
				assertThatIllegalArgumentException().isThrownBy(way::run)
					.withMessageContaining("use withLock(request, code)")
					.withMessageContaining("Fences.check(lease)");
			}
			assertThat(locks.status("stock").isLocked()).isFalse();
		});
		this.runner.run((context) -> assertThatIllegalStateException()
			.isThrownBy(() -> context.getBean(LockService.class).withLock(LockRequest.of("stock").fenced(), () -> {
			}))
			.withMessageContaining("No DataSource is fenced: there is no transaction manager for JDBC or JPA"));
		this.runner.withClassLoader(new FilteredClassLoader("org.springframework.jdbc"))
			.run((context) -> assertThatIllegalStateException()
				.isThrownBy(() -> context.getBean(LockService.class).withLock(LockRequest.of("stock").fenced(), () -> {
				}))
				.withMessageContaining("spring-jdbc"));
	}

	/** Fenced method. Public, as a proxy may belong to another class loader. */
	public static class Fenced {

		@DistributedLock(fenced = true)
		public void sell() {
		}

	}

	/** Fenced method of an interface. */
	static class HiddenFenced implements Runnable {

		@Override
		@DistributedLock(fenced = true)
		public void run() {
		}

	}

	static class FencedReader {

		@DistributedLock(fenced = true, mode = LockMode.READ)
		public void look() {
		}

	}

	/** Fenced method whose code may run on another thread. */
	static class FencedFuture {

		@DistributedLock(fenced = true)
		public CompletableFuture<String> sell() {
			return CompletableFuture.completedFuture("sold");
		}

	}

	/** Fenced method whose code runs at a subscription. */
	static class FencedMono {

		@DistributedLock(fenced = true)
		public Mono<String> sell() {
			return Mono.just("sold");
		}

	}

}
