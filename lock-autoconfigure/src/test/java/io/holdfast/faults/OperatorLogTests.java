package io.holdfast.faults;

import java.time.Duration;

import io.holdfast.LeaseStoreException;
import io.holdfast.LockLease;
import io.holdfast.LockMode;
import io.holdfast.LockRequest;
import io.holdfast.actuate.LocksEndpoint;
import io.holdfast.actuate.SemaphoresEndpoint;
import io.holdfast.engine.LeaseEngine;
import io.holdfast.engine.fleet.Fleet;
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
 * What the log tells the morning after of what operators have done.
 */
class OperatorLogTests extends ProxiedTestCase {

	private static final String UNKNOWN = "It is not known whether it was done";

	private Instance instance;

	private Instance other;

	private LogLines lines;

	@BeforeEach
	void start() {
		this.instance = this.fleet.start(this.proxy, "holdfast.redis.command-timeout=500ms");
		this.other = this.fleet.start();
		this.instance.warmUp();
		this.other.warmUp();
		await("each other").atMost(SOON).until(() -> Fleet.of(engine(this.instance)).members().size() == 2);
		this.lines = new LogLines();
	}

	@AfterEach
	void close() {
		this.lines.close();
	}

	private static LeaseEngine engine(Instance instance) {
		return instance.context().getBean(LeaseEngine.class);
	}

	private LocksEndpoint locks() {
		return new LocksEndpoint(engine(this.instance));
	}

	@Test
	@DisplayName("A release by force tells whose lease it was: which process, thread and fencing token")
	void tellsWhose() {
		LockLease lease = this.other.acquire(LockRequest.of("a"));
		locks().release("a", lease.fencingToken(), SecurityContext.NONE);
		String whose = "instance " + Fleet.of(engine(this.other)).instance();
		String fence = ", fencing token " + lease.fencingToken();
		assertThat(this.lines.aboveDebug())
			.contains("WARN Lock 'a' was released by force; its owner: OTHER_INSTANCE, " + whose + fence)
			.anyMatch((line) -> line.startsWith("INFO Released lock 'a' by force, " + whose + " (")
					&& line.contains(", process " + ProcessHandle.current().pid() + " on ")
					&& line.endsWith("), thread '" + Thread.currentThread().getName() + "'" + fence
							+ ", as an endpoint was asked by an unknown user"));
	}

	@Test
	@DisplayName("A release by force of a lease of the same instance names its thread, and one of a stranger no instance")
	void tellsOwn() {
		LockLease lease = this.instance.acquire(LockRequest.of("a"));
		locks().release("a", null, SecurityContext.NONE);
		assertThat(this.lines.aboveDebug()).contains("WARN Lock 'a' was released by force; its owner: THIS_INSTANCE, "
				+ "instance " + Fleet.of(engine(this.instance)).instance() + ", thread '"
				+ Thread.currentThread().getName() + "', fencing token " + lease.fencingToken());
		this.fleet.observer().opsForValue().set(this.fleet.lockKey("a"), "stranger", Duration.ofMinutes(1));
		locks().release("a", null, SecurityContext.NONE);
		assertThat(this.lines.aboveDebug()).contains("WARN Lock 'a' was released by force; its owner: FOREIGN",
				"INFO Released lock 'a' by force, as an endpoint was asked by an unknown user");
	}

	@Test
	@DisplayName("A change whose answer does not come is logged with the key, the user, and that its end is not known")
	void tellsOfTheUnknown() {
		this.proxy.blackHole();
		assertThatExceptionOfType(LeaseStoreException.class)
			.isThrownBy(
					() -> new SemaphoresEndpoint(engine(this.instance)).limit("calls", 9, null, SecurityContext.NONE))
			.withMessageEndingWith(UNKNOWN);
		assertThat(this.lines.aboveDebug()).contains("WARN The limit of semaphore 'calls' was to be set to 9, as an "
				+ "endpoint was asked by an unknown user. Setting the limit of semaphore 'calls' failed: the store "
				+ "(Redis) did not answer within 500 ms. " + UNKNOWN);
	}

	@Test
	@DisplayName("A release by force whose lock could not even be looked at is logged without a doubt")
	void tellsOfTheKnown() {
		this.proxy.blackHole();
		assertThatExceptionOfType(LeaseStoreException.class)
			.isThrownBy(() -> locks().release("a", null, SecurityContext.NONE));
		assertThat(this.lines.aboveDebug()).contains("WARN Lock 'a' was to be released by force, as an endpoint was "
				+ "asked by an unknown user. The inspection of lock 'a' failed: the store (Redis) did not answer "
				+ "within 500 ms");
	}

	@Test
	@DisplayName("A release by force with another fencing token than that of the lock leaves it alone, and says so")
	void leavesTheNextOneAlone() {
		LockLease first = this.other.acquire(LockRequest.of("a"));
		long seen = first.fencingToken();
		first.release();
		LockLease next = this.instance.acquire(LockRequest.of("a"));
		locks().release("a", seen, SecurityContext.NONE);
		assertThat(next.isHeld()).isTrue();
		assertThat(this.instance.locks().status("a").isLocked()).isTrue();
		assertThat(this.lines.aboveDebug()).contains("INFO Lock 'a' was not released: its fencing token is not " + seen
				+ " any more, but " + next.fencingToken() + ", so it was granted again since then, as an endpoint was "
				+ "asked by an unknown user");
		next.release();
		LockLease read = this.instance.acquire(LockRequest.of("a").mode(LockMode.READ));
		locks().release("a", next.fencingToken(), SecurityContext.NONE);
		assertThat(this.instance.locks().status("a").isLocked()).isTrue();
		read.release();
		// What is remembered is the fence of the one before.
		long last = this.instance.locks().status("a").fencingToken();
		this.fleet.observer().opsForValue().set(this.fleet.lockKey("a"), "stranger", Duration.ofMinutes(1));
		locks().release("a", last, SecurityContext.NONE);
		assertThat(this.instance.locks().status("a").isLocked()).isTrue();
	}

}
