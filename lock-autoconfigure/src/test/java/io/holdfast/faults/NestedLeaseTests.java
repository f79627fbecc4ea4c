package io.holdfast.faults;

import java.time.Duration;

import io.holdfast.LockLease;
import io.holdfast.LockMode;
import io.holdfast.LockRequest;
import io.holdfast.ReleaseResult;
import io.holdfast.testing.TestRedis;
import io.holdfast.testing.WithRedis;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import static io.holdfast.faults.Fleet.SOON;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Nested leases with other terms than those around them.
 */
@WithRedis
class NestedLeaseTests {

	private static final String KEY = "nested";

	private final Fleet fleet;

	private final Instance instance;

	private final Instance other;

	NestedLeaseTests(TestRedis redis) {
		this.fleet = Fleet.on(redis);
		this.instance = this.fleet.start();
		this.other = this.fleet.start();
		this.instance.warmUp();
	}

	private static LockRequest request(LockMode mode) {
		return LockRequest.of(KEY).mode(mode).waitTime(Duration.ZERO);
	}

	@ParameterizedTest(name = "{0}: a long, renewed lease inside of a short one that is not outlives it")
	@EnumSource(names = { "EXCLUSIVE", "READ" })
	void longInsideOfShort(LockMode mode) {
		LockRequest request = request(mode);
		LockLease outer = this.instance.acquire(request.leaseTime(Duration.ofSeconds(5)).autoRenew(false));
		LockLease inner = this.instance.acquire(request.leaseTime(Duration.ofMinutes(1)));
		await("renewal").atMost(SOON).until(() -> inner.remaining().compareTo(Duration.ofSeconds(50)) > 0);
		assertThat(outer.release()).isEqualTo(ReleaseResult.RELEASED);
		assertThat(this.fleet.timeToLive(KEY)).isGreaterThan(Duration.ofSeconds(40));
		assertThat(this.other.locks().tryAcquire(request(LockMode.EXCLUSIVE))).isEmpty();
		assertThat(inner.release()).isEqualTo(ReleaseResult.RELEASED);
		this.other.acquire(request(LockMode.EXCLUSIVE)).release();
	}

	@ParameterizedTest(name = "{0}: a lease that is not renewed, and left to run out, does not keep the key for ever")
	@EnumSource(names = { "EXCLUSIVE", "READ" })
	void leftToRunOut(LockMode mode) {
		LockRequest request = request(mode).leaseTime(Duration.ofMillis(1500));
		LockLease outer = this.instance.acquire(request);
		LockLease inner = this.instance.acquire(request.autoRenew(false));
		assertThat(outer.release()).isEqualTo(ReleaseResult.RELEASED);
		await("the end of the lease").atMost(SOON).until(() -> !inner.isHeld());
		this.other.acquire(request.waitTime(SOON)).release();
	}

}
