package io.holdfast.faults;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.stream.IntStream;
import java.util.stream.Stream;

import io.holdfast.LeaseStoreException;
import io.holdfast.LockLease;
import io.holdfast.LockRequest;
import io.holdfast.testing.RedisCluster;
import io.holdfast.testing.RedisServer;
import io.holdfast.testing.Slow;
import io.holdfast.testing.TestRedis;
import io.holdfast.testing.WithRedis;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import static io.holdfast.faults.Fleet.SOON;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.awaitility.Awaitility.await;

/**
 * A master of a cluster is frozen for less than the time to its replacement.
 */
@WithRedis
@Slow
class StandingNodeTests {

	private static final Duration LEASE = Duration.ofSeconds(4);

	/** Less than the time after which a node counts as dead. */
	private static final Duration STANDING = Duration.ofSeconds(10);

	private final RedisCluster cluster;

	private final Fleet fleet;

	StandingNodeTests(TestRedis redis) {
		this.cluster = redis.startCluster(3);
		this.fleet = Fleet.on(redis, this.cluster);
	}

	private Stream<String> keysOf(RedisServer master) {
		return IntStream.iterate(0, (i) -> i + 1)
			.mapToObj((i) -> "key" + i)
			.filter((key) -> this.cluster.nodeOf(this.fleet.lockKey(key)) == master);
	}

	@Test
	@DisplayName("Many holds and waits at a frozen master cost no lease at the remaining masters")
	void othersGoOn() {
		RedisServer standing = this.cluster.nodes().get(0);
		RedisServer other = this.cluster.nodes().get(1);
		Instance instance = this.fleet.start();
		List<String> there = keysOf(standing).limit(40).toList();
		List<String> here = keysOf(other).limit(2).toList();
		LockLease lease = instance.acquire(LockRequest.of(here.get(0)).leaseTime(LEASE));
		List<LockLease> held = there.stream()
			.limit(20)
			.map((key) -> instance.acquire(LockRequest.of(key).leaseTime(Duration.ofMinutes(1))))
			.toList();
		standing.freeze();
		List<CompletableFuture<LockLease>> waiting = there.stream()
			.skip(20)
			.map((key) -> instance.locks().acquireAsync(LockRequest.of(key).waitTime(Duration.ofMinutes(1))))
			.toList();
		await("its time").during(STANDING).atMost(STANDING.plus(SOON)).until(() -> {
			instance.locks().acquire(LockRequest.of(here.get(1)).waitTime(SOON)).close();
			return lease.isHeld();
		});
		standing.thaw();
		waiting.forEach((each) -> assertThat(each.thenAccept(LockLease::close).exceptionally((error) -> null))
			.succeedsWithin(SOON.multipliedBy(2)));
		waiting.stream()
			.filter(CompletableFuture::isCompletedExceptionally)
			.forEach((each) -> assertThatExceptionOfType(CompletionException.class).isThrownBy(each::join)
				.withCauseInstanceOf(LeaseStoreException.class));
		held.forEach(LockLease::close);
		lease.close();
		this.fleet.awaitNothingLeft();
	}

}
