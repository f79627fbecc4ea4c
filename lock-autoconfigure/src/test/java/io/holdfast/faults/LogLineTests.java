package io.holdfast.faults;

import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.regex.Pattern;

import io.holdfast.LeaseLostException;
import io.holdfast.LockLease;
import io.holdfast.LockMode;
import io.holdfast.LockRequest;
import io.holdfast.PermitLease;
import io.holdfast.SemaphoreRequest;
import io.holdfast.annotation.DistributedLock;
import io.holdfast.annotation.OnLoss;
import io.holdfast.testing.Slow;
import io.holdfast.testing.TestApplication;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;

import static io.holdfast.faults.Fleet.SOON;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.awaitility.Awaitility.await;

/**
 * Log lines: none for normal operation, and a single line for each problem.
 */
class LogLineTests extends FaultTestCase {

	private static final Pattern TOKEN = Pattern.compile("[0-9a-f]{32}");

	/** Long enough for a busy machine to renew the lease in time. */
	private static final Duration LEASE = Duration.ofSeconds(3);

	private static final LockRequest LOCK = LockRequest.of("a").waitTime(SOON).leaseTime(LEASE);

	private static final SemaphoreRequest PERMIT = SemaphoreRequest.of("a", 2).waitTime(SOON).leaseTime(LEASE);

	private Instance instance;

	private Instance other;

	private LogLines lines;

	@BeforeEach
	void start() {
		this.instance = this.fleet.start(Application.class);
		this.other = this.fleet.start();
		this.instance.warmUp();
		this.other.warmUp();
		this.lines = new LogLines();
	}

	@AfterEach
	void close() {
		this.lines.close();
		this.fleet.close();
	}

	private Worker worker() {
		return this.instance.context().getBean(Worker.class);
	}

	/** A use ends, the next request takes over. */
	private void handOver(LockRequest request) throws Exception {
		LockLease lease = this.instance.acquire(request);
		CompletableFuture<LockLease> next = this.other.locks().acquireAsync(request);
		CompletableFuture<LockLease> last = this.instance.locks().acquireAsync(request);
		lease.release();
		// In either order.
		CompletableFuture.allOf(next.thenCompose(LockLease::releaseAsync), last.thenCompose(LockLease::releaseAsync))
			.get();
	}

	@Slow
	@Test
	@DisplayName("Normal traffic logs nothing above DEBUG, and no token at any level")
	void silence() throws Exception {
		handOver(LOCK);
		handOver(LOCK.mode(LockMode.EXCLUSIVE));
		handOver(LockRequest.ofAll(List.of("b", "c")).waitTime(SOON));
		try (LockLease reader = this.instance.acquire(LOCK.mode(LockMode.READ));
				LockLease second = this.other.acquire(LOCK.mode(LockMode.READ));
				LockLease nested = this.instance.acquire(LOCK.mode(LockMode.READ))) {
			assertThat(List.of(reader, second, nested)).allMatch(LockLease::isHeld);
		}
		try (LockLease held = this.instance.acquire(LOCK)) {
			Optional<LockLease> late = this.other.locks().tryAcquire(LOCK.waitTime(LEASE.dividedBy(2)));
			assertThat(late).isEmpty();
			assertThat(held.isHeld()).as("renewed").isTrue();
			CompletableFuture<LockLease> givenUp = this.other.locks().acquireAsync(LOCK);
			givenUp.cancel(true);
		}
		try (PermitLease one = this.instance.acquire(PERMIT); PermitLease two = this.other.acquire(PERMIT)) {
			assertThat(this.other.semaphores().tryAcquire(PERMIT.waitTime(Duration.ZERO))).isEmpty();
			CompletableFuture<PermitLease> next = this.other.semaphores().acquireAsync(PERMIT);
			one.release();
			next.get().close();
			assertThat(two.isHeld()).isTrue();
		}
		this.instance.acquire(LOCK.minHold(Duration.ofMillis(200))).close();
		this.other.acquire(LOCK).close();
		worker().work(() -> {
		});
		this.other.locks().status("a");
		this.instance.close();
		this.other.close();
		assertThat(this.lines.aboveDebug()).isEmpty();
		assertThat(this.lines.all()).noneMatch(TOKEN.asPredicate());
	}

	@Test
	@DisplayName("A lost lease is one line with its holder and the reason; so is the exception")
	void lost() {
		assertThatExceptionOfType(LeaseLostException.class).isThrownBy(() -> worker().work(() -> {
			LockLease lease = LockLease.current();
			this.redis.template().delete(this.redis.keyPrefix() + "worker");
			await("loss").atMost(SOON).until(() -> !lease.isHeld());
			assertThatExceptionOfType(LeaseLostException.class).isThrownBy(lease::ensureHeld)
				.withMessageContaining("it was lost, because the store says that it has another owner, or none");
		})).withMessageContaining("was lost while").withMessageContaining("has another owner, or none");
		assertThat(this.lines.aboveDebug()).singleElement()
			.asString()
			.startsWith("WARN The lease of lock 'worker' (fencing token ")
			.containsPattern("\\), for worker, was lost after \\d+ ms: the store says that it has another owner");
	}

	@Test
	@DisplayName("A lease that outlives its time is one line at its release, not at its end")
	void late() {
		LockLease lease = this.instance.acquire(LOCK.autoRenew(false).name("import").leaseTime(Duration.ofMillis(100)));
		await("end").atMost(SOON).until(() -> !lease.isHeld());
		assertThatExceptionOfType(LeaseLostException.class).isThrownBy(lease::ensureHeld)
			.withMessageContaining("it was lost, because its lease time was over");
		assertThat(this.lines.aboveDebug()).isEmpty();
		lease.release();
		assertThat(this.lines.aboveDebug()).singleElement()
			.asString()
			.contains("for import, was over before it was released");
	}

	@Test
	@DisplayName("A foreign key without an end is one line, after any number of requests")
	void withoutEnd() {
		this.redis.template().opsForValue().set(this.redis.keyPrefix() + "a", "stranger");
		for (int i = 0; i < 3; i++) {
			assertThat(this.instance.locks().tryAcquire(LOCK.waitTime(Duration.ZERO))).isEmpty();
		}
		assertThat(this.lines.aboveDebug()).singleElement()
			.asString()
			.contains("WARN", "The lock key '" + this.redis.keyPrefix() + "a' has no expiry");
	}

	@Test
	@DisplayName("A release by force is one line at the releasing instance, and one line at the holder")
	void forced() {
		LockLease lease = this.instance.acquire(LOCK);
		this.other.locks().admin().forceRelease("a");
		await("loss").atMost(SOON).until(() -> !lease.isHeld());
		assertThat(this.other.locks().admin().forceRelease("a")).isFalse();
		assertThat(this.lines.aboveDebug()).hasSize(2)
			.anyMatch((line) -> line.startsWith("WARN Lock 'a' was released by force; its owner: "))
			.anyMatch((line) -> line.startsWith("WARN The lease of lock 'a' (fencing token "));
		assertThat(this.lines.all()).noneMatch(TOKEN.asPredicate());
	}

	@Configuration(proxyBeanMethods = false)
	@Import(Worker.class)
	static class Application extends TestApplication {

	}

	static class Worker {

		@DistributedLock(name = "worker", leaseTime = "3s", onLoss = OnLoss.THROW)
		public void work(Runnable work) {
			work.run();
		}

	}

}
