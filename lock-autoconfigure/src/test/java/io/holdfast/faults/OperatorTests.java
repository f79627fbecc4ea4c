package io.holdfast.faults;

import java.time.Duration;
import java.time.Instant;

import io.holdfast.LeaseStoreException;
import io.holdfast.LockLease;
import io.holdfast.LockMode;
import io.holdfast.LockRequest;
import io.holdfast.actuate.FleetDescriptor;
import io.holdfast.actuate.LocksEndpoint;
import io.holdfast.actuate.ResourceDescriptor;
import io.holdfast.actuate.SemaphoresEndpoint;
import io.holdfast.engine.fleet.Fleet;
import io.holdfast.engine.fleet.StandingQuery.Order;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import org.springframework.boot.actuate.endpoint.SecurityContext;

import static io.holdfast.faults.Fleet.SOON;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.awaitility.Awaitility.await;

/**
 * Log lines of operators' actions, and the age of locks in the operator's view.
 */
class OperatorTests extends ProxiedTestCase {

	private static final String UNKNOWN = "It is not known whether it was done";

	private static final Duration LONG = Duration.ofMillis(300);

	private Instance instance;

	private Instance other;

	private LogLines lines;

	@BeforeEach
	void start() {
		this.instance = this.fleet.start(this.proxy, "holdfast.redis.command-timeout=500ms");
		this.other = this.fleet.start();
		this.instance.warmUp();
		this.other.warmUp();
		await("each other").atMost(SOON).until(() -> Fleet.of(this.instance.engine()).members().size() == 2);
		this.lines = new LogLines();
	}

	@AfterEach
	void close() {
		this.lines.close();
	}

	private LocksEndpoint locks() {
		return new LocksEndpoint(this.instance.engine());
	}

	@Test
	@DisplayName("A forced release logs the owner's process, thread and fencing token")
	void tellsWhose() {
		LockLease lease = this.other.acquire(LockRequest.of("a"));
		locks().release("a", lease.fencingToken(), SecurityContext.NONE);
		String whose = "instance " + Fleet.of(this.other.engine()).instance();
		String fence = ", fencing token " + lease.fencingToken();
		assertThat(this.lines.aboveDebug())
			.contains("WARN Lock 'a' was released by force; its owner: OTHER_INSTANCE, " + whose + fence)
			.anyMatch((line) -> line.startsWith("INFO Released lock 'a' by force, " + whose + " (")
					&& line.contains(", process " + ProcessHandle.current().pid() + " on ")
					&& line.endsWith("), thread '" + Thread.currentThread().getName() + "'" + fence
							+ " (requested at an endpoint by an unknown user)"));
	}

	@Test
	@DisplayName("A forced release of a lease of the same instance logs its thread, and of a foreign lock no instance")
	void tellsOwn() {
		LockLease lease = this.instance.acquire(LockRequest.of("a"));
		locks().release("a", null, SecurityContext.NONE);
		assertThat(this.lines.aboveDebug()).contains("WARN Lock 'a' was released by force; its owner: THIS_INSTANCE, "
				+ "instance " + Fleet.of(this.instance.engine()).instance() + ", thread '"
				+ Thread.currentThread().getName() + "', fencing token " + lease.fencingToken());
		this.fleet.observer().opsForValue().set(this.fleet.lockKey("a"), "stranger", Duration.ofMinutes(1));
		locks().release("a", null, SecurityContext.NONE);
		assertThat(this.lines.aboveDebug()).contains("WARN Lock 'a' was released by force; its owner: FOREIGN",
				"INFO Released lock 'a' by force (requested at an endpoint by an unknown user)");
	}

	@Test
	@DisplayName("A change without an answer is logged with the key, the user, and its unknown outcome")
	void tellsOfTheUnknown() {
		this.proxy.blackHole();
		assertThatExceptionOfType(LeaseStoreException.class)
			.isThrownBy(
					() -> new SemaphoresEndpoint(this.instance.engine()).limit("calls", 9, null, SecurityContext.NONE))
			.withMessageEndingWith(UNKNOWN);
		assertThat(this.lines.aboveDebug()).contains("WARN The limit of semaphore 'calls' was to be set to 9 "
				+ "(requested at an endpoint by an unknown user). Setting the limit of semaphore 'calls' failed: the "
				+ "store (Redis) did not answer within 500 ms. " + UNKNOWN);
	}

	@Test
	@DisplayName("A forced release that fails before its command is logged without an unknown outcome")
	void tellsOfTheKnown() {
		this.proxy.blackHole();
		assertThatExceptionOfType(LeaseStoreException.class)
			.isThrownBy(() -> locks().release("a", null, SecurityContext.NONE));
		assertThat(this.lines.aboveDebug()).contains("WARN Lock 'a' was to be released by force "
				+ "(requested at an endpoint by an unknown user). The forced release of lock 'a' failed: the store "
				+ "(Redis) did not answer within 500 ms");
	}

	@Test
	@DisplayName("A forced release with a stale fencing token leaves the lock alone, and logs so")
	void leavesTheNextOneAlone() {
		LockLease first = this.other.acquire(LockRequest.of("a"));
		long seen = first.fencingToken();
		first.release();
		LockLease next = this.instance.acquire(LockRequest.of("a"));
		locks().release("a", seen, SecurityContext.NONE);
		assertThat(next.isHeld()).isTrue();
		assertThat(this.instance.locks().status("a").isLocked()).isTrue();
		assertThat(this.lines.aboveDebug()).contains("INFO Lock 'a' was not released: its fencing token is not " + seen
				+ " any more, but " + next.fencingToken() + ", so it was granted again since then (requested at an "
				+ "endpoint by an unknown user)");
		next.release();
		LockLease read = this.instance.acquire(LockRequest.of("a").mode(LockMode.READ));
		locks().release("a", next.fencingToken(), SecurityContext.NONE);
		assertThat(this.instance.locks().status("a").isLocked()).isTrue();
		read.release();
		// The last fence is that of the former lease.
		long last = this.instance.locks().status("a").fencingToken();
		this.fleet.observer().opsForValue().set(this.fleet.lockKey("a"), "stranger", Duration.ofMinutes(1));
		locks().release("a", last, SecurityContext.NONE);
		assertThat(this.instance.locks().status("a").isLocked()).isTrue();
	}

	@Test
	@DisplayName("A lock of readers is as old as its oldest reader, with any number of later readers")
	void oldestReader() {
		LockRequest read = LockRequest.of("rw").mode(LockMode.READ);
		try (LockLease old = this.other.acquire(read)) {
			Instant granted = Instant.now();
			await("age").until(() -> Duration.between(granted, Instant.now()).compareTo(LONG) > 0);
			try (LockLease young = this.instance.acquire(read); LockLease other = this.instance.acquire("other")) {
				assertThat(young.fencingToken()).isBetween(old.fencingToken(), other.fencingToken());
				// An instance may be too slow for its report.
				await("both reports").atMost(SOON).untilAsserted(() -> {
					FleetDescriptor found = locks().locks(null, null, null, null, null, LONG, Order.AGE, null).fleet();
					assertThat(found.locks()).extracting(ResourceDescriptor::key).startsWith("rw");
					assertThat(found.locks().get(0).granted()).isBefore(granted.plus(LONG.dividedBy(2)));
					found = locks().locks(null, null, null, null, null, null, Order.AGE, null).fleet();
					assertThat(found.locks()).extracting(ResourceDescriptor::key).containsExactly("rw", "other");
				});
			}
		}
	}

}
