package io.holdfast.faults;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;

import io.holdfast.LockLease;
import io.holdfast.LockRequest;
import io.holdfast.ReleaseResult;
import io.holdfast.testing.Slow;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import org.springframework.context.Lifecycle;
import org.springframework.data.redis.connection.RedisConnectionFactory;

import static io.holdfast.faults.Fleet.SOON;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * A paused context, as Spring pauses cached test contexts.
 */
@Slow
class PausedContextTests extends FaultTestCase {

	private static final Duration LEASE = Duration.ofSeconds(2);

	@ParameterizedTest(name = "Leases are renewed while the context is paused, without a log line ({0})")
	@ValueSource(strings = { "lettuce", "jedis" })
	void keepsLeases(String driver) {
		Instance instance = this.fleet.start("spring.data.redis.client-type=" + driver);
		Instance other = this.fleet.start();
		this.fleet.awaitListening(2);
		LockLease lease = instance.acquire(LockRequest.of("paused").leaseTime(LEASE));
		CompletableFuture<LockLease> waiting = other
			.acquireInBackground(LockRequest.of("paused").waitTime(Duration.ofMinutes(1)));
		this.fleet.awaitQueued("paused");
		try (LogLines lines = new LogLines()) {
			instance.context().pause();
			assertThat(((Lifecycle) instance.context().getBean(RedisConnectionFactory.class)).isRunning()).isFalse();
			await("more than a lease").during(LEASE.multipliedBy(2))
				.atMost(SOON)
				.until(() -> lease.isHeld() && this.fleet.isLocked("paused") && this.fleet.channels() == 2);
			instance.context().restart();
			assertThat(lease.release()).isEqualTo(ReleaseResult.RELEASED);
			assertThat(waiting).succeedsWithin(SOON).satisfies(LockLease::close);
			assertThat(lines.aboveDebug()).isEmpty();
		}
		this.fleet.awaitNothingLeft();
	}

}
