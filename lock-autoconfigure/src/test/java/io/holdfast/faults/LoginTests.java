package io.holdfast.faults;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;

import io.holdfast.LeaseStoreException;
import io.holdfast.LockLease;
import io.holdfast.LockRequest;
import io.holdfast.ReleaseResult;
import io.holdfast.testing.RedisTestCase;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import static io.holdfast.faults.Fleet.SOON;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.catchThrowableOfType;
import static org.awaitility.Awaitility.await;

/**
 * How the application is connected is Spring Boot's affair, and Holdfast goes with it.
 */
class LoginTests extends RedisTestCase {

	private static final String KEY = "login";

	private static final LockRequest REQUEST = LockRequest.of(KEY).waitTime(SOON).leaseTime(Duration.ofMinutes(1));

	private static final String ASK_SELDOM = "holdfast.wake-up.handoff-timeout=60s";

	/** One whose observer is not locked out by what the test is about. */
	private Fleet fleet(String... extraConfig) {
		return Fleet.on(this.redis, this.redis.startServer(extraConfig));
	}

	private static void assertHandOff(Instance from, Instance to) {
		LockLease held = from.acquire(REQUEST);
		CompletableFuture<LockLease> waiting = to.acquireInBackground(REQUEST);
		// Asked by Holdfast, as it may be in another database than the observer.
		await("a waiter in the queue").atMost(SOON).until(() -> from.locks().status(KEY).waiting() == 1);
		assertThat(held.release()).isEqualTo(ReleaseResult.RELEASED);
		assertThat(waiting).succeedsWithin(SOON)
			.satisfies((lease) -> assertThat(lease.release()).isEqualTo(ReleaseResult.RELEASED));
	}

	@Test
	@DisplayName("A user with a password and only the rights that Holdfast needs: locks are passed on by wake-ups")
	void user() {
		Fleet fleet = fleet("--user", "app", "on", ">secret", "~*", "&*", "-@all", "+@connection", "+evalsha", "+eval",
				"+get", "+mget", "+set", "+del", "+zrange", "+zcount", "+zrangebyscore", "+hget", "+hmget", "+zadd",
				"+zrem", "+zcard", "+pttl", "+pexpire", "+time", "+publish", "+subscribe", "+unsubscribe", "+info");
		String[] login = { "spring.data.redis.username=app", "spring.data.redis.password=secret", ASK_SELDOM };
		Instance instance = fleet.start(login);
		Instance other = fleet.start(login);
		fleet.awaitListening(2);
		assertHandOff(instance, other);
		assertHandOff(other, instance);
		fleet.awaitNothingLeft();
	}

	@Test
	@DisplayName("A password that is wrong or missing: the application starts, and the store's trouble is told")
	void wrongPassword() {
		Fleet fleet = fleet("--requirepass", "secret");
		Instance instance = fleet.start("spring.data.redis.password=secret");
		instance.acquire(REQUEST).close();
		for (String password : new String[] { "wrong", "" }) {
			Instance locked = fleet.start("spring.data.redis.password=" + password);
			// The driver tells at times only that the connection was closed.
			await("trouble with the password").atMost(SOON).until(() -> trouble(locked).contains("password"));
		}
	}

	private static String trouble(Instance instance) {
		LeaseStoreException trouble = catchThrowableOfType(LeaseStoreException.class, () -> instance.acquire(REQUEST));
		assertThat(trouble).hasMessageContaining(KEY).hasMessageNotContaining("secret");
		return String.valueOf(trouble.getMessage());
	}

	@Test
	@DisplayName("F35 a user without a right that is needed: the store's trouble, told as such")
	void missingRight() {
		Fleet fleet = fleet("--user", "app", "on", ">secret", "~*", "&*", "+@all", "-set");
		Instance instance = fleet.start("spring.data.redis.username=app", "spring.data.redis.password=secret");
		assertThatExceptionOfType(LeaseStoreException.class).isThrownBy(() -> instance.acquire(REQUEST))
			.withMessageContaining("does not give the application's user a right")
			.withMessageMatching("(?s).*(can't run this command|no permissions to run the 'set' command).*");
		assertThat(fleet.isLocked(KEY)).isFalse();
	}

	@Test
	@DisplayName("Another database: keys are there, and wake-ups reach it")
	void database() {
		Fleet fleet = fleet();
		Instance instance = fleet.start("spring.data.redis.database=5", ASK_SELDOM);
		Instance other = fleet.start("spring.data.redis.database=5", ASK_SELDOM);
		Instance stranger = fleet.start("spring.data.redis.database=6");
		fleet.awaitListening(3);
		try (LockLease lease = instance.acquire(REQUEST)) {
			assertThat(fleet.isLocked(KEY)).as("in database 0").isFalse();
			assertThat(other.tryAcquire(KEY)).isEmpty();
			assertThat(stranger.tryAcquire(KEY)).hasValueSatisfying(LockLease::release);
			assertThat(lease.isHeld()).isTrue();
		}
		assertHandOff(instance, other);
		assertHandOff(other, instance);
	}

}
