package io.holdfast.observation;

import java.io.IOException;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.Supplier;

import io.holdfast.LockLease;
import io.holdfast.LockService;
import io.holdfast.annotation.DistributedLock;
import io.holdfast.annotation.Semaphore;
import io.holdfast.aop.MethodObserver;
import io.holdfast.autoconfigure.HoldfastObservationAutoConfiguration;
import io.holdfast.testing.TestApplication;
import io.micrometer.common.KeyValues;
import io.micrometer.observation.Observation;
import io.micrometer.observation.ObservationHandler;
import io.micrometer.observation.ObservationRegistry;
import io.micrometer.observation.contextpropagation.ObservationThreadLocalAccessor;
import io.micrometer.tracing.handler.DefaultTracingObservationHandler;
import io.micrometer.tracing.handler.TracingObservationHandler;
import io.micrometer.tracing.test.simple.SimpleSpan;
import io.micrometer.tracing.test.simple.SimpleTracer;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import reactor.core.Disposable;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Sinks;

import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.scheduling.annotation.Async;
import org.springframework.scheduling.annotation.EnableAsync;
import org.springframework.util.ReflectionUtils;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatException;
import static org.assertj.core.api.Assertions.assertThatRuntimeException;
import static org.awaitility.Awaitility.await;

/**
 * Observations of annotated methods, as a tracer shows them.
 */
@ExtendWith(OutputCaptureExtension.class)
class MethodObservationsTests {

	private static final Duration SOON = Duration.ofSeconds(10);

	private final SimpleTracer tracer = new SimpleTracer();

	private final ObservationRegistry registry = ObservationRegistry.create();

	private final ApplicationContextRunner runner = TestApplication.runner(HoldfastObservationAutoConfiguration.class)
		.withPropertyValues("holdfast.lock.wait-time=1s")
		.withBean(ObservationRegistry.class, () -> this.registry)
		.withBean(Shop.class)
		.withBean(AsyncShop.class)
		.withUserConfiguration(Asynchronous.class);

	MethodObservationsTests() {
		this.registry.observationConfig().observationHandler(new DefaultTracingObservationHandler(this.tracer));
	}

	/** Scope whose close fails, so that it stays on its thread. */
	@AfterEach
	void leaveScopes() {
		this.registry.setCurrentObservationScope(null);
	}

	/** Call the shop within a span named "order". */
	private void order(Consumer<Shop> call) {
		this.runner.run((context) -> observe("order", () -> call.accept(context.getBean(Shop.class))));
	}

	private void observe(String name, Runnable action) {
		Observation.createNotStarted(name, this.registry).observe(action);
	}

	private SimpleSpan span(String name) {
		List<SimpleSpan> found = spans(name);
		assertThat(found).as(name).hasSize(1);
		return found.get(0);
	}

	/** Ended spans, which have their final names. */
	private List<SimpleSpan> spans(String name) {
		return this.tracer.getSpans().stream().filter((span) -> name.equals(span.getName())).toList();
	}

	private void hasChildren(String parent, String... children) {
		SimpleSpan span = span(parent);
		for (String child : children) {
			assertThat(span(child).getParentId()).as(child + " is a child of " + parent).isEqualTo(span.getSpanId());
			assertThat(span(child).getEndTimestamp()).as(child + " ends within " + parent)
				.isBeforeOrEqualTo(span.getEndTimestamp());
		}
	}

	@Test
	@DisplayName("A method's span contains the spans of its permits, its lock and its body")
	void plain() {
		order((shop) -> shop.sell("SKU1", () -> observe("body", () -> {
		})));
		hasChildren("order", "Shop#sell");
		hasChildren("Shop#sell", "semaphore acquire", "semaphore hold", "lock acquire", "lock hold", "body");
		assertThat(span("Shop#sell").getTags()).containsEntry("class", Shop.class.getName())
			.containsEntry("method", "sell")
			.containsEntry("unguarded", "false")
			.hasSize(3);
		assertThat(span("lock hold").getTags()).containsEntry("holdfast.key", "SKU1");
	}

	@Test
	@DisplayName("The tag and name of a lambda or proxy, whose class has another name in each process, are those of its interface")
	void generated() {
		InvocationHandler nothing = (proxy, method, arguments) -> (method.getDeclaringClass() == Job.class) ? null
				: method.invoke(this, arguments);
		this.runner.withBean("lambda", Job.class, () -> () -> {
		})
			.withBean("client", Job.class,
					() -> (Job) Proxy.newProxyInstance(Job.class.getClassLoader(), new Class<?>[] { Job.class },
							nothing))
			.run((context) -> context.getBeansOfType(Job.class).values().forEach(Job::run));
		assertThat(spans("Job#run")).hasSize(2)
			.allSatisfy((span) -> assertThat(span.getTags()).containsEntry("class", Job.class.getName()));
	}

	@Test
	@DisplayName("An exception of the method is the span's error; a way out is no error, and a call without a lock has no span")
	void errors() {
		IllegalStateException failure = new IllegalStateException("sold out");
		order((shop) -> assertThatRuntimeException().isThrownBy(() -> shop.sell("SKU1", () -> {
			throw failure;
		})));
		assertThat(span("Shop#sell").getError()).isSameAs(failure);
		this.runner.run((context) -> {
			Shop shop = context.getBean(Shop.class);
			LockService locks = context.getBean(LockService.class);
			LockLease taken = ObservedInstance.onAnotherThread(() -> locks.acquire("taken")).join();
			assertThat(shop.orElse("taken")).isEqualTo("later");
			assertThat(shop.ifNeeded(false)).isEqualTo("done");
			assertThatException().isThrownBy(() -> shop.now("taken"));
			taken.release();
		});
		assertThat(span("Shop#orElse").getError()).isNull();
		assertThat(spans("Shop#ifNeeded")).isEmpty();
		assertThat(span("Shop#now").getError()).isNotNull();
	}

	@Test
	@DisplayName("A nested call has a span, but no request")
	void nested() {
		order((shop) -> shop.sell("SKU1", () -> shop.orElse("SKU1")));
		hasChildren("Shop#sell", "Shop#orElse", "lock acquire", "lock hold");
	}

	@Test
	@DisplayName("A stage is observed on the thread of its method, and until it completes")
	void stage() {
		CompletableFuture<String> stock = new CompletableFuture<>();
		CountDownLatch called = new CountDownLatch(1);
		CompletableFuture<@Nullable Observation> after = new CompletableFuture<>();
		order((shop) -> {
			CompletableFuture<String> result = shop.later("SKU1", () -> {
				observe("body", called::countDown);
				return stock;
			});
			result.whenComplete((value, error) -> after.complete(this.registry.getCurrentObservation()));
			await().until(() -> called.getCount() == 0);
			assertThat(spans("Shop#later")).isEmpty();
			new Thread(() -> stock.complete("sold")).start();
			// The result would not do: its waiter runs the dependent stages.
			assertThat(after).succeedsWithin(SOON).as("observation of the caller's next stage").isNull();
			assertThat(result).succeedsWithin(SOON);
			assertThat(spans("Shop#later")).as("spans ended before the caller's result").hasSize(1);
		});
		hasChildren("order", "Shop#later");
		hasChildren("Shop#later", "semaphore acquire", "semaphore hold", "lock acquire", "lock hold", "body");
	}

	@Test
	@DisplayName("A completed stage leaves no observation to dependent stages")
	void stageAtOnce() {
		CompletableFuture<Boolean> observed = new CompletableFuture<>();
		CompletableFuture<@Nullable Void> follow = new CompletableFuture<>();
		order((shop) -> {
			CompletableFuture<String> result = shop.later("SKU1", () -> {
				follow.orTimeout(10, TimeUnit.SECONDS).join();
				return CompletableFuture.completedFuture("sold");
			});
			result.whenComplete((value, error) -> observed.complete(this.registry.getCurrentObservation() != null));
			follow.complete(null);
			assertThat(observed).succeedsWithin(SOON).isEqualTo(false);
		});
	}

	@Test
	@DisplayName("A failed stage and a cancelled call end their observations")
	void stageInVain() {
		IOException failure = new IOException("gone");
		order((shop) -> assertThat(shop.later("SKU1", () -> CompletableFuture.failedFuture(failure))).failsWithin(SOON)
			.withThrowableOfType(ExecutionException.class));
		assertThat(span("Shop#later").getError()).isSameAs(failure);
		this.tracer.getSpans().clear();
		order((shop) -> {
			CountDownLatch called = new CountDownLatch(1);
			CompletableFuture<String> work = new CompletableFuture<>();
			CompletableFuture<String> result = shop.later("SKU1", () -> {
				called.countDown();
				return work;
			});
			await().until(() -> called.getCount() == 0);
			result.cancel(false);
			assertThat(spans("Shop#later")).as("ended spans during the work").isEmpty();
			work.complete("sold");
			await().atMost(SOON).until(() -> spans("Shop#later").size() == 1);
		});
	}

	@Test
	@DisplayName("An @Async method is observed on its own thread")
	void async() {
		this.runner
			.run((context) -> assertThat(context.getBean(AsyncShop.class).sell("SKU1", () -> observe("body", () -> {
			}))).succeedsWithin(SOON));
		hasChildren("AsyncShop#sell", "lock acquire", "lock hold", "body");
	}

	private Mono<String> sold() {
		observe("assembled", () -> {
		});
		return Mono.deferContextual((view) -> Mono.fromSupplier(() -> {
			Observation current = view.get(ObservationThreadLocalAccessor.KEY);
			Observation.createNotStarted("inside", this.registry).parentObservation(current).observe(() -> {
			});
			return "sold";
		}));
	}

	@Test
	@DisplayName("A subscription's span is a child of the thread's observation, and in the chain's context")
	void reactive() {
		order((shop) -> {
			Mono<String> chain = shop.chain("SKU1", this::sold);
			assertThat(this.tracer.getSpans()).as("spans before the subscription").hasSize(1);
			assertThat(chain.block(SOON)).isEqualTo("sold");
			assertThat(spans("Shop#chain")).as("spans ended before the subscriber's signal").hasSize(1);
		});
		hasChildren("order", "Shop#chain");
		hasChildren("Shop#chain", "semaphore acquire", "semaphore hold", "lock acquire", "lock hold", "assembled",
				"inside");
	}

	@Test
	@DisplayName("Each subscription is observed, under its context's observation rather than its thread's")
	void reactiveContext() {
		order((shop) -> {
			Mono<String> chain = shop.chain("SKU1", this::sold);
			for (String name : List.of("first", "second")) {
				this.tracer.getSpans().clear();
				Observation subscriber = Observation.start(name, this.registry);
				assertThat(chain.contextWrite((context) -> context.put(ObservationThreadLocalAccessor.KEY, subscriber))
					.block(SOON)).isEqualTo("sold");
				subscriber.stop();
				assertThat(span("Shop#chain").getParentId()).isEqualTo(subscriberSpan(subscriber));
				hasChildren("Shop#chain", "lock acquire", "lock hold", "inside");
			}
		});
	}

	private static String subscriberSpan(Observation subscriber) {
		TracingObservationHandler.TracingContext context = subscriber.getContext()
			.get(TracingObservationHandler.TracingContext.class);
		return context.getSpan().context().spanId();
	}

	@Test
	@DisplayName("A failed and a cancelled chain end their observations")
	void reactiveInVain() {
		IOException failure = new IOException("gone");
		order((shop) -> assertThatException()
			.isThrownBy(() -> shop.chain("SKU1", () -> Mono.error(failure)).block(SOON)));
		assertThat(span("Shop#chain").getError()).isSameAs(failure);
		this.tracer.getSpans().clear();
		order((shop) -> {
			Sinks.One<String> never = Sinks.one();
			Disposable subscription = shop.chain("SKU1", never::asMono).subscribe();
			await().atMost(SOON).until(() -> never.currentSubscriberCount() == 1);
			subscription.dispose();
			await().atMost(SOON).until(() -> spans("Shop#chain").size() == 1);
		});
	}

	@Test
	@DisplayName("A convention replaces the default")
	void convention() {
		this.registry.observationConfig().observationConvention(new DefaultMethodObservationConvention() {
			@Override
			public KeyValues getLowCardinalityKeyValues(MethodObservationContext context) {
				return KeyValues.of("on", context.getMethod().getDeclaringClass().getSimpleName());
			}
		});
		this.runner.run((context) -> context.getBean(Shop.class).orElse("SKU1"));
		assertThat(span("Shop#orElse").getTags()).containsOnly(Map.entry("on", "Shop"));
	}

	@Test
	@DisplayName("An exception or error of an observer disturbs no call")
	void failing(CapturedOutput output) {
		for (String place : List.of("start", "open", "close", "stop")) {
			failing(place, new IllegalStateException("in " + place));
			failing(place, new NoClassDefFoundError("in " + place));
			assertThat(output).contains("IllegalStateException: in " + place)
				.contains("NoClassDefFoundError: in " + place);
		}
	}

	private void failing(String place, Throwable failure) {
		this.runner.withBean(MethodObserver.class, () -> new FailingObserver(place, failure)).run((context) -> {

			Shop shop = context.getBean(Shop.class);
			assertThat(shop.orElse("SKU1")).isEqualTo("done");
			assertThat(shop.later("SKU1", () -> CompletableFuture.completedFuture("sold"))).succeedsWithin(SOON);
			assertThat(shop.chain("SKU1", () -> Mono.just("sold")).block(SOON)).isEqualTo("sold");
			assertThat(context.getBean(LockService.class).status("SKU1").isLocked()).isFalse();
		});
	}

	interface Job {

		@DistributedLock
		void run();

	}

	static class Shop {

		@Semaphore(key = "'api'", limit = 5)
		@DistributedLock(key = "#sku")
		public String sell(String sku, Runnable body) {
			body.run();
			return "sold";
		}

		@DistributedLock(key = "#sku", fallback = "later")
		public String orElse(String sku) {
			return "done";
		}

		String later(String sku) {
			return "later";
		}

		@DistributedLock(key = "#sku", waitTime = "0")
		public String now(String sku) {
			return "done";
		}

		@DistributedLock(key = "'k'", condition = "#needed")
		public String ifNeeded(boolean needed) {
			return "done";
		}

		@Semaphore(key = "'api'", limit = 5)
		@DistributedLock(key = "#sku")
		public CompletableFuture<String> later(String sku, Supplier<CompletableFuture<String>> body) {
			return body.get();
		}

		@Semaphore(key = "'api'", limit = 5)
		@DistributedLock(key = "#sku")
		public Mono<String> chain(String sku, Supplier<Mono<String>> body) {
			return body.get();
		}

	}

	static class AsyncShop {

		@Async
		@DistributedLock(key = "#sku")
		public CompletableFuture<String> sell(String sku, Runnable body) {
			body.run();
			return CompletableFuture.completedFuture("sold");
		}

	}

	@EnableAsync
	static class Asynchronous {

	}

	/** Throws in one place, directly or in a handler of its observation. */
	private record FailingObserver(String place,
			Throwable failure) implements MethodObserver, ObservationHandler<Observation.Context> {

		private void pass(String at) {
			if (at.equals(this.place)) {
				ReflectionUtils.rethrowRuntimeException(this.failure);
			}
		}

		@Override
		public Observation start(Method method, Class<?> targetClass, @Nullable Observation parent) {
			pass("start");
			ObservationRegistry registry = ObservationRegistry.create();
			registry.observationConfig().observationHandler(this);
			return Observation.start("call", registry);
		}

		@Override
		public boolean supportsContext(Observation.Context context) {
			return true;
		}

		@Override
		public void onScopeOpened(Observation.Context context) {
			pass("open");
		}

		@Override
		public void onScopeClosed(Observation.Context context) {
			pass("close");
		}

		@Override
		public void onStop(Observation.Context context) {
			pass("stop");
		}

	}

}
