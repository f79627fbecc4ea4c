package io.holdfast.autoconfigure;

import java.net.URL;
import java.net.URLClassLoader;
import java.time.Duration;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.function.Supplier;
import java.util.stream.Stream;

import io.holdfast.LeaseLostEvent;
import io.holdfast.LockLease;
import io.holdfast.LockRequest;
import io.holdfast.LockService;
import io.holdfast.SemaphoreRequest;
import io.holdfast.SemaphoreService;
import io.holdfast.annotation.DistributedLock;
import io.holdfast.annotation.Semaphore;
import io.holdfast.optimistic.OptimisticTransactions;
import io.holdfast.reactive.ReactiveLockService;
import io.holdfast.testing.TestApplication;
import io.holdfast.testing.TestRedis;
import io.holdfast.testing.WithRedis;
import io.netty.util.concurrent.DefaultThreadFactory;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

import org.springframework.boot.WebApplicationType;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.context.event.EventListener;
import org.springframework.core.io.DefaultResourceLoader;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Isolation of Holdfast's threads from the caller that happens to create them: from its
 * tenant and its class loader.
 */
@WithRedis
class OwnThreadsTests {

	private static final Duration LONG = Duration.ofSeconds(20);

	/** Stacks of threads that created a thread which inherits from them. */
	private static final Queue<StackTraceElement[]> heirs = new ConcurrentLinkedQueue<>();

	private static final InheritableThreadLocal<@Nullable String> TENANT = new InheritableThreadLocal<>() {

		@Override
		protected @Nullable String childValue(@Nullable String parent) {
			heirs.add(Thread.currentThread().getStackTrace());
			return parent;
		}

	};

	private final TestRedis redis;

	private final Set<Thread> before = Thread.getAllStackTraces().keySet();

	private final ClassLoader loader = new URLClassLoader(new URL[0], getClass().getClassLoader());

	private final ClassLoader callers = new URLClassLoader(new URL[0], getClass().getClassLoader());

	private final ThreadGroup group = new ThreadGroup("callers");

	private @Nullable ConfigurableApplicationContext context;

	OwnThreadsTests(TestRedis redis) {
		this.redis = redis;
		heirs.clear();
		this.group.setMaxPriority(Thread.NORM_PRIORITY - 1);
	}

	private ConfigurableApplicationContext start(String... properties) {
		Map<String, Object> all = new HashMap<>(Map.of("spring.data.redis.host", this.redis.host(),
				"spring.data.redis.port", this.redis.port(), "holdfast.lock.key-prefix", this.redis.keyPrefix(),
				"holdfast.leak-detection-threshold", "1ms", "spring.main.lazy-initialization", true));
		Stream.of(properties).map((each) -> each.split("=")).forEach((each) -> all.put(each[0], each[1]));
		this.context = new SpringApplicationBuilder(Application.class).web(WebApplicationType.NONE)
			.resourceLoader(new DefaultResourceLoader(this.loader))
			.properties(all)
			.run();
		assertThat(this.context.getClassLoader()).isSameAs(this.loader);
		return this.context;
	}

	@AfterEach
	void close() {
		if (this.context != null) {
			this.context.close();
		}
	}

	/** Call as a tenant, on a thread with every inheritable value. */
	private <T> T asTenant(String tenant, Callable<T> call) throws Exception {
		CompletableFuture<T> result = new CompletableFuture<>();
		Thread thread = new Thread(this.group, () -> {
			TENANT.set(tenant);
			try {
				result.complete(call.call());
			}
			catch (Throwable ex) {
				result.completeExceptionally(ex);
			}
		}, "caller");
		thread.setContextClassLoader(this.callers);
		thread.setDaemon(false);
		thread.start();
		return result.get();
	}

	private void assertBody(Body body) {
		assertThat(body.tenant()).as("tenant on " + body.thread()).isNull();
		assertThat(body.loader()).as("class loader of " + body.thread()).isSameAs(this.loader);
	}

	private void assertThreads() {
		Set<Thread> own = new HashSet<>(Thread.getAllStackTraces().keySet());
		own.removeAll(this.before);
		own.removeIf((thread) -> !thread.getName().startsWith("holdfast-"));
		// A new thread sets its class loader soon after its start. A callback thread of
		// another test's context ends after ten idle seconds.
		await().atMost(Duration.ofSeconds(60)).untilAsserted(() -> assertThat(own).isNotEmpty().allSatisfy((thread) -> {
			assertThat(thread.isDaemon()).isTrue();
			ThreadGroup actual = thread.getThreadGroup();
			if (actual != null) {
				// Null after the end of the thread.
				assertThat(thread.getContextClassLoader()).as("class loader of " + thread).isSameAs(this.loader);
				assertThat(thread.getPriority()).isEqualTo(Thread.NORM_PRIORITY);
				assertThat(actual.getParent()).as("group around that of " + thread).isNull();
			}
		}));
		assertNoHeirs();
	}

	/**
	 * Assert that no thread of Holdfast inherits; threads of the JDK and of the
	 * application may.
	 */
	private static void assertNoHeirs() {
		assertThat(heirs)
			.filteredOn((stack) -> Stream.of(stack)
				.anyMatch((frame) -> frame.getClassName().startsWith("io.holdfast.")
						&& !frame.getClassName().contains("OwnThreadsTests")))
			.isEmpty();
	}

	@ParameterizedTest
	@ValueSource(strings = { "memory", "redis" })
	@DisplayName("Code under a lease sees no thread-locals and no class loader of any caller")
	void bodies(String backend) throws Exception {
		ConfigurableApplicationContext context = start("holdfast.backend=" + backend);
		LockService locks = context.getBean(LockService.class);
		SemaphoreService semaphores = context.getBean(SemaphoreService.class);
		ReactiveLockService reactive = context.getBean(ReactiveLockService.class);
		Shop shop = context.getBean(Shop.class);
		for (int i = 0; i < 5; i++) {
			String key = "key:" + i;
			for (Callable<Body> call : List.<Callable<Body>>of(
					() -> locks.withLockAsync(key, () -> CompletableFuture.completedFuture(Body.here())).get(),
					() -> locks
						.tryWithLockAsync(LockRequest.of(key), () -> CompletableFuture.completedFuture(Body.here()))
						.get()
						.get(),
					() -> semaphores
						.withPermitsAsync(SemaphoreRequest.of(key, 3).waitTime(LONG),
								() -> CompletableFuture.completedFuture(Body.here()))
						.get(),
					() -> shop.future(key).get(), () -> shop.mono(key).block(), () -> shop.flux(key).blockLast(),
					() -> shop.permit(key).get(),
					() -> reactive.withLock(LockRequest.of(key), Mono.fromSupplier(Body::here)).block())) {
				assertBody(asTenant("A", call));
				assertBody(asTenant("B", call));
			}
		}
		assertThreads();
	}

	@ParameterizedTest
	@ValueSource(strings = { "memory", "redis" })
	@DisplayName("Code that waits for another caller, and listeners of losses, see no thread-locals and no class loader of a caller")
	void waitersAndListeners(String backend) throws Exception {
		ConfigurableApplicationContext context = start("holdfast.backend=" + backend);
		LockService locks = context.getBean(LockService.class);
		LockLease lease = asTenant("A", () -> locks.acquire("shared"));
		CompletableFuture<Body> waiting = asTenant("B",
				() -> locks.withLockAsync(LockRequest.of("shared").waitTime(LONG),
						() -> CompletableFuture.completedFuture(Body.here())));
		asTenant("C", lease::release);
		assertBody(waiting.get());
		CompletableFuture<Body> lost = new CompletableFuture<>();
		asTenant("A", () -> {
			locks.acquire("lost").onLost(() -> lost.complete(Body.here()));
			return locks.admin().forceRelease("lost");
		});
		assertBody(lost.get());
		Queue<Body> events = context.getBean(Listener.class).events;
		await().until(() -> !events.isEmpty());
		assertBody(events.remove());
		assertThreads();
	}

	@Test
	@DisplayName("The engine of an application with Jedis creates Lettuce's threads in the same way")
	void jedis() throws Exception {
		// Pools of other applications in this JVM create threads at any time.
		int lastPool = pool(new DefaultThreadFactory("probe").newThread(() -> {
		}));
		ConfigurableApplicationContext context = start("spring.data.redis.client-type=jedis");
		asTenant("A", () -> {
			context.getBean(LockService.class).acquire("a").close();
			return null;
		});
		assertThreads();
		Set<Thread> driver = new HashSet<>(Thread.getAllStackTraces().keySet());
		driver.removeAll(this.before);
		driver.removeIf((thread) -> !thread.getName().startsWith("lettuce-") || pool(thread) <= lastPool);
		await().untilAsserted(() -> assertThat(driver).isNotEmpty().allSatisfy((thread) -> {
			assertThat(thread.getContextClassLoader()).as("class loader of " + thread).isSameAs(this.loader);
			assertThat(thread.getClass().getName()).isEqualTo("io.netty.util.concurrent.FastThreadLocalThread");
		}));
	}

	/** Return the number of the pool that made a thread, as Netty counts them. */
	private static int pool(Thread thread) {
		String[] parts = thread.getName().split("-");
		return Integer.parseInt(parts[parts.length - 2]);
	}

	@Test
	@DisplayName("Optimistic transactions connect on threads of Holdfast")
	void optimisticTransactions() throws Exception {
		OptimisticTransactions transactions = start().getBean(OptimisticTransactions.class);
		String key = this.redis.keyPrefix() + "x";
		asTenant("A", () -> transactions.execute(List.of(key), (now) -> now.read().hasKey(key)));
		assertNoHeirs();
	}

	@Test
	@DisplayName("Two applications with different class loaders have separate threads")
	void twoApplications() throws Exception {
		LockService first = start("holdfast.backend=memory").getBean(LockService.class);
		ClassLoader loader = new URLClassLoader(new URL[0], getClass().getClassLoader());
		try (ConfigurableApplicationContext context = new SpringApplicationBuilder(Application.class)
			.web(WebApplicationType.NONE)
			.resourceLoader(new DefaultResourceLoader(loader))
			.properties("holdfast.backend=memory")
			.run()) {
			LockService second = context.getBean(LockService.class);
			for (int i = 0; i < 20; i++) {
				Supplier<CompletableFuture<Body>> code = () -> CompletableFuture.completedFuture(Body.here());
				assertBody(asTenant("A", () -> first.withLockAsync("a", code).get()));
				assertThat(asTenant("B", () -> second.withLockAsync("a", code).get()).loader()).isSameAs(loader);
			}
		}
	}

	/** Values that code finds on its thread. */
	record Body(@Nullable String tenant, @Nullable ClassLoader loader, String thread) {

		static Body here() {
			Thread thread = Thread.currentThread();
			return new Body(TENANT.get(), thread.getContextClassLoader(), thread.getName());
		}

	}

	static class Shop {

		@DistributedLock(key = "#key")
		CompletableFuture<Body> future(String key) {
			return CompletableFuture.completedFuture(Body.here());
		}

		@DistributedLock(key = "#key")
		Mono<Body> mono(String key) {
			return Mono.fromSupplier(Body::here);
		}

		@DistributedLock(key = "#key")
		Flux<Body> flux(String key) {
			return Flux.defer(() -> Flux.just(Body.here()));
		}

		@Semaphore(name = "s", key = "#key", limit = 1)
		CompletableFuture<Body> permit(String key) {
			return CompletableFuture.completedFuture(Body.here());
		}

	}

	static class Listener {

		private final Queue<Body> events = new ConcurrentLinkedQueue<>();

		@EventListener
		void lost(LeaseLostEvent event) {
			this.events.add(Body.here());
		}

	}

	@Configuration(proxyBeanMethods = false)
	@Import({ TestApplication.class, Shop.class, Listener.class })
	static class Application {

	}

}
