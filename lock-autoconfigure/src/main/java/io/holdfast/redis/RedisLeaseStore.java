package io.holdfast.redis;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;

import io.holdfast.engine.LeaseStore;
import io.holdfast.engine.Resource;
import io.holdfast.engine.StoreFailure;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

import org.springframework.data.redis.connection.ClusterSlotHashUtil;
import org.springframework.data.redis.connection.RedisConnectionFactory;
import org.springframework.data.redis.core.StringRedisTemplate;

/**
 * The {@link LeaseStore} in Redis. Each command is one Lua script and one round trip.
 * Thread-safe.
 */
public final class RedisLeaseStore implements LeaseStore {

	private static final Log logger = LogFactory.getLog(RedisLeaseStore.class);

	private static final int KEYS_WARNED_OF = 1000;

	private final Options options;

	private final boolean cluster;

	private final ScriptExecutor executor;

	private final @Nullable WakeUpListener listener;

	private final Set<String> keysWithoutEnd = Collections
		.synchronizedSet(Collections.newSetFromMap(new LinkedHashMap<String, Boolean>() {

			private static final long serialVersionUID = 1L;

			@Override
			protected boolean removeEldestEntry(Map.Entry<String, Boolean> eldest) {
				return size() > KEYS_WARNED_OF;
			}

		}));

	/**
	 * Create the store. Nothing is connected before it is used.
	 * @param template where Redis is: only its connection factory is used. Its
	 * serializers, and transactions that it takes part in, do not matter
	 * @param options how to use it
	 * @throws IllegalStateException if the template has no connection factory
	 */
	public RedisLeaseStore(StringRedisTemplate template, Options options) {
		RedisConnectionFactory factory = template.getRequiredConnectionFactory();
		this.options = options;
		this.cluster = Drivers.isCluster(factory);
		this.executor = ScriptExecutor.of(factory);
		this.listener = options.polling() ? null
				: new WakeUpListener(factory, this.executor, options.channelPrefix(), this.cluster);
	}

	@Override
	public void start(String instanceId, WakeUps wakeUps) {
		if (this.listener != null) {
			this.listener.start(instanceId, wakeUps);
		}
	}

	@Override
	public void stop() {
		if (this.listener != null) {
			this.listener.stop();
		}
	}

	@Override
	public boolean isListening() {
		return this.listener != null && this.listener.isListening();
	}

	@Override
	public boolean isOrdered() {
		return this.executor.isOrdered();
	}

	@Override
	public CompletableFuture<AcquireReply> acquire(Resource resource, Ask ask, boolean enqueue) {
		String key = resource.key();
		String healMillis = (this.options.healMissingTtl() != null) ? millis(this.options.healMissingTtl()) : "0";
		return execute(Script.ACQUIRE, key, (reply) -> acquireReply(key, reply, 0), ask.token(),
				text(ask.leaseMillis()), text(ask.claimMillis()), mode(), flag(enqueue), healMillis,
				millis(this.options.fenceRetention()), queueMillis(ask.claimMillis()), this.options.channelPrefix(),
				flag(this.cluster), key);
	}

	@Override
	public CompletableFuture<ReleaseReply> release(Resource resource, Ask ended, @Nullable Ask next) {
		String key = resource.key();
		Ask queued = (next != null) ? next : Ask.unknown("", 0);
		return execute(Script.RELEASE, key, (reply) -> releaseReply(key, reply), ended.token(), queued.token(),
				text(queued.leaseMillis()), text(queued.claimMillis()), mode(), millis(this.options.fenceRetention()),
				queueMillis(queued.claimMillis()), this.options.channelPrefix(), flag(this.cluster), key);
	}

	@Override
	public CompletableFuture<KeyState> inspect(Resource resource) {
		return execute(Script.INSPECT, resource.key(), (reply) -> {
			byte[] owner = (byte[]) reply.get(0);
			return new KeyState((owner != null) ? new String(owner, StandardCharsets.UTF_8) : null, false,
					number(reply.get(1)), number(reply.get(2)), (int) number(reply.get(3)));
		});
	}

	@Override
	public int partOf(Resource resource) {
		return this.cluster ? ClusterSlotHashUtil.calculateSlot(lockKey(resource.key())) : 0;
	}

	@Override
	public CompletableFuture<List<Boolean>> renew(List<Renewal> renewals) {
		byte[][] keys = new byte[renewals.size()][];
		byte[][] args = new byte[2 * renewals.size()][];
		for (int i = 0; i < keys.length; i++) {
			Renewal renewal = renewals.get(i);
			keys[i] = RedisKeys.bytes(lockKey(renewal.resource().key()));
			args[2 * i] = RedisKeys.bytes(renewal.token());
			args[2 * i + 1] = RedisKeys.bytes(text(renewal.leaseMillis()));
		}
		ScriptCall<List<Boolean>> call = new ScriptCall<>(Script.RENEW, keys, args,
				(reply) -> reply.stream().map((owned) -> number(owned) == 1).toList(),
				(error) -> RedisFailures.of(error, "renewals"));
		this.executor.execute(call);
		return call;
	}

	@Override
	public CompletableFuture<Boolean> shrink(Resource resource, Ask held, int kept) {
		throw new UnsupportedOperationException();
	}

	@Override
	public CompletableFuture<PermitState> inspectPermits(Resource resource, int maxHolders) {
		throw new UnsupportedOperationException();
	}

	@Override
	public CompletableFuture<Boolean> limit(Resource resource, @Nullable Integer limit) {
		throw new UnsupportedOperationException();
	}

	@Override
	public void close() {
		if (this.listener != null) {
			this.listener.close();
		}
		this.executor.close();
	}

	private <T> CompletableFuture<T> execute(Script script, String key, Function<List<?>, T> reply, String... args) {
		String lockKey = lockKey(key);
		byte[][] keys;
		try {
			keys = RedisKeys.of(lockKey, this.cluster).toBytes();
		}
		catch (StoreFailure ex) {
			return CompletableFuture.failedFuture(ex);
		}
		byte[][] values = Arrays.stream(args).map(RedisKeys::bytes).toArray(byte[][]::new);
		ScriptCall<T> call = new ScriptCall<>(script, keys, values, reply, (error) -> RedisFailures.of(error, lockKey));
		this.executor.execute(call);
		return call;
	}

	private AcquireReply acquireReply(String key, List<?> reply, int from) {
		if (number(reply.get(from)) == 1) {
			return new AcquireReply.Granted(number(reply.get(from + 1)), number(reply.get(from + 2)));
		}
		long ttl = number(reply.get(from + 1));
		if (ttl == -1 && this.keysWithoutEnd.add(key)) {
			logger.warn("The lock key '" + lockKey(key) + "' has no expiry, so it stays locked until somebody deletes"
					+ " it; set holdfast.lock.heal-missing-ttl to give such keys one");
		}
		return new AcquireReply.Busy(ttl, number(reply.get(from + 2)), number(reply.get(from + 3)) == 1);
	}

	private ReleaseReply releaseReply(String key, List<?> reply) {
		AcquireReply next = (number(reply.get(1)) != -1) ? acquireReply(key, reply, 1) : null;
		return new ReleaseReply(number(reply.get(0)) == 1, next);
	}

	private String lockKey(String key) {
		return this.options.lockPrefix() + key;
	}

	/**
	 * How a waiter says that it waits. One whose subscription is away is not reached by a
	 * wake-up, and must not be taken for gone because of that.
	 */
	private String mode() {
		return isListening() ? "s" : "p";
	}

	/**
	 * How long a queue lives without anybody asking again: four times the longest time
	 * after which a waiter does.
	 */
	private String queueMillis(long claimMillis) {
		return text(2 * Math.max(claimMillis, this.options.handoffTimeout().toMillis()));
	}

	private static String millis(Duration duration) {
		return text(duration.toMillis());
	}

	private static String text(long number) {
		return Long.toString(number);
	}

	private static String flag(boolean value) {
		return value ? "1" : "0";
	}

	private static long number(@Nullable Object value) {
		if (value instanceof Number number) {
			return number.longValue();
		}
		if (value instanceof byte[] text) {
			return Long.parseLong(new String(text, StandardCharsets.US_ASCII));
		}
		throw new IllegalStateException("A number was expected in the reply of a script");
	}

	/**
	 * How to use Redis.
	 *
	 * @param lockPrefix what lock keys begin with; must be the same for all that exclude
	 * one another
	 * @param semaphorePrefix what the keys of semaphores begin with; likewise, and
	 * another
	 * @param channelPrefix what wake-up channels begin with; likewise
	 * @param healMissingTtl how long a lock key may live that somebody left without an
	 * expiry, or {@code null} to leave it alone
	 * @param fenceRetention how long the last fencing token of a key is remembered
	 * @param handoffTimeout how long a hand-off is granted at first
	 * @param polling whether waiters ask at intervals instead of being woken up: for
	 * Redis without Pub/Sub
	 */
	public record Options(String lockPrefix, String semaphorePrefix, String channelPrefix,
			@Nullable Duration healMissingTtl, Duration fenceRetention, Duration handoffTimeout, boolean polling) {

		/**
		 * The defaults: prefixes {@code lock:}, {@code semaphore:} and
		 * {@code holdfast:wake:}, keys without expiry left alone, fences remembered for
		 * 24 hours, hand-off timeout 5 seconds, wake-ups by Pub/Sub.
		 * @return the default options
		 */
		public static Options defaults() {
			return new Options("lock:", "semaphore:", "holdfast:wake:", null, Duration.ofHours(24),
					Duration.ofSeconds(5), false);
		}

	}

}
