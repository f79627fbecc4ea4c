package io.holdfast.faults;

import java.time.Duration;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

import io.holdfast.Lease;
import io.holdfast.LeaseStoreException;
import io.holdfast.LockLease;
import io.holdfast.LockMode;
import io.holdfast.LockRequest;
import io.holdfast.ReleaseResult;
import io.holdfast.SemaphoreRequest;
import io.holdfast.async.CallResult;
import io.holdfast.testing.FaultProxy;
import io.holdfast.testing.RedisServer;
import io.holdfast.testing.Slow;
import io.holdfast.testing.TestRedis;
import io.holdfast.testing.WithRedis;
import org.assertj.core.api.InstanceOfAssertFactories;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import org.springframework.data.redis.core.RedisCallback;
import org.springframework.data.redis.core.StringRedisTemplate;

import static io.holdfast.faults.Fleet.SOON;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

/**
 * An acquired lease is at a replica; otherwise it is not acquired.
 */
@WithRedis
class MinReplicasTests {

	private static final String KEY = "min-replicas";

	private static final String ONE = "holdfast.redis.min-replicas=1";

	/**
	 * Longer than any test: an earlier answer did not wait for a replica.
	 */
	private static final String PATIENT = "holdfast.redis.replica-timeout=10s";

	private static final String SHORT = "holdfast.redis.replica-timeout=100ms";

	private static final LockRequest REQUEST = LockRequest.of(KEY).waitTime(SOON).leaseTime(Duration.ofMinutes(1));

	private final TestRedis redis;

	private final RedisServer master;

	/** Proxy between the master and its replica. */
	private final FaultProxy link;

	private final RedisServer replica;

	private final Fleet fleet;

	MinReplicasTests(TestRedis redis) {
		this.redis = redis;
		this.master = redis.startServer();
		this.link = FaultProxy.to(this.master.host(), this.master.port());
		this.replica = redis.startServer("--replicaof", this.link.host(), Integer.toString(this.link.port()));
		this.fleet = Fleet.on(redis, this.master);
		await("replica").atMost(Duration.ofSeconds(20))
			.until(() -> info("replication").values().toString().contains("state=online"));
	}

	@AfterEach
	void close() {
		this.fleet.close();
		this.link.close();
	}

	private Properties info(String section) {
		return this.fleet.observer()
			.execute((RedisCallback<Properties>) (connection) -> connection.serverCommands().info(section));
	}

	/** How many WAITs were over. */
	private long waits() {
		Matcher matcher = Pattern.compile("cmdstat_wait=calls=(\\d+)").matcher(info("commandstats").toString());
		return matcher.find() ? Long.parseLong(matcher.group(1)) : 0;
	}

	private long blocked() {
		return Long.parseLong(info("clients").getProperty("blocked_clients"));
	}

	private StringRedisTemplate atReplica() {
		return new StringRedisTemplate(this.redis.connectionFactory(this.replica.host(), this.replica.port()));
	}

	private static List<String> warnings(LogLines log) {
		return log.aboveDebug().stream().filter((line) -> line.contains("replicas")).toList();
	}

	private enum Kind {

		LOCK((instance) -> instance.acquire(REQUEST), "%s"),

		READ((instance) -> instance.acquire(REQUEST.mode(LockMode.READ)), "%s"),

		WRITE((instance) -> instance.acquire(REQUEST.mode(LockMode.EXCLUSIVE)), "%s"),

		PERMITS((instance) -> instance.acquire(SemaphoreRequest.of(KEY, 3).permits(2).waitTime(SOON)),
				"{%ssemaphore:" + KEY + "}:holders"),

		SEVERAL((instance) -> instance.acquire(LockRequest.ofAll(List.of("a", "b", KEY)).waitTime(SOON)), "%s"),

		LATER((instance) -> instance.locks().acquireAsync(REQUEST).join(), "%s");

		private final Function<Instance, Lease> acquisition;

		private final String key;

		Kind(Function<Instance, Lease> acquisition, String key) {
			this.acquisition = acquisition;
			this.key = key.equals("%s") ? "%s" + KEY : key;
		}

		String key(TestRedis redis) {
			return this.key.formatted(redis.keyPrefix());
		}

	}

	@ParameterizedTest(name = "{0}: The holder finds its lease at the replica that takes over")
	@EnumSource
	void isAtTheReplica(Kind kind) {
		Instance instance = this.fleet.start(ONE, PATIENT);
		instance.warmUp();
		this.link.delay(Duration.ofMillis(300));
		Lease lease = kind.acquisition.apply(instance);
		this.link.down();
		StringRedisTemplate promoted = atReplica();
		promoted.execute((RedisCallback<Object>) (connection) -> {
			connection.serverCommands().replicaOfNoOne();
			return true;
		});
		assertThat(promoted.hasKey(kind.key(this.redis))).isTrue();
		assertThat(lease.isHeld()).isTrue();
		assertThat(lease.release()).isEqualTo(ReleaseResult.RELEASED);
	}

	@Test
	@DisplayName("Without the property no request waits for replicas, and no connection is opened for that")
	void off() {
		Instance instance = this.fleet.start(SHORT);
		this.replica.freeze();
		instance.acquire(REQUEST).release();
		instance.acquire(SemaphoreRequest.of(KEY, 3)).release();
		assertThat(waits()).isZero();
		this.fleet.awaitListening(1);
		int connections = this.fleet.connections();
		this.fleet.start(ONE);
		await("a connection more than the other's two").atMost(SOON)
			.until(() -> this.fleet.connections() == connections + 3);
	}

	@Test
	@DisplayName("F29 Too few replicas in time: a clear error, the key is free at once, one warning; grants are"
			+ " possible again later")
	void tooFew() {
		Instance instance = this.fleet.start(ONE, SHORT);
		instance.warmUp();
		this.replica.freeze();
		try (LogLines log = new LogLines()) {
			for (int i = 0; i < 3; i++) {
				assertThatExceptionOfType(LeaseStoreException.class).isThrownBy(() -> instance.tryAcquire(KEY))
					.withMessageContainingAll(KEY, "within 100 ms (holdfast.redis.replica-timeout)",
							"only 0 of its replicas", "holdfast.redis.min-replicas is 1")
					.satisfies((ex) -> assertThat(ex.getKey()).isEqualTo(KEY));
				assertThatExceptionOfType(LeaseStoreException.class)
					.isThrownBy(() -> instance.acquire(SemaphoreRequest.of(KEY, 3)));
				this.fleet.awaitNothingLeft();
			}
			assertThat(warnings(log)).singleElement().asString().startsWith("WARN ").contains("min-replicas is 1");
			this.replica.thaw();
			await().atMost(SOON).ignoreException(LeaseStoreException.class).untilAsserted(() -> {
				assertThat(instance.tryAcquire(KEY)).hasValueSatisfying(LockLease::release);
				assertThat(instance.acquire(SemaphoreRequest.of(KEY, 3)).release()).isEqualTo(ReleaseResult.RELEASED);
			});
			// On a busy machine a replica may be late once more.
			assertThat(warnings(log)).last().asString().startsWith("INFO ").contains("confirm grants again");
		}
	}

	@Test
	@DisplayName("A user without the right to WAIT acquires nothing, and the message names the command")
	void withoutRight() {
		this.fleet.setUser("on", ">secret", "allkeys", "allchannels", "+@all", "-wait");
		Instance instance = this.fleet.start(ONE, PATIENT, "spring.data.redis.username=app",
				"spring.data.redis.password=secret");
		for (Kind kind : Kind.values()) {
			assertThatThrownBy(() -> kind.acquisition.apply(instance)).extracting(CallResult::cause)
				.asInstanceOf(InstanceOfAssertFactories.throwable(LeaseStoreException.class))
				.hasMessageContaining("Redis does not give the application's user a right that it needs")
				.hasMessageContaining("'wait' command")
				.hasMessageContaining("with holdfast.redis.min-replicas also: wait");
		}
		this.fleet.awaitNothingLeft();
		this.fleet.setUser("+wait");
		instance.acquire(REQUEST).close();
	}

	@Test
	@DisplayName("A hand-off counts when it is confirmed, from another instance and inside an instance; its release"
			+ " waits for no replica")
	void handOff() {
		Instance first = this.fleet.start(ONE, PATIENT);
		// A hand-over without Redis is already at the replica.
		Instance second = this.fleet.start(ONE, PATIENT, "holdfast.lock.local-hand-over.max-count=0");
		this.fleet.awaitListening(2);
		LockLease held = first.acquire(REQUEST);
		CompletableFuture<LockLease> waiting = second.acquireInBackground(REQUEST.waitForever());
		this.fleet.awaitQueued(KEY);
		this.replica.freeze();
		LockLease one = held;
		for (CompletableFuture<LockLease> next : List.of(waiting, second.acquireInBackground(REQUEST.waitForever()))) {
			String owner = this.fleet.observer().opsForValue().get(this.fleet.lockKey(KEY));
			assertThat(one.release()).isEqualTo(ReleaseResult.RELEASED);
			await("granted").atMost(SOON)
				.until(() -> this.fleet.observer().opsForValue().get(this.fleet.lockKey(KEY)),
						(now) -> now != null && !now.equals(owner));
			await("waited for").atMost(SOON).until(() -> blocked() == 1);
			assertThat(next).isNotDone();
			this.replica.thaw();
			assertThat(next).succeedsWithin(SOON);
			one = next.join();
			this.replica.freeze();
		}
		this.replica.thaw();
		assertThat(one.release()).isEqualTo(ReleaseResult.RELEASED);
		this.fleet.awaitNothingLeft();
	}

	@Slow
	@Test
	@DisplayName("Renewals and releases do not wait behind a WAIT")
	void othersGoOn() {
		Instance instance = this.fleet.start(ONE, PATIENT);
		Duration leaseTime = Duration.ofSeconds(2);
		LockLease renewed = instance.acquire(LockRequest.of("renewed").leaseTime(leaseTime));
		LockLease released = instance.acquire("released");
		this.replica.freeze();
		CompletableFuture<LockLease> waiting = instance.acquireInBackground(REQUEST.waitForever());
		await("waited for").atMost(SOON).until(() -> blocked() == 1);
		assertThat(released.release()).isEqualTo(ReleaseResult.RELEASED);
		renewed.extend(Duration.ofSeconds(3));
		await("more than a lease").during(leaseTime.plusSeconds(2)).atMost(SOON).until(renewed::isHeld);
		assertThat(waiting).isNotDone();
		this.replica.thaw();
		assertThat(waiting).succeedsWithin(SOON).satisfies(LockLease::release);
	}

}
