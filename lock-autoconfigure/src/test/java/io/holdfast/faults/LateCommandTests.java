package io.holdfast.faults;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicInteger;

import io.holdfast.LockLease;
import io.holdfast.LockRequest;
import io.holdfast.ReleaseResult;
import io.holdfast.testing.Order;
import io.holdfast.testing.RedisServer;
import io.holdfast.testing.Slow;
import io.holdfast.testing.TestRedis;
import io.holdfast.testing.WithRedis;
import io.lettuce.core.KillArgs;
import io.lettuce.core.api.async.RedisServerAsyncCommands;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import org.springframework.data.redis.core.RedisCallback;

import static io.holdfast.faults.Fleet.SOON;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Releases that bring in the next waiter, and run behind the release of that waiter:
 * after a reconnect, or where Redis needs the script again.
 */
@WithRedis
@Slow
class LateCommandTests {

	private final Fleet fleet;

	private final Instance instance;

	private final Instance other;

	LateCommandTests(TestRedis redis) {
		RedisServer server = redis.startServer();
		this.fleet = Fleet.on(redis, server);
		this.instance = this.fleet.start(Order.STRICT.properties());
		this.other = this.fleet.start(Order.STRICT.properties());
		this.fleet.awaitListening(2);
	}

	@Test
	@DisplayName("F15 A waiter that gives up while scripts are flushed leaves no lock behind")
	void scriptFlush() {
		AtomicInteger flushes = new AtomicInteger();
		CompletableFuture<Integer> rounds = Instance.inBackground(() -> giveUpUntil(flushes, 3000));
		while (!rounds.isDone()) {
			this.fleet.onServer((connection) -> connection.scriptingCommands().scriptFlush());
			flushes.incrementAndGet();
		}
		assertThat(rounds).succeedsWithin(SOON).satisfies((count) -> assertThat(count).isGreaterThan(100));
		this.fleet.awaitNothingLeft();
	}

	@Test
	@DisplayName("F5 A waiter that gives up while connections are killed leaves no lock behind")
	void killedConnections() {
		AtomicInteger kills = new AtomicInteger();
		CompletableFuture<Integer> rounds = Instance.inBackground(() -> giveUpUntil(kills, 60));
		while (!rounds.isDone()) {
			awaitConnected(this.other);
			RedisCallback<Object> kill = (
					connection) -> ((RedisServerAsyncCommands<?, ?>) connection.getNativeConnection())
						.clientKill(KillArgs.Builder.typeNormal().skipme())
						.toCompletableFuture()
						.join();
			this.fleet.observer().execute(kill);
			kills.incrementAndGet();
		}
		assertThat(rounds).succeedsWithin(SOON).satisfies((count) -> assertThat(count).isGreaterThan(100));
		this.fleet.awaitNothingLeft();
	}

	/** Have waiters give up at the moment of their grant, round after round. */
	private int giveUpUntil(AtomicInteger faults, int enough) {
		AtomicInteger rounds = new AtomicInteger();
		List<CompletableFuture<?>> users = new ArrayList<>();
		// Several users, so that a script is repeated while a user gives up.
		for (int i = 0; i < 4; i++) {
			users.add(Instance.inBackground(() -> {
				while (faults.get() < enough) {
					giveUp(request("key-" + rounds.getAndIncrement()));
				}
				return true;
			}));
		}
		users.forEach(CompletableFuture::join);
		awaitConnected(this.instance);
		return rounds.get();
	}

	private void giveUp(LockRequest request) {
		this.instance.locks().tryAcquireAsync(request).thenAccept((held) -> {
			CompletableFuture<LockLease> waiting = this.instance.locks().acquireAsync(request);
			held.orElseThrow().releaseAsync();
			for (int spins = ThreadLocalRandom.current().nextInt(2000); spins > 0; spins--) {
				Thread.onSpinWait();
			}
			if (!waiting.cancel(false)) {
				waiting.thenAccept(LockLease::releaseAsync);
			}
		}).exceptionally((error) -> null).join();
	}

	/** A lock without an owner would last for a minute, longer than a test waits. */
	private static LockRequest request(String key) {
		return LockRequest.of(key).leaseTime(SOON.multipliedBy(6)).waitTime(SOON);
	}

	/** Wait for a connection, since commands during a cut may fail. */
	private static void awaitConnected(Instance instance) {
		await("a connection").atMost(SOON)
			.ignoreExceptions()
			.until(() -> instance.acquire(request("probe")).release() == ReleaseResult.RELEASED);
	}

}
