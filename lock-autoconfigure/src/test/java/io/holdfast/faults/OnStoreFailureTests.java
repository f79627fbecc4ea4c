package io.holdfast.faults;

import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;

import io.holdfast.HoldfastException;
import io.holdfast.Lease;
import io.holdfast.LeaseContext;
import io.holdfast.LeaseLostException;
import io.holdfast.LeaseStoreException;
import io.holdfast.LockNotAcquiredException;
import io.holdfast.NotAcquiredException.Reason;
import io.holdfast.PermitLease;
import io.holdfast.PermitNotAcquiredException;
import io.holdfast.SemaphoreRequest;
import io.holdfast.annotation.DistributedLock;
import io.holdfast.annotation.OnLoss;
import io.holdfast.annotation.OnStoreFailure;
import io.holdfast.annotation.Semaphore;
import io.holdfast.reactive.ReactiveLeaseContext;
import io.holdfast.testing.TestApplication;
import io.micrometer.observation.Observation;
import io.micrometer.observation.ObservationHandler;
import io.micrometer.observation.ObservationRegistry;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import reactor.core.publisher.Mono;

import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.scheduling.annotation.Async;
import org.springframework.scheduling.annotation.EnableAsync;
import org.springframework.util.StringUtils;

import static io.holdfast.faults.Fleet.SOON;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.awaitility.Awaitility.await;

/**
 * Calls of annotated methods while Redis is out of reach.
 */
@ExtendWith(OutputCaptureExtension.class)
class OnStoreFailureTests extends ProxiedTestCase {

	private static final String WARNING = "lets the method run without a permit";

	private Instance start(String... properties) {
		return this.fleet.start(this.proxy, Application.class,
				StringUtils.concatenateStringArrays(
						new String[] { "holdfast.redis.command-timeout=1s", "holdfast.redis.outage-patience=100ms" },
						properties));
	}

	private static Shop shop(Instance instance) {
		return instance.context().getBean(Shop.class);
	}

	@Test
	@DisplayName("With PROCEED a method of any return type runs without its permit, with one warning for each outage")
	void proceed(CapturedOutput output) throws Exception {
		Shop shop = shop(start());
		assertThat(shop.open()).isEqualTo("held");
		this.proxy.down();
		assertThat(shop.open()).isEqualTo("not held");
		// At the same time, as each call waits for the command timeout.
		List<CompletableFuture<String>> others = List.of(shop.openStage(), shop.openMono().toFuture(), shop.openAsync(),
				CompletableFuture.supplyAsync(shop::interruptible));
		assertThat(shop.open()).isEqualTo("not held");
		assertThat(others).allSatisfy((call) -> assertThat(call).succeedsWithin(SOON).isEqualTo("not held"));
		assertThat(LeaseContext.current().leases()).isEmpty();
		assertThat(StringUtils.countOccurrencesOf(output.getAll(), WARNING)).isEqualTo(1);
		assertThat(output).contains("@Semaphore on " + Shop.class.getName() + ".open()")
			.contains(WARNING + ", as onStoreFailure is PROCEED");
		this.proxy.up();
		await().atMost(SOON).until(() -> shop.open().equals("held"));
		this.proxy.down();
		assertThat(shop.openStage().get(10, TimeUnit.SECONDS)).isEqualTo("not held");
		assertThat(StringUtils.countOccurrencesOf(output.getAll(), WARNING)).isEqualTo(2);
	}

	@Test
	@DisplayName("An outage is logged also if Redis has only refused since the last outage, for methods of any return"
			+ " type")
	void proceedAfterRefusals(CapturedOutput output) {
		Shop shop = shop(start("holdfast.redis.command-timeout=200ms"));
		Instance other = this.fleet.start();
		other.semaphores().admin().setLimit("open", 0);
		List.of("open stage", "open mono", "limited").forEach((key) -> other.acquire(SemaphoreRequest.of(key, 1)));
		this.proxy.down();
		assertThat(shop.interruptible()).isEqualTo("not held");
		int warnings = 1;
		for (Callable<String> refused : List.<Callable<String>>of(shop::open,
				() -> shop.openStage().get(10, TimeUnit.SECONDS), () -> shop.openMono().block(SOON), shop::limited)) {
			this.proxy.up();
			await().atMost(SOON)
				.until(() -> outcome(refused),
						(outcome) -> outcome.endsWith(PermitNotAcquiredException.class.getSimpleName()));
			assertThat(StringUtils.countOccurrencesOf(output.getAll(), WARNING)).isEqualTo(warnings++);
			this.proxy.down();
			assertThat(shop.interruptible()).isEqualTo("not held");
			assertThat(StringUtils.countOccurrencesOf(output.getAll(), WARNING)).isEqualTo(warnings);
		}
	}

	@Test
	@DisplayName("A refusal by this instance itself does not repeat the warning about an outage")
	void proceedAfterRefusalHere(CapturedOutput output) {
		Shop shop = shop(start("holdfast.redis.command-timeout=200ms", "holdfast.redis.outage-patience=5s",
				"holdfast.limits.waiters-per-key=1"));
		this.proxy.down();
		assertThat(shop.interruptible()).isEqualTo("not held");
		CompletableFuture<String> waiting = shop.waitingStage();
		assertThat(shop.waitingStage()).failsWithin(SOON)
			.withThrowableThat()
			.havingCause()
			.isInstanceOfSatisfying(PermitNotAcquiredException.class,
					(ex) -> assertThat(ex.getReason()).isEqualTo(Reason.TOO_MANY_WAITERS));
		assertThat(waiting).succeedsWithin(SOON).isEqualTo("not held");
		assertThat(StringUtils.countOccurrencesOf(output.getAll(), WARNING)).isEqualTo(1);
	}

	private static String outcome(Callable<String> call) throws Exception {
		try {
			return call.call();
		}
		catch (HoldfastException ex) {
			return ex.getClass().getName();
		}
		catch (ExecutionException ex) {
			return ex.getCause().getClass().getName();
		}
	}

	@Test
	@DisplayName("Observations mark calls without their permit")
	void observed() throws Exception {
		Instance instance = start();
		Shop shop = shop(instance);
		Observed observed = instance.context().getBean(Observed.class);
		shop.open();
		this.proxy.down();
		shop.open();
		shop.openStage().get(10, TimeUnit.SECONDS);
		shop.openMono().block(SOON);
		await().atMost(SOON)
			.untilAsserted(() -> assertThat(observed.ended).containsExactly("open false", "open true", "openStage true",
					"openMono true"));
	}

	@Test
	@DisplayName("With FALLBACK the fallback of a method of any return type is called, for locks and permits")
	void fallback() throws Exception {
		Shop shop = shop(start());
		assertThat(shop.locked()).isEqualTo("locked");
		this.proxy.down();
		assertThat(shop.locked()).isEqualTo("instead");
		assertThat(shop.lockedStage().get(10, TimeUnit.SECONDS)).isEqualTo("instead");
		assertThat(shop.lockedMono().block(SOON)).isEqualTo("instead");
		assertThat(shop.lockedAsync().get(10, TimeUnit.SECONDS)).isEqualTo("instead");
		assertThat(shop.limited()).isEqualTo("instead of LeaseStoreException");
	}

	@Test
	@DisplayName("By default the caller gets the exception, also for a lock inside of a permit that proceeds")
	void otherwise() {
		Shop shop = shop(start());
		this.proxy.down();
		assertThatExceptionOfType(LeaseStoreException.class).isThrownBy(shop::plainPermit);
		assertThatExceptionOfType(LeaseStoreException.class).isThrownBy(shop::plainLock);
		assertThatExceptionOfType(LeaseStoreException.class).isThrownBy(shop::both);
		assertThat(shop.plainMono().onErrorResume(LeaseStoreException.class, (ex) -> Mono.just("failed")).block(SOON))
			.isEqualTo("failed");
		assertThat(shop.ran()).isEmpty();
	}

	@Test
	@DisplayName("Properties set the default, which annotations override")
	void properties() {
		Shop shop = shop(
				start("holdfast.semaphore.on-store-failure=proceed", "holdfast.lock.on-store-failure=fallback"));
		this.proxy.down();
		assertThat(shop.plainPermit()).isEqualTo("not held");
		assertThat(shop.fallible()).isEqualTo("instead");
		assertThatExceptionOfType(LeaseStoreException.class).isThrownBy(shop::narrow);
		assertThatExceptionOfType(LeaseStoreException.class).isThrownBy(shop::plainLock);
		assertThatExceptionOfType(LeaseStoreException.class).isThrownBy(shop::throwing);
	}

	@Test
	@DisplayName("The lease of a call without its permit throws on each use")
	void lease() {
		Shop shop = shop(start());
		this.proxy.down();
		assertThatExceptionOfType(LeaseLostException.class).isThrownBy(shop::relying)
			.withMessageContaining("'relying' was not acquired")
			.withCauseInstanceOf(LeaseStoreException.class);
	}

	private static String state(Lease lease) {
		return lease.isHeld() ? "held" : "not held";
	}

	static class Shop {

		private final List<String> ran = new CopyOnWriteArrayList<>();

		@Semaphore(name = "open", limit = 1, onStoreFailure = OnStoreFailure.PROCEED)
		public String open() {
			return state(PermitLease.current());
		}

		@Semaphore(name = "open stage", limit = 1, onStoreFailure = OnStoreFailure.PROCEED)
		public CompletableFuture<String> openStage() {
			return CompletableFuture.completedFuture(state(PermitLease.current()));
		}

		@Semaphore(name = "waiting stage", limit = 1, waitTime = "1s", onStoreFailure = OnStoreFailure.PROCEED)
		public CompletableFuture<String> waitingStage() {
			return CompletableFuture.completedFuture(state(PermitLease.current()));
		}

		@Semaphore(name = "open mono", limit = 1, onStoreFailure = OnStoreFailure.PROCEED)
		public Mono<String> openMono() {
			return ReactiveLeaseContext.current().map((context) -> state(context.permits()));
		}

		@Async
		@Semaphore(name = "open async", limit = 1, onStoreFailure = OnStoreFailure.PROCEED)
		public CompletableFuture<String> openAsync() {
			return CompletableFuture.completedFuture(state(PermitLease.current()));
		}

		@Semaphore(name = "interruptible", limit = 1, onStoreFailure = OnStoreFailure.PROCEED,
				onLoss = OnLoss.INTERRUPT)
		public String interruptible() {
			return state(PermitLease.current());
		}

		@Semaphore(name = "relying", limit = 1, onStoreFailure = OnStoreFailure.PROCEED)
		public void relying() {
			PermitLease.current().ensureHeld();
		}

		@DistributedLock(name = "locked", waitTime = "200ms", onStoreFailure = OnStoreFailure.FALLBACK,
				fallback = "instead")
		public String locked() {
			return "locked";
		}

		@DistributedLock(name = "locked stage", waitTime = "200ms", onStoreFailure = OnStoreFailure.FALLBACK,
				fallback = "insteadOfStage")
		public CompletableFuture<String> lockedStage() {
			return CompletableFuture.completedFuture("locked");
		}

		@DistributedLock(name = "locked mono", waitTime = "200ms", onStoreFailure = OnStoreFailure.FALLBACK,
				fallback = "insteadOfMono")
		public Mono<String> lockedMono() {
			return Mono.just("locked");
		}

		@Async
		@DistributedLock(name = "locked async", waitTime = "200ms", onStoreFailure = OnStoreFailure.FALLBACK,
				fallback = "insteadOfStage")
		public CompletableFuture<String> lockedAsync() {
			return CompletableFuture.completedFuture("locked");
		}

		@Semaphore(name = "limited", limit = 1, onStoreFailure = OnStoreFailure.FALLBACK, fallback = "insteadOf")
		public String limited() {
			return "limited";
		}

		@Semaphore(name = "plain permit", limit = 1)
		public String plainPermit() {
			this.ran.add("plain permit");
			return state(PermitLease.current());
		}

		@DistributedLock(name = "plain lock", waitTime = "200ms")
		public void plainLock() {
			this.ran.add("plain lock");
		}

		@DistributedLock(name = "plain mono", waitTime = "200ms")
		public Mono<String> plainMono() {
			return Mono.fromSupplier(() -> {
				this.ran.add("plain mono");
				return "ran";
			});
		}

		@Semaphore(name = "both", limit = 1, onStoreFailure = OnStoreFailure.PROCEED)
		@DistributedLock(name = "both", waitTime = "200ms")
		public void both() {
			this.ran.add("both");
		}

		@DistributedLock(name = "fallible", waitTime = "200ms", fallback = "instead")
		public String fallible() {
			return "ran";
		}

		@DistributedLock(name = "narrow", waitTime = "200ms", fallback = "insteadOfBusy")
		public String narrow() {
			return "ran";
		}

		@Semaphore(name = "throwing", limit = 1, onStoreFailure = OnStoreFailure.THROW)
		public void throwing() {
			this.ran.add("throwing");
		}

		public List<String> ran() {
			return this.ran;
		}

		String instead() {
			return "instead";
		}

		String insteadOf(HoldfastException failure) {
			return "instead of " + failure.getClass().getSimpleName();
		}

		String insteadOfBusy(LockNotAcquiredException failure) {
			return "instead of " + failure.getReason();
		}

		CompletableFuture<String> insteadOfStage() {
			return CompletableFuture.completedFuture("instead");
		}

		Mono<String> insteadOfMono() {
			return Mono.just("instead");
		}

	}

	static class Observed implements ObservationHandler<Observation.Context> {

		private final List<String> ended = new CopyOnWriteArrayList<>();

		@Override
		public void onStop(Observation.Context context) {
			if ("holdfast.method".equals(context.getName())) {
				this.ended.add(context.getLowCardinalityKeyValue("method").getValue() + " "
						+ context.getLowCardinalityKeyValue("unguarded").getValue());
			}
		}

		@Override
		public boolean supportsContext(Observation.Context context) {
			return true;
		}

	}

	@Configuration(proxyBeanMethods = false)
	@EnableAsync
	@Import({ Shop.class, Observed.class })
	static class Application extends TestApplication {

		@Bean
		ObservationRegistry observationRegistry(Observed observed) {
			ObservationRegistry registry = ObservationRegistry.create();
			registry.observationConfig().observationHandler(observed);
			return registry;
		}

	}

}
