package io.holdfast.fleet;

import java.time.Duration;
import java.util.List;

import io.holdfast.LockRequest;
import io.holdfast.SemaphoreRequest;
import io.holdfast.engine.DefaultLockService;
import io.holdfast.engine.DefaultSemaphoreService;
import io.holdfast.engine.EngineSettings;
import io.holdfast.engine.LeaseEngine;
import io.holdfast.engine.Settings;
import io.holdfast.engine.store.HandOverLimits;
import io.holdfast.redis.RedisLeaseStore;
import io.holdfast.redis.key.RedisStoreOptions;
import io.holdfast.testing.Order;
import io.holdfast.testing.TestApplication;

import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;

/**
 * Main class of a child JVM with a quick start: an instance without a context. Its
 * threads use a semaphore and a lock until the process is killed, and print each use.
 * Arguments: host, port, key prefix, and for semaphore and lock the name of the uses,
 * threads, request; then whether the instance hands leases over among its threads.
 */
final class UserMain {

	/** Short, because of hand-offs to an instance at the moment of its death. */
	private static final Duration HANDOFF_TIMEOUT = Duration.ofSeconds(1);

	private UserMain() {
	}

	public static void main(String[] args) throws Exception {
		LeaseEngine engine = engine(args[0], Integer.parseInt(args[1]), args[2], Order.valueOf(args[9]));
		SemaphoreRequest permits = RequestLine.semaphore(List.of(args[5].split(" ")));
		LockRequest lock = RequestLine.lock(List.of(args[8].split(" ")));
		// Connects, so that the killed process is at work.
		engine.resume();
		SpokenDiary.say("ready");
		try {
			new Crowd()
				.add(Integer.parseInt(args[4]),
						Users.of(new DefaultSemaphoreService(engine), permits, Integer.MAX_VALUE,
								new SpokenDiary(args[3])))
				.add(Integer.parseInt(args[7]),
						Users.of(new DefaultLockService(engine), lock, Integer.MAX_VALUE, new SpokenDiary(args[6])))
				.run(Duration.ofHours(1));
		}
		catch (Exception ex) {
			SpokenDiary.say("failed", args[3], ex);
		}
	}

	private static LeaseEngine engine(String host, int port, String keyPrefix, Order order) {
		LettuceConnectionFactory factory = new LettuceConnectionFactory(host, port);
		RedisLeaseStore store = new RedisLeaseStore(factory,
				new RedisStoreOptions(keyPrefix, TestApplication.semaphorePrefix(keyPrefix),
						TestApplication.channelPrefix(keyPrefix), null, Duration.ofHours(1), HANDOFF_TIMEOUT, false,
						TestApplication.fleetKey(keyPrefix), null, null));
		EngineSettings defaults = Settings.with(EngineSettings.defaults(),
				(order == Order.STRICT) ? HandOverLimits.NONE : HandOverLimits.DEFAULT);
		return new LeaseEngine(store,
				new EngineSettings(defaults.waitTime(), defaults.leaseTime(), null, defaults.lossMargin(),
						defaults.semaphoreWaitTime(), defaults.semaphoreLeaseTime(), true, HANDOFF_TIMEOUT,
						defaults.retryInterval(), Duration.ofSeconds(5), defaults.outagePatience(),
						defaults.maxWaiters(), defaults.maxWaitersPerKey(), defaults.lockHandOver(),
						defaults.semaphoreHandOver()));
	}

}
