package io.holdfast.autoconfigure;

import java.io.IOException;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import java.util.function.Supplier;

import io.holdfast.KeyNamespace;
import io.holdfast.LeaseContext;
import io.holdfast.LockLease;
import io.holdfast.LockMode;
import io.holdfast.LockNotAcquiredException;
import io.holdfast.LockRequest;
import io.holdfast.LockService;
import io.holdfast.LockView;
import io.holdfast.PermitLease;
import io.holdfast.ReadWriteLockView;
import io.holdfast.SemaphoreRequest;
import io.holdfast.SemaphoreService;
import io.holdfast.actuate.LocksEndpoint;
import io.holdfast.actuate.SemaphoresEndpoint;
import io.holdfast.annotation.DistributedLock;
import io.holdfast.annotation.Semaphore;
import io.holdfast.engine.DefaultLockService;
import io.holdfast.engine.DefaultSemaphoreService;
import io.holdfast.engine.LeaseEngine;
import io.holdfast.reactive.ReactiveLeaseContext;
import io.holdfast.reactive.ReactiveLockService;
import io.holdfast.testing.CallScope;
import io.holdfast.testing.TestApplication;
import io.holdfast.testing.TestRedis;
import io.holdfast.testing.WithRedis;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import reactor.core.publisher.Mono;

import org.springframework.beans.factory.support.ScopeNotActiveException;
import org.springframework.boot.actuate.endpoint.SecurityContext;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.ApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.data.redis.core.StringRedisTemplate;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

/**
 * Applications with a {@link KeyNamespace}: here, the tenant of a thread.
 */
@WithRedis
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class KeyNamespaceTests {

	private static final ThreadLocal<@Nullable String> TENANT = new ThreadLocal<>();

	private final TestRedis redis;

	private final ApplicationContextRunner withoutNamespace;

	private final ApplicationContextRunner runner;

	/** Application with the namespace, for all tests. */
	private final ApplicationContext context;

	KeyNamespaceTests(TestRedis redis) {
		this.redis = redis;
		this.withoutNamespace = TestApplication.runner(redis, HoldfastReactiveAutoConfiguration.class)
			.withPropertyValues("holdfast.redis.command-timeout=5s")
			.withBean(Shop.class);
		this.runner = this.withoutNamespace.withBean(KeyNamespace.class, () -> KeyNamespaceTests::tenant);
		this.context = TestApplication.start(redis, Application.class, "holdfast.redis.command-timeout=5s");
	}

	@BeforeEach
	void enter() {
		TENANT.set("acme");
	}

	@AfterEach
	void forget() {
		TENANT.remove();
	}

	private static String tenant() {
		String tenant = TENANT.get();
		if (tenant == null) {
			throw new IllegalStateException("There is no tenant");
		}
		return tenant.equals("null") ? nothing() : tenant;
	}

	@SuppressWarnings("NullAway")
	private static String nothing() {
		return null;
	}

	private void run(Consumer<ApplicationContext> test) {
		test.accept(this.context);
	}

	private static LockService locks(ApplicationContext context) {
		return context.getBean(LockService.class);
	}

	private static SemaphoreService semaphores(ApplicationContext context) {
		return context.getBean(SemaphoreService.class);
	}

	private static <T> T as(String tenant, Supplier<T> code) {
		String before = TENANT.get();
		TENANT.set(tenant);
		try {
			return code.get();
		}
		finally {
			TENANT.set(before);
		}
	}

	@Test
	@DisplayName("A namespace beside the services of a parent context is refused, as the services would not have it")
	void childContext() {
		this.withoutNamespace.run((parent) -> {
			this.runner.withParent(parent)
				.run((child) -> assertThat(child).getFailure()
					.hasMessageContaining(
							"would not prefix the keys of the LockService, which is a bean of a parent context"));
			this.withoutNamespace.withParent(parent).run((child) -> assertThat(child).hasNotFailed());
		});
		this.runner
			.run((parent) -> this.withoutNamespace.withParent(parent).run((child) -> assertThat(child).hasNotFailed()));
	}

	@Test
	@DisplayName("Services that an application creates inside its own beans have the namespace, endpoints have none")
	void ownServices() {
		this.runner.withUserConfiguration(OwnServices.class).run((context) -> {
			try (LockLease lease = locks(context).acquire("a");
					PermitLease permit = semaphores(context).acquire(SemaphoreRequest.of("a", 1))) {
				assertThat(lease.key()).isEqualTo("acme:a");
				assertThat(permit.key()).isEqualTo("acme:a");
			}
			assertThat(context.getBean(Shop.class).sell("1")).containsExactly("acme:stock:1", "acme:warehouse");
			LeaseEngine engine = context.getBean(LeaseEngine.class);
			try (LockLease lease = locks(context).acquire("a")) {
				new LocksEndpoint(engine).release("acme:a", null, SecurityContext.NONE);
				assertThat(lease.isHeld()).isFalse();
			}
			new SemaphoresEndpoint(engine).limit("acme:a", 7, null, SecurityContext.NONE);
			assertThat(semaphores(context).status("a").limit()).isEqualTo(7);
		});
	}

	@Test
	@DisplayName("The same key of two tenants is two locks, under whole keys in Redis")
	void locks() {
		run((context) -> {
			LockService locks = locks(context);
			LockRequest once = LockRequest.of("a").waitTime(Duration.ZERO).reentrant(false);
			try (LockLease lease = locks.acquire("a")) {
				assertThat(lease.key()).isEqualTo("acme:a");
				assertThat(context.getBean(StringRedisTemplate.class).hasKey(this.redis.keyPrefix() + "acme:a"))
					.isTrue();
				assertThatExceptionOfType(LockNotAcquiredException.class).isThrownBy(() -> locks.acquire(once))
					.withMessageContaining("'acme:a'");
				assertThat(locks.tryAcquire(once)).isEmpty();
				assertThat(locks.acquireAsync(once)).failsWithin(10, TimeUnit.SECONDS)
					.withThrowableOfType(ExecutionException.class);
				assertThat(locks.tryAcquireAsync(once).join()).isEmpty();
				as("other", () -> {
					locks.acquire(once).close();
					locks.acquireAsync(once).join().close();
					assertThat(locks.tryAcquire(once)).hasValueSatisfying(LockLease::close);
					assertThat(locks.tryAcquireAsync(once).join()).hasValueSatisfying(LockLease::close);
					assertThat(locks.status("a").isLocked()).isFalse();
					return locks.admin().forceRelease("a");
				});
				assertThat(locks.status("a").key()).isEqualTo("acme:a");
				assertThat(locks.status("a").isLocked()).isTrue();
				assertThat(locks.admin().forceRelease("a", LockMode.READ)).isFalse();
				assertThat(as("other", () -> locks.admin().forceRelease("a", LockMode.EXCLUSIVE))).isFalse();
				assertThat(locks.admin().forceRelease("a", LockMode.EXCLUSIVE)).isTrue();
			}
			try (LockLease lease = locks.acquire("b")) {
				assertThat(locks.admin().forceRelease("b")).isTrue();
				assertThat(lease.isHeld()).isFalse();
			}
		});
	}

	@Test
	@DisplayName("A view belongs to the namespace of its creation, on any thread")
	void views() {
		run((context) -> {
			LockService locks = locks(context);
			LockView view = locks.asLock("a");
			assertThat(view).isEqualTo(locks.asLock("a")).isNotEqualTo(as("other", () -> locks.asLock("a")));
			TENANT.remove();
			view.lock();
			assertThat(view.isLocked()).isTrue();
			assertThat(view.isHeldByCurrentThread()).isTrue();
			view.unlock();
			TENANT.set("acme");
			ReadWriteLockView pair = locks.asReadWriteLock("b");
			TENANT.remove();
			pair.writeLock().lock();
			assertThat(as("acme", () -> locks.status("b").isLocked())).isTrue();
			pair.writeLock().unlock();
		});
	}

	@Test
	@DisplayName("Semaphores, their limits and forced releases belong to the tenant")
	void semaphores() {
		run((context) -> {
			SemaphoreService semaphores = semaphores(context);
			SemaphoreRequest one = SemaphoreRequest.of("s", 1);
			try (PermitLease permit = semaphores.acquire(one)) {
				assertThat(permit.key()).isEqualTo("acme:s");
				assertThat(semaphores.tryAcquire(one)).isEmpty();
				assertThat(semaphores.tryAcquireAsync(one).join()).isEmpty();
				as("other", () -> {
					assertThat(semaphores.tryAcquire(one)).hasValueSatisfying(PermitLease::close);
					semaphores.acquireAsync(one).join().close();
					semaphores.admin().setLimit("s", 7);
					return semaphores.admin().forceRelease("s");
				});
				assertThat(semaphores.status("s").limit()).isEqualTo(1);
				assertThat(as("other", () -> semaphores.status("s").limit())).isEqualTo(7);
				assertThat(semaphores.admin().clearLimit("s")).isFalse();
				assertThat(as("other", () -> semaphores.admin().clearLimit("s"))).isTrue();
				assertThat(semaphores.admin().forceRelease("s")).isTrue();
			}
		});
	}

	@Test
	@DisplayName("Annotated methods of each kind are in the caller's namespace, with all locks that they acquire later")
	void annotations() {
		run((context) -> {
			Shop shop = context.getBean(Shop.class);
			assertThat(shop.sell("1")).containsExactly("acme:stock:1", "acme:warehouse");
			assertThat(shop.sellAsync("1").join()).containsExactly("acme:stock:1", "acme:warehouse");
			Mono<List<String>> chain = shop.sellReactive("1");
			TENANT.remove();
			assertThat(chain.block()).containsExactly("acme:stock:1", "acme:warehouse");
			assertThatIllegalStateException().isThrownBy(() -> shop.sell("1")).withMessage("There is no tenant");
			assertThat(shop.sellAsync("1")).failsWithin(10, TimeUnit.SECONDS)
				.withThrowableThat()
				.withMessageContaining("There is no tenant");
			assertThatIllegalStateException().isThrownBy(() -> shop.sellReactive("1").block())
				.withMessage("There is no tenant");
		});
	}

	@Test
	@DisplayName("A reactive service is in the namespace of the thread that subscribes")
	void reactive() {
		run((context) -> {
			Mono<String> chain = context.getBean(ReactiveLockService.class)
				.withLock("a", ReactiveLeaseContext.current().map((leases) -> leases.lock().key()));
			String key = as("other", () -> chain.block());
			assertThat(key).isEqualTo("other:a");
		});
	}

	@Test
	@DisplayName("Further subscriptions to a method's result stay in the namespace of the call")
	void resubscribed() {
		run((context) -> {
			Shop shop = context.getBean(Shop.class);
			Mono<List<String>> sold = shop.sellReactive("1");
			AtomicBoolean stocked = new AtomicBoolean();
			Mono<List<String>> conditional = shop.sellStocked("1", stocked);
			stocked.set(true);
			List<String> keys = List.of("acme:stock:1", "acme:warehouse");
			for (String later : List.of("other", "null")) {
				assertThat(as(later, () -> sold.block())).isEqualTo(keys);
				assertThat(as(later, () -> sold.block())).isEqualTo(keys);
			}
			assertThat(as("other", () -> conditional.block())).isEmpty();
			assertThat(as("other", () -> conditional.block())).containsExactly("acme:stock:1");
		});
	}

	@Test
	@DisplayName("A call with a false condition needs no namespace; a later subscription under the lock fails")
	void resubscribedWithout() {
		run((context) -> {
			TENANT.remove();
			AtomicBoolean stocked = new AtomicBoolean();
			Mono<List<String>> sold = context.getBean(Shop.class).sellStocked("1", stocked);
			assertThat(sold.block()).isEmpty();
			stocked.set(true);
			assertThatIllegalStateException().isThrownBy(() -> as("other", () -> sold.block()))
				.withMessage("There is no tenant");
		});
	}

	@Test
	@DisplayName("A request's own namespace takes precedence, and an empty namespace is common to all")
	void ofRequest() {
		run((context) -> {
			LockService locks = locks(context);
			LockRequest both = LockRequest.ofAll(List.of("b", "a")).namespace("other");
			assertThat(both.keys()).containsExactly("other:a", "other:b");
			assertThat(both.only("c").key()).isEqualTo("other:c");
			TENANT.remove();
			try (LockLease lease = locks.acquire(both)) {
				assertThat(lease.fencingToken("other:a")).isPositive();
			}
			locks.withLock(LockRequest.of("a").namespace(""),
					() -> assertThat(LockLease.current().key()).isEqualTo("a"));
			semaphores(context).withPermits(SemaphoreRequest.of("s", 1).namespace("").only("t"),
					() -> assertThat(PermitLease.current().key()).isEqualTo("t"));
			assertThat(as("", () -> locks.status("a").key())).isEqualTo("a");
			assertThatIllegalStateException().isThrownBy(() -> both.namespace("third"))
				.withMessageContaining("'other' already");
		});
	}

	@Test
	@DisplayName("A namespace that is null, blank, too long or invalid in a key is refused, with its value")
	void refuses() {
		run((context) -> {
			LockService locks = locks(context);
			TENANT.set("null");
			assertThatIllegalArgumentException().isThrownBy(() -> locks.acquire("a"))
				.withMessageContaining("namespace of lock 'a' is null");
			TENANT.set(" ");
			assertThatIllegalArgumentException().isThrownBy(() -> locks.acquire("a"))
				.withMessageContaining("namespace of lock 'a' is blank");
			// With a colon, "acme:eu" and "a" would give the key of "acme" and "eu:a".
			TENANT.set("acme:eu");
			assertThatIllegalArgumentException().isThrownBy(() -> locks.acquire("a"))
				.withMessageContaining("namespace of lock 'a' is 'acme:eu', which has a colon");
			TENANT.set("x".repeat(1023));
			assertThatIllegalArgumentException().isThrownBy(() -> locks.status("a"))
				.withMessageContaining("1025 characters");
			TENANT.set("a\nb");
			assertThatIllegalArgumentException()
				.isThrownBy(() -> semaphores(context).tryAcquire(SemaphoreRequest.of("s", 1)))
				.withMessageContaining("control character");
		});
	}

	@Test
	@DisplayName("Without a current namespace, each kind of call fails in its way, and nothing is acquired")
	void missing() {
		run((context) -> {
			TENANT.remove();
			LockService locks = locks(context);
			for (Runnable call : List.<Runnable>of(() -> locks.acquire("a"), () -> locks.withLock("a", () -> {
			}), () -> locks.asLock("a"), () -> locks.status("a"), () -> locks.admin().forceRelease("a"),
					() -> semaphores(context).tryAcquire(SemaphoreRequest.of("a")),
					() -> semaphores(context).admin().setLimit("a", 1))) {
				assertThatIllegalStateException().isThrownBy(call::run).withMessage("There is no tenant");
			}
			Mono<?> acquired = context.getBean(ReactiveLockService.class).acquire("a");
			assertThatIllegalStateException().isThrownBy(acquired::block).withMessage("There is no tenant");
			TENANT.set("acme");
			assertThat(context.getBean(Shop.class).sell("a")).hasSize(2);
		});
	}

	@Test
	@DisplayName("A scoped namespace without a proxy is resolved for each call; outside of its scope nothing is acquired")
	void ofScope() {
		TENANT.remove();
		this.withoutNamespace.withInitializer(
				(context) -> context.getBeanFactory().registerScope("tenant", new CallScope(KeyNamespaceTests::tenant)))
			.withBean(KeyNamespace.class, () -> {
				String tenant = tenant();
				return () -> tenant;
			}, (definition) -> definition.setScope("tenant"))
			.run((context) -> {
				Shop shop = context.getBean(Shop.class);
				for (String tenant : List.of("acme", "other")) {
					TENANT.set(tenant);
					assertThat(shop.sell("1")).containsExactly(tenant + ":stock:1", tenant + ":warehouse");
					assertThat(locks(context).status("a").key()).isEqualTo(tenant + ":a");
					assertThat(semaphores(context).status("s").key()).isEqualTo(tenant + ":s");
				}
				TENANT.remove();
				for (Runnable call : List.<Runnable>of(() -> shop.sell("1"), () -> locks(context).acquire("a"),
						() -> semaphores(context).status("s"))) {
					assertThatExceptionOfType(ScopeNotActiveException.class).isThrownBy(call::run);
				}
			});
	}

	@Test
	@DisplayName("Any exception of a namespace is a failure of the returned future or chain")
	void throwsAnything() {
		for (Throwable thrown : List.of(new IOException("no tenant"), new AssertionError("no tenant"))) {
			this.withoutNamespace.withBean(KeyNamespace.class, () -> () -> {
				throw KeyNamespaceTests.<RuntimeException>asUnchecked(thrown);
			}).run((context) -> {
				Shop shop = context.getBean(Shop.class);
				assertThat(shop.sellAsync("1")).failsWithin(10, TimeUnit.SECONDS).withThrowableThat().withCause(thrown);
				assertThat(shop.sellReactive("1").onErrorResume((ex) -> Mono.just(List.of(ex.getMessage()))).block())
					.containsExactly("no tenant");
			});
		}
	}

	/** Throws without a declaration, as Kotlin, which has no checked exceptions. */
	@SuppressWarnings("unchecked")
	private static <E extends Throwable> E asUnchecked(Throwable thrown) throws E {
		throw (E) thrown;
	}

	@Configuration(proxyBeanMethods = false)
	@Import(Shop.class)
	static class Application extends TestApplication {

		@Bean
		KeyNamespace namespace() {
			return KeyNamespaceTests::tenant;
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class OwnServices {

		@Bean
		LockService ownLocks(LeaseEngine engine) {
			return wrapped(LockService.class, new DefaultLockService(engine));
		}

		@Bean
		SemaphoreService ownSemaphores(LeaseEngine engine) {
			return wrapped(SemaphoreService.class, new DefaultSemaphoreService(engine));
		}

		private static <T> T wrapped(Class<T> type, T service) {
			return type.cast(Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] { type },
					(proxy, method, values) -> method.invoke(service, values)));
		}

	}

	static class Shop {

		@DistributedLock(name = "stock", key = "#sku")
		@Semaphore(name = "warehouse", limit = 10)
		public List<String> sell(String sku) {
			return keys(LeaseContext.current());
		}

		@DistributedLock(name = "stock", key = "#sku")
		@Semaphore(name = "warehouse", limit = 10)
		public CompletableFuture<List<String>> sellAsync(String sku) {
			return CompletableFuture.completedFuture(keys(LeaseContext.current()));
		}

		@DistributedLock(name = "stock", key = "#sku")
		@Semaphore(name = "warehouse", limit = 10)
		public Mono<List<String>> sellReactive(String sku) {
			return ReactiveLeaseContext.current().map(Shop::keys);
		}

		@DistributedLock(name = "stock", key = "#sku", condition = "#stocked.get()")
		public Mono<List<String>> sellStocked(String sku, AtomicBoolean stocked) {
			return ReactiveLeaseContext.current().map(Shop::keys);
		}

		private static List<String> keys(LeaseContext context) {
			return context.leases().stream().map((lease) -> lease.key()).toList();
		}

	}

}
