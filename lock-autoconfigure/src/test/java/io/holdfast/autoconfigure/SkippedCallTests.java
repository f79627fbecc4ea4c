package io.holdfast.autoconfigure;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.Lock;
import java.util.stream.IntStream;
import java.util.stream.Stream;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.UnsynchronizedAppenderBase;
import ch.qos.logback.core.read.ListAppender;
import io.holdfast.Lease;
import io.holdfast.LockLease;
import io.holdfast.LockMode;
import io.holdfast.LockNotAcquiredException;
import io.holdfast.LockRequest;
import io.holdfast.LockService;
import io.holdfast.SemaphoreRequest;
import io.holdfast.SemaphoreService;
import io.holdfast.annotation.DistributedLock;
import io.holdfast.annotation.OnTimeout;
import io.holdfast.annotation.Semaphore;
import io.holdfast.engine.LeaseEngine;
import io.holdfast.reactive.ReactiveLockService;
import io.holdfast.reactive.ReactiveSemaphoreService;
import io.holdfast.testing.TestApplication;
import io.holdfast.testing.TestRedis;
import io.holdfast.testing.WithRedis;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Timer;
import io.micrometer.core.instrument.observation.DefaultMeterObservationHandler;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.micrometer.observation.ObservationRegistry;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.slf4j.LoggerFactory;

import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.awaitility.Awaitility.await;

/**
 * Traces of skipped calls, whose lease another instance has: a separate outcome in the
 * meter, and a line at the level DEBUG.
 */
@WithRedis
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class SkippedCallTests {

	private static final String LOCK = "holdfast.lock.acquire";

	private static final String SEMAPHORE = "holdfast.semaphore.acquire";

	private final Logger logger = (Logger) LoggerFactory.getLogger("io.holdfast");

	private final @Nullable Level level = this.logger.getLevel();

	private final ListAppender<ILoggingEvent> lines = new ListAppender<>();

	private final List<Lease> held = new ArrayList<>();

	private final ConfigurableApplicationContext holder;

	private final ConfigurableApplicationContext other;

	private final Jobs jobs;

	private final MeterRegistry meters;

	SkippedCallTests(TestRedis redis) {
		this.holder = TestApplication.start(redis, Application.class, "spring.application.name=warehouse");
		this.other = TestApplication.start(redis, Application.class, "spring.application.name=shop");
		this.jobs = this.other.getBean(Jobs.class);
		this.meters = this.other.getBean(MeterRegistry.class);
	}

	@BeforeEach
	void listen() {
		LockService locks = this.holder.getBean(LockService.class);
		this.held.add(locks.acquireAsync(LockRequest.of("job")).join());
		this.held.add(locks.acquireAsync(LockRequest.of("read").mode(LockMode.READ)).join());
		this.held.add(semaphores(this.holder).acquireAsync(SemaphoreRequest.of("permit", 1)).join());
		await("the names of instances").until(this::isHolderNamed);
		this.meters.clear();
		this.lines.start();
		this.logger.addAppender(this.lines);
		this.logger.setLevel(Level.DEBUG);
	}

	@AfterEach
	void stop() {
		this.logger.setLevel(this.level);
		this.logger.detachAppender(this.lines);
		this.lines.list.clear();
		this.held.forEach(Lease::close);
		this.held.clear();
		semaphores(this.holder).admin().clearLimit("permit");
	}

	private boolean isHolderNamed() {
		LockRequest request = LockRequest.of("job").waitTime(Duration.ZERO);
		return this.other.getBean(LockService.class).acquireAsync(request).handle((lease, failure) -> {
			assertThat(failure).isInstanceOf(LockNotAcquiredException.class);
			return ((LockNotAcquiredException) failure).getHolder() != null;
		}).join();
	}

	private static SemaphoreService semaphores(ConfigurableApplicationContext instance) {
		return instance.getBean(SemaphoreService.class);
	}

	private List<String> lines() {
		synchronized (this.lines) {
			return List.copyOf(this.lines.list).stream().map(ILoggingEvent::getFormattedMessage).toList();
		}
	}

	private String line(String part) {
		await().untilAsserted(() -> assertThat(lines()).filteredOn((line) -> line.contains(part)).hasSize(1));
		return lines().stream().filter((line) -> line.contains(part)).findFirst().orElseThrow();
	}

	@Test
	@DisplayName("A blocked log keeps one thread for many skipped calls, and gets all lines later")
	void slowLog() {
		CompletableFuture<Boolean> goOn = new CompletableFuture<>();
		AtomicInteger standing = new AtomicInteger();
		AtomicInteger written = new AtomicInteger();
		UnsynchronizedAppenderBase<ILoggingEvent> slow = new UnsynchronizedAppenderBase<>() {

			@Override
			protected void append(ILoggingEvent event) {
				if (event.getMessage().startsWith("Skipped")) {
					standing.incrementAndGet();
					goOn.join();
					written.incrementAndGet();
				}
			}

		};
		slow.start();
		this.logger.addAppender(slow);
		try {
			LockService locks = this.other.getBean(LockService.class);
			LockRequest request = LockRequest.of("job").waitTime(Duration.ZERO);
			List<CompletableFuture<Optional<LockLease>>> tries = IntStream.range(0, 300)
				.mapToObj((i) -> locks.tryAcquireAsync(request))
				.toList();
			assertThat(tries).allSatisfy(
					(each) -> assertThat(each).succeedsWithin(Duration.ofSeconds(20)).isEqualTo(Optional.empty()));
			// Lines of later calls wait behind the blocked line.
			await().until(() -> standing.get() > 0);
			this.other.getBean(LeaseEngine.class).afterEvents().join();
			assertThat(standing).hasValue(1);
			goOn.complete(true);
			await().until(() -> written.get() == 300);
		}
		finally {
			goOn.complete(true);
			this.logger.detachAppender(slow);
		}
	}

	private long count(String meter, String outcome) {
		return this.meters.find(meter).tag("outcome", outcome).timers().stream().mapToLong(Timer::count).sum();
	}

	static Stream<Case> skipped() {
		return Stream.of(new Case("plain", LOCK, "job", (shop) -> shop.plain()),
				new Case("stage", LOCK, "job", (shop) -> shop.stage().join()),
				new Case("several", LOCK, "job", (shop) -> shop.several()),
				new Case("write", LOCK, "read", (shop) -> shop.write()),
				new Case("permit", SEMAPHORE, "permit", (shop) -> shop.permit()));
	}

	@ParameterizedTest
	@MethodSource
	@DisplayName("A call with SKIP counts as skipped, and one line names the method, the key and, if the lock is exclusive, the holder")
	void skipped(Case skipped) {
		assertThat(skipped.call().of(this.jobs)).isNull();
		String line = line("Jobs." + skipped.method() + ": ");
		assertThat(line).startsWith("Skipped ")
			.contains("'" + skipped.key() + "'")
			.containsPattern(" was not acquired after .*" + skipped.holder() + "$");
		assertThat(count(skipped.meter(), "skipped")).isOne();
		assertThat(count(skipped.meter(), "timed_out")).isZero();
	}

	@Test
	@DisplayName("Tries without a wait count as skipped, too")
	void tries() throws Exception {
		LockService locks = this.other.getBean(LockService.class);
		SemaphoreService semaphores = semaphores(this.other);
		SemaphoreRequest permit = SemaphoreRequest.of("permit", 1);
		assertThat(locks.tryAcquire("job")).isEmpty();
		assertThat(locks.tryAcquireAsync(LockRequest.of("job")).join()).isEmpty();
		assertThat(locks.tryWithLock("job", () -> {
		})).isFalse();
		Lock view = locks.asLock("job");
		assertThat(view.tryLock()).isFalse();
		assertThat(view.tryLock(0, TimeUnit.SECONDS)).isFalse();
		assertThat(this.other.getBean(ReactiveLockService.class).tryAcquire("job").blockOptional()).isEmpty();
		assertThat(count(LOCK, "skipped")).isEqualTo(6);
		assertThat(count(LOCK, "timed_out")).isZero();
		assertThat(semaphores.tryAcquire(permit)).isEmpty();
		assertThat(this.other.getBean(ReactiveSemaphoreService.class).tryAcquire(permit).blockOptional()).isEmpty();
		assertThat(count(SEMAPHORE, "skipped")).isEqualTo(2);
		assertThat(count(SEMAPHORE, "timed_out")).isZero();
	}

	@Test
	@DisplayName("Calls with an exception or a fallback, and tries with a wait, count as timed out, without a line")
	void timedOut() throws Exception {
		assertThatExceptionOfType(LockNotAcquiredException.class).isThrownBy(this.jobs::throwing);
		assertThat(this.jobs.falling()).isEqualTo("instead");
		LockService locks = this.other.getBean(LockService.class);
		assertThat(locks.tryAcquire(LockRequest.of("job").waitTime(Duration.ofMillis(1)))).isEmpty();
		assertThat(locks.asLock("job").tryLock(1, TimeUnit.MILLISECONDS)).isFalse();
		assertThat(count(LOCK, "timed_out")).isEqualTo(4);
		assertThat(count(LOCK, "skipped")).isZero();
		assertThat(lines()).noneMatch((line) -> line.startsWith("Skipped"));
	}

	@Test
	@DisplayName("A refusal for another reason has a line, and its own outcome")
	void otherReason() {
		semaphores(this.other).admin().setLimit("permit", 0);
		assertThat(this.jobs.permit()).isNull();
		assertThat(line("Jobs.permit: ")).doesNotStartWith("Skipped ").contains("there are fewer permits in all");
		assertThat(count(SEMAPHORE, "exceeds_limit")).isOne();
	}

	/** Skipped call. */
	private record Case(String method, String meter, String key, Call call) {

		/** Return the pattern for the holder of the resource. */
		String holder() {
			return this.key.equals("job")
					? "\\. Holder: instance [0-9a-f]{8} \\(application warehouse, host \\S+, process [0-9]+\\)"
					: "(1 reader|\\(1 of 1 in use\\)\\. To wait longer, .*)";
		}

		@Override
		public String toString() {
			return this.method;
		}

	}

	private interface Call {

		@Nullable Object of(Jobs jobs);

	}

	@Configuration(proxyBeanMethods = false)
	@Import({ TestApplication.class, Jobs.class })
	static class Application {

		@Bean
		MeterRegistry meterRegistry() {
			return new SimpleMeterRegistry();
		}

		@Bean
		ObservationRegistry observationRegistry(MeterRegistry meters) {
			ObservationRegistry registry = ObservationRegistry.create();
			registry.observationConfig().observationHandler(new DefaultMeterObservationHandler(meters));
			return registry;
		}

	}

	static class Jobs {

		@DistributedLock(key = "'job'", waitTime = "0", onTimeout = OnTimeout.SKIP)
		public @Nullable String plain() {
			return "ran";
		}

		@DistributedLock(key = "'job'", waitTime = "0", onTimeout = OnTimeout.SKIP)
		public CompletableFuture<@Nullable String> stage() {
			return CompletableFuture.completedFuture("ran");
		}

		@DistributedLock(key = "{'free', 'job'}", waitTime = "0", onTimeout = OnTimeout.SKIP)
		public @Nullable String several() {
			return "ran";
		}

		@DistributedLock(key = "'read'", mode = LockMode.EXCLUSIVE, waitTime = "0", onTimeout = OnTimeout.SKIP)
		public @Nullable String write() {
			return "ran";
		}

		@Semaphore(key = "'permit'", limit = 1, onTimeout = OnTimeout.SKIP)
		public @Nullable String permit() {
			return "ran";
		}

		@DistributedLock(key = "'job'", waitTime = "0")
		public void throwing() {
		}

		@DistributedLock(key = "'job'", waitTime = "0", fallback = "instead")
		public String falling() {
			return "ran";
		}

		@SuppressWarnings("unused")
		private String instead() {
			return "instead";
		}

	}

}
