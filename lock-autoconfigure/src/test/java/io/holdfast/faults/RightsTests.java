package io.holdfast.faults;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.stream.Stream;

import io.holdfast.HoldfastException;
import io.holdfast.Lease;
import io.holdfast.LeaseStoreException;
import io.holdfast.SemaphoreRequest;
import io.holdfast.testing.DocumentedRights;
import io.holdfast.testing.Slow;
import io.holdfast.testing.TestRedis;
import io.holdfast.testing.WithRedis;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import org.springframework.data.redis.core.script.RedisScript;

import static io.holdfast.faults.Fleet.SOON;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * A Redis user with the rights for Holdfast's commands, and no more.
 */
@WithRedis
@Slow
class RightsTests {

	private static final DocumentedRights RIGHTS = DocumentedRights.ofLeases();

	/**
	 * Dispensable rights: without them Holdfast polls, waits longer for dead waiters, or
	 * requests keys one at a time.
	 */
	private static final List<String> DISPENSABLE = List.of("&holdfast:wake:*", "+publish", "+pubsub", "+subscribe",
			"+unsubscribe", "+mget");

	private static final RedisScript<Long> CHANNELS = RedisScript
		.of("return #redis.call('PUBSUB', 'CHANNELS', 'holdfast:wake:*')", Long.class);

	private static final Duration BRIEF = Duration.ofMillis(200);

	private final Fleet fleet;

	private int round;

	RightsTests(TestRedis redis) {
		this.fleet = Fleet.on(redis, redis.startServer());
		allow(RIGHTS);
	}

	@AfterEach
	void close() {
		this.fleet.setUser("+@all", "allkeys", "allchannels");
		this.fleet.close();
	}

	private void allow(DocumentedRights rights) {
		// Not "reset", which also closes the user's connections.
		this.fleet.setUser(Stream
			.concat(Stream.of("on", ">secret", "resetkeys", "resetchannels", "-@all"), rights.rights().stream())
			.toArray(String[]::new));
	}

	private Instance start(String... properties) {
		return this.fleet.start(Stream.concat(
				Stream.of("spring.data.redis.username=app", "spring.data.redis.password=secret",
						"holdfast.lock.key-prefix=lock:", "holdfast.semaphore.key-prefix=semaphore:",
						"holdfast.semaphore.lease-time=1s", "holdfast.wake-up.channel-prefix=holdfast:wake:"),
				Stream.of(properties))
			.toArray(String[]::new));
	}

	private void awaitListening(int count) {
		await("subscriptions").atMost(SOON).until(() -> this.fleet.observer().execute(CHANNELS, List.of()) == count);
	}

	/** Use all features, and go on after failures. */
	private List<HoldfastException> useAll(Instance instance, Instance other) {
		String key = "key-" + this.round++;
		List<HoldfastException> failures = new ArrayList<>();
		SemaphoreRequest semaphore = SemaphoreRequest.of(key, 5).leaseTime(Duration.ofSeconds(1)).waitTime(SOON);
		// Each script is sent in full again.
		this.fleet.onServer((connection) -> connection.scriptingCommands().scriptFlush());
		tell(failures, () -> instance.locks().status(key));
		for (Pool pool : Pool.values()) {
			PoolRequest request = new PoolRequest(pool, key + pool).leaseTime(Duration.ofSeconds(1)).waitTime(SOON);
			tell(failures, () -> handOver(request.all().acquireAsync(instance), () -> request.acquireAsync(other)));
			tell(failures, () -> handOver(request.acquireAsync(instance), () -> request.all().acquireAsync(other)));
		}
		// With a hash tag, the names in Redis have another start.
		tell(failures, () -> instance.semaphores().acquire(SemaphoreRequest.of("{" + key + "}:tagged", 1)).close());
		tell(failures, () -> instance.semaphores().admin().setLimit(key, 4));
		tell(failures, () -> instance.semaphores().admin().clearLimit(key));
		tell(failures, () -> {
			// The next request removes the ended lease.
			instance.semaphores().acquire(semaphore.leaseTime(Duration.ofMillis(100)).autoRenew(false));
			other.semaphores().acquire(semaphore.leaseTime(BRIEF)).close();
			await().until(() -> other.semaphores().status(key).used() == 0);
			other.semaphores().acquire(semaphore.permits(5)).close();
		});
		return failures;
	}

	private interface Asked {

		CompletableFuture<? extends Lease> ask();

	}

	private void handOver(CompletableFuture<? extends Lease> first, Asked next) throws Exception {
		try (Lease lease = get(first)) {
			CompletableFuture<? extends Lease> waiting = next.ask();
			// The required commands depend on the order of both.
			await("the next request in the queue, or refused").atMost(SOON)
				.until(() -> waiting.isDone() || !this.fleet.observer().keys("*" + lease.key() + "}:*queue").isEmpty());
			lease.extend(Duration.ofSeconds(2));
			lease.release();
			get(waiting).release();
		}
	}

	private static Lease get(CompletableFuture<? extends Lease> lease) throws Exception {
		try {
			return lease.orTimeout(3, TimeUnit.SECONDS).join();
		}
		catch (CompletionException ex) {
			throw (Exception) ex.getCause();
		}
	}

	private interface Use {

		void run() throws Exception;

	}

	private static void tell(List<HoldfastException> failures, Use use) {
		try {
			use.run();
		}
		catch (HoldfastException ex) {
			failures.add(ex);
		}
		catch (TimeoutException ex) {
			failures.add(new HoldfastException("-", "timed out", ex) {
			});
		}
		catch (Exception ex) {
			throw new IllegalStateException(ex);
		}
	}

	@Test
	@DisplayName("F35 The documented rights are enough for locks, permits, readers and writers, and each missing right"
			+ " is named")
	void rights() {
		Instance instance = start();
		Instance other = start();
		awaitListening(2);
		assertThat(useAll(instance, other)).as("trouble with all rights").isEmpty();
		await("nothing left but fences").atMost(SOON)
			.until(() -> this.fleet.observer().keys("*"),
					(keys) -> keys.stream().allMatch((key) -> key.endsWith(":fence")));
		List<String> unnoticed = new ArrayList<>();
		for (String right : RIGHTS.rights()) {
			allow(RIGHTS.without(right));
			List<HoldfastException> failures = useAll(instance, other);
			if (failures.isEmpty()) {
				unnoticed.add(right);
			}
			else {
				assertThat(failures).as("without " + right)
					.anySatisfy((ex) -> assertThat(ex).isInstanceOf(LeaseStoreException.class)
						.hasMessageContaining("does not give the application's user a right")
						.hasMessageMatching("(?s).*"
								+ (right.startsWith("~") ? "access.* (a key|the keys)" : " " + right.substring(1))
								+ ".*"));
			}
		}
		assertThat(unnoticed).containsExactlyInAnyOrderElementsOf(DISPENSABLE);
		allow(RIGHTS);
		assertThat(useAll(instance, other)).as("trouble with all rights again").isEmpty();
	}

}
