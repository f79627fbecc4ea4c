package io.holdfast.redis;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.function.Function;
import java.util.stream.IntStream;
import java.util.stream.Stream;

import io.holdfast.async.DaemonThreads;
import io.holdfast.engine.store.FleetStore;
import io.holdfast.engine.store.InstanceStore;
import io.holdfast.engine.store.LeaseStore;
import io.holdfast.engine.store.Resource;
import io.holdfast.engine.store.Resource.Kind;
import io.holdfast.engine.store.StoreCommandException;
import io.holdfast.engine.store.StoreDiagnostic;
import io.holdfast.engine.store.StoreNotifications;
import io.holdfast.redis.driver.ClusterMasters;
import io.holdfast.redis.driver.Drivers;
import io.holdfast.redis.driver.HoldfastConnectionFactory;
import io.holdfast.redis.driver.LettuceWatchConnections;
import io.holdfast.redis.driver.NotificationListener;
import io.holdfast.redis.driver.ScriptCall;
import io.holdfast.redis.driver.ScriptExecutor;
import io.holdfast.redis.driver.ScriptReply;
import io.holdfast.redis.driver.ShardedChannels;
import io.holdfast.redis.key.RedisKeys;
import io.holdfast.redis.key.RedisStoreOptions;
import io.holdfast.redis.script.RedisFailures;
import io.holdfast.redis.script.Script;
import io.holdfast.redis.script.StoreScripts;
import org.jspecify.annotations.Nullable;

import org.springframework.data.redis.connection.ClusterSlotHashUtil;
import org.springframework.data.redis.connection.RedisConnectionFactory;

/**
 * {@link LeaseStore} in Redis. Each command is one Lua script and one round trip. ARGV 1
 * of the scripts of semaphores is the user's key. Thread-safe.
 */
public final class RedisLeaseStore implements LeaseStore {

	/** Key of the first command, an INSPECT. No such key exists. */
	private static final String WARM_UP_KEY = "holdfast-warm-up";

	private static final String SUBSCRIBED = "s";

	private static final String POLLING = "p";

	private static final String READS = "r";

	/** Argument without a value. */
	private static final String NOTHING = "";

	// Linked at the start of the application, not by its first call.
	private static final Function<StoreScripts, Script> ACQUIRE = StoreScripts::acquire;

	private static final Function<StoreScripts, Script> RELEASE = StoreScripts::release;

	/**
	 * Number of cached keys: a power of two. Used keys take about half a kilobyte each.
	 */
	private static final int CACHED_KEYS = 4096;

	private final RedisStoreOptions options;

	private final long longestLeaseMillis;

	private final boolean cluster;

	private final StoreScripts scripts;

	/** Cache of recently used keys: most leases are released soon after their grant. */
	private final AtomicReferenceArray<RedisKeys> cachedKeys = new AtomicReferenceArray<>(CACHED_KEYS);

	private final ResourceReplies replies;

	private final DaemonThreads threads = new DaemonThreads();

	private final HoldfastConnectionFactory connections;

	/** Timeout of ACQUIRE, in nanoseconds. */
	private final long answerNanos;

	private final ScriptExecutor executor;

	private final @Nullable ShardedChannels shards;

	private final NotificationListener listener;

	/** Prefix of the tokens of this instance. No token has the initial prefix. */
	private volatile String tokenPrefix = ":";

	private final @Nullable ReplicaConfirmations confirmations;

	private final RedisFleetStore fleet;

	private final RedisInstanceStore instances;

	/**
	 * Create the store. Connects at the first use.
	 * @param application the connection factory of the application, of Lettuce or Jedis.
	 * Only its configuration is used: the store opens its own Lettuce connections to the
	 * same Redis
	 * @param options the options, in a cluster without replicas and fail-over grace
	 * @throws IllegalStateException if the factory does not tell the address of Redis, or
	 * if Lettuce is missing
	 */
	public RedisLeaseStore(RedisConnectionFactory application, RedisStoreOptions options) {
		this(application, options, null);
	}

	/**
	 * Create the store of an application that has its own class loader. Connects at the
	 * first use.
	 * @param application the connection factory of the application
	 * @param options the options
	 * @param classLoader the context class loader of the store's threads, also of threads
	 * that the driver starts immediately; {@code null} for the class loader of Holdfast's
	 * classes
	 * @throws IllegalStateException under the conditions of the other constructor
	 */
	public RedisLeaseStore(RedisConnectionFactory application, RedisStoreOptions options,
			@Nullable ClassLoader classLoader) {
		Drivers.requireLettuce();
		this.threads.setClassLoader(classLoader);
		this.options = options;
		this.longestLeaseMillis = (options.longestLease() != null) ? options.longestLease().toMillis() : Long.MAX_VALUE;
		this.replies = new ResourceReplies(options);
		this.cluster = Drivers.isCluster(application);
		this.scripts = StoreScripts.of(options, this.cluster, null);
		// During a WAIT, Redis is silent.
		Duration wait = (options.replicas() != null) ? options.replicas().timeout() : Duration.ZERO;
		this.connections = HoldfastConnectionFactory.of(application, HoldfastConnectionFactory.MAX_SILENCE.plus(wait),
				this.threads);
		this.answerNanos = this.connections.answerNanos();
		ClusterMasters masters = new ClusterMasters(this.connections, this.threads);
		this.executor = new ScriptExecutor(this.connections, masters::refresh, this.threads);
		this.shards = this.cluster ? new ShardedChannels(masters, options) : null;
		this.listener = new NotificationListener(this.connections::connectPubSub, this.executor, options, this.shards,
				NotificationListener.PING_MILLIS);
		this.confirmations = (options.replicas() == null) ? null : new ReplicaConfirmations(
				() -> LettuceWatchConnections.connect(this.connections, "holdfast.redis.min-replicas cannot be used"),
				options.replicas(), this.threads);
		this.fleet = new RedisFleetStore(options, this.executor, this.cluster ? masters : null);
		this.instances = new RedisInstanceStore(options, this.executor, this.cluster);
	}

	@Override
	public void setClassLoader(@Nullable ClassLoader classLoader) {
		this.threads.setClassLoader(classLoader);
	}

	@Override
	public String place() {
		return "Redis at " + this.connections.address();
	}

	/**
	 * Start listening, and connect: the first command on a connection takes far longer
	 * than later commands.
	 */
	@Override
	public void start(String instanceId, StoreNotifications notifications) {
		inspect(new Resource(Kind.LOCK, WARM_UP_KEY), 0, 0);
		if (this.confirmations != null) {
			this.confirmations.prepare();
		}
		this.listener.start(instanceId, notifications);
		this.tokenPrefix = instanceId + ":";
	}

	@Override
	public void stop() {
		this.listener.stop();
		if (this.executor.awaitConnectAttempt()) {
			// The next command opens the connections again.
			this.connections.stop();
			this.executor.failUnsent();
		}
	}

	@Override
	public boolean isListening() {
		return this.listener.isListening();
	}

	@Override
	public boolean isPolling() {
		return this.options.polling();
	}

	@Override
	public @Nullable String whyNotListening() {
		return this.listener.trouble();
	}

	@Override
	public CompletableFuture<List<StoreDiagnostic>> examine() {
		return new RedisDiagnostics(this.connections, this.executor, this.options).start();
	}

	@Override
	public CompletableFuture<@Nullable Void> tryWrite() {
		// No such key exists.
		String key = this.options.lockPrefix() + UUID.randomUUID();
		return this.executor.execute(Script.WRITE, new byte[][] { RedisKeys.bytes(key) }, new Object[0], "a write",
				(reply) -> null);
	}

	@Override
	public long answerNanos() {
		return this.answerNanos;
	}

	@Override
	public long reconnects() {
		return this.executor.reconnects();
	}

	@Override
	public boolean mayRunLate(long since) {
		return this.executor.mayRunLate(since);
	}

	@Override
	public boolean mayRun(CompletableFuture<?> command) {
		return !(ReplicaConfirmations.commandOf(command) instanceof ScriptCall<?> call) || call.isWritten();
	}

	@Override
	public long unreachedNanos() {
		return this.executor.unreachedNanos();
	}

	@Override
	public CompletableFuture<AcquireReply> acquire(Resource resource, AcquireCommand command, boolean enqueue) {
		CompletableFuture<AcquireReply> answer = send(isLock(resource) ? ACQUIRE : StoreScripts::acquirePermits,
				resource, command.leaseMillis(), (reply) -> acquireReply(resource, command, reply),
				request(resource, command, enqueue));
		// A failed request, as with a refused key, needs no confirmation.
		if (this.confirmations == null || answer.isCompletedExceptionally()) {
			return answer;
		}
		return this.confirmations.confirmed(answer, keysOf(resource),
				holder(resource, command.token(), command.permits()));
	}

	/** Return the value of a lock key, or the entry among the holders, for a lease. */
	private static String holder(Resource resource, String token, int permits) {
		return !isLock(resource) ? token + ":" + permits : (permits == 1) ? token + ":" + READS : token;
	}

	AcquireReply acquireReply(Resource resource, AcquireCommand command, ScriptReply reply) {
		// In the usual case, the reply is the fence of a grant.
		return reply.isArray() ? this.replies.read(resource, reply, 0, reply.size())
				: new AcquireReply.Granted(reply.number(0), command.leaseMillis());
	}

	private Object[] request(Resource resource, AcquireCommand command, boolean enqueue) {
		String mode = enqueue ? mode() : NOTHING;
		return isLock(resource)
				? new Object[] { command.token(), reads(command), command.leaseMillis(), command.claimMillis(), mode }
				: new Object[] { command.token(), command.permits(), command.leaseMillis(), command.claimMillis(), mode,
						command.limit(), command.fair() };
	}

	private static String reads(AcquireCommand command) {
		return (command.permits() == 1) ? READS : NOTHING;
	}

	@Override
	public CompletableFuture<ReleaseReply> release(Resource resource, AcquireCommand ended,
			@Nullable AcquireCommand next) {
		// If the lease of the next token is too long, only its own request fails, not
		// this release.
		AcquireCommand allowed = (next != null && next.leaseMillis() <= this.longestLeaseMillis) ? next : null;
		// The reply contains the grants to waiters of this instance. A notification of
		// each grant would cost more than the command.
		boolean grantsInReply = ended.token().startsWith(this.tokenPrefix);
		Object claim = (ended.permits() != 0) ? (Object) ended.claimMillis() : NOTHING;
		Object[] args = isLock(resource) ? new Object[] { ended.token(), claim, reads(ended), grantsInReply }
				: new Object[] { ended.token(), grantsInReply };
		return send(isLock(resource) ? RELEASE : StoreScripts::releasePermits, resource, 0,
				(reply) -> releaseReply(resource, reply),
				(allowed != null) ? join(args, request(resource, allowed, true)) : args);
	}

	/**
	 * Read the reply to a RELEASE. The first element is 1 if the token held anything, 0
	 * if not, and 2 if not during a fail-over grace, when this says nothing. Further
	 * elements are optional: the length of the reply for the next token, that reply, and
	 * three elements for each grant.
	 */
	private ReleaseReply releaseReply(Resource resource, ScriptReply reply) {
		int grantsFrom = (reply.size() > 1) ? 2 + reply.count(1) : 1;
		AcquireReply next = (grantsFrom > 2) ? this.replies.read(resource, reply, 2, grantsFrom) : null;
		if (this.confirmations != null && next instanceof AcquireReply.Granted) {
			// The next token sends its own ACQUIRE, because a release must not wait for
			// replicas.
			next = null;
		}
		for (int i = grantsFrom; i < reply.size(); i += 3) {
			this.listener.granted(resource, reply.text(i), reply.number(i + 1), reply.number(i + 2));
		}
		long outcome = reply.number(0);
		return new ReleaseReply(outcome == 1, next, outcome == 1 || outcome == 0 && !reply.isRepeated());
	}

	@Override
	public CompletableFuture<List<Boolean>> force(Resource resource, List<String> tokens) {
		return send(isLock(resource) ? RELEASE : StoreScripts::releasePermits, resource, 0,
				(reply) -> IntStream.range(0, reply.size()).mapToObj(reply::flag).toList(),
				Stream.concat(Stream.of(NOTHING), tokens.stream()).toArray());
	}

	@Override
	public int partOf(Resource resource) {
		int slot = this.cluster ? ClusterSlotHashUtil.calculateSlot(this.options.keyOf(resource)) : 0;
		return slot * Kind.values().length + resource.kind().ordinal();
	}

	@Override
	public CompletableFuture<ReleaseReply> retain(Renewal lease) {
		// A negative time sets the end, also to an earlier time.
		Renewal exact = new Renewal(lease.resource(), lease.token(), lease.permits(), -lease.leaseMillis());
		long sentAt = System.nanoTime();
		return renew(List.of(exact), this.options.keyOf(lease.resource()), (reply) -> {
			boolean held = renewed(reply, 1).get(0);
			long millis = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - sentAt);
			boolean overtaken = reply.isLate() && millis >= lease.leaseMillis() - 1;
			// The reply does not show whether there was a grace. An overtaken command may
			// have run after the RELEASE that follows at the end of the time.
			return new ReleaseReply(held, null,
					held || !reply.isRepeated() && !overtaken && this.options.longestLease() == null);
		});
	}

	@Override
	public CompletableFuture<List<Boolean>> renew(List<Renewal> renewals) {
		return renew(renewals, "renewals", (reply) -> renewed(reply, renewals.size()));
	}

	/**
	 * Renew leases, which are all of locks or all of permits.
	 * @param subject the description of the leases for messages
	 */
	private <T> CompletableFuture<T> renew(List<Renewal> renewals, String subject, Function<ScriptReply, T> reader) {
		List<byte[]> keys = new ArrayList<>(3 * renewals.size());
		try {
			for (Renewal renewal : renewals) {
				check(renewal.leaseMillis());
				Resource resource = renewal.resource();
				if (isLock(resource)) {
					keys.add(RedisKeys.bytes(this.options.keyOf(resource)));
				}
				else {
					// Without the limit key.
					Collections.addAll(keys, Arrays.copyOf(keysOf(resource).all(), 3));
				}
			}
		}
		catch (StoreCommandException ex) {
			return CompletableFuture.failedFuture(ex);
		}
		return this.executor.execute(this.scripts.renew(), this.options.withServer(keys.toArray(byte[][]::new)),
				arguments(renewals), subject, reader);
	}

	/**
	 * Return the ARGV of a renewal. If all lease times are the same, as usual, the time
	 * is written only once.
	 */
	static Object[] arguments(List<Renewal> renewals) {
		boolean sameTime = renewals.stream()
			.allMatch((renewal) -> renewal.leaseMillis() == renewals.get(0).leaseMillis());
		List<Renewal> times = sameTime ? renewals.subList(0, Math.min(1, renewals.size())) : renewals;
		Object[] args = new Object[renewals.size() + times.size()];
		int i = 0;
		for (Renewal renewal : renewals) {
			args[i++] = holder(renewal.resource(), renewal.token(), renewal.permits());
		}
		for (Renewal renewal : times) {
			args[i++] = renewal.leaseMillis();
		}
		return args;
	}

	/**
	 * Read the reply to a renewal.
	 * @param reply the number of leases, and the positions, from 1, of the leases that
	 * were not renewed
	 * @param count the number of leases in the command
	 * @return for each lease in order, whether it was renewed
	 */
	static List<Boolean> renewed(ScriptReply reply, int count) {
		if (reply.number(0) != count) {
			throw new IllegalStateException("The answer for " + count + " leases is for " + reply.number(0));
		}
		Boolean[] renewed = new Boolean[count];
		Arrays.fill(renewed, true);
		for (int i = 1; i < reply.size(); i++) {
			renewed[reply.count(i) - 1] = false;
		}
		return List.of(renewed);
	}

	@Override
	public CompletableFuture<Standing> inspect(Resource resource, int maxHolders, int maxWaiters) {
		CompletableFuture<Standing> answer = execute((shared) -> Script.INSPECT, resource, 0,
				(reply) -> ResourceReplies.standing(resource, reply), isLock(resource), maxHolders, maxWaiters);
		return (maxWaiters == 0) ? answer : answer.exceptionallyCompose((error) -> RedisFailures.isWrongType(error)
				? CompletableFuture.completedFuture(Standing.unused(resource)) : CompletableFuture.failedFuture(error));
	}

	@Override
	public CompletableFuture<Boolean> limit(Resource resource, @Nullable Integer limit) {
		return send(StoreScripts::limit, resource, 0, (reply) -> reply.flag(0),
				(limit != null) ? limit.toString() : NOTHING);
	}

	private <T> CompletableFuture<T> send(Function<StoreScripts, Script> script, Resource resource, long leaseMillis,
			Function<ScriptReply, T> reader, Object... args) {
		return execute(script, resource, leaseMillis, reader,
				isLock(resource) ? args : join(new Object[] { resource.key() }, args));
	}

	/**
	 * Send a script. The future fails at once if the key or the lease time is refused.
	 */
	private <T> CompletableFuture<T> execute(Function<StoreScripts, Script> script, Resource resource, long leaseMillis,
			Function<ScriptReply, T> reader, Object... args) {
		RedisKeys keys;
		try {
			keys = keysOf(resource);
			check(leaseMillis);
		}
		catch (StoreCommandException ex) {
			return CompletableFuture.failedFuture(ex);
		}
		StoreScripts shard = (this.shards != null) ? this.shards.at(keys.slot()) : null;
		return this.executor.execute(script.apply((shard != null) ? shard : this.scripts), keys.all(), args,
				keys.name(), reader);
	}

	private static Object[] join(Object[] first, Object[] second) {
		Object[] all = Arrays.copyOf(first, first.length + second.length);
		System.arraycopy(second, 0, all, first.length, second.length);
		return all;
	}

	private static boolean isLock(Resource resource) {
		return resource.kind() == Kind.LOCK;
	}

	/**
	 * Return the keys of a resource.
	 * @throws StoreCommandException if the user's key is refused
	 */
	RedisKeys keysOf(Resource resource) {
		int hash = resource.key().hashCode() + resource.kind().ordinal();
		int index = (hash ^ (hash >>> 16)) & (CACHED_KEYS - 1);
		RedisKeys cached = this.cachedKeys.get(index);
		if (cached != null && cached.resource().key().equals(resource.key())
				&& cached.resource().kind() == resource.kind()) {
			return cached;
		}
		RedisKeys keys = RedisKeys.of(resource, this.options, this.cluster);
		this.cachedKeys.set(index, keys);
		return keys;
	}

	/** Refuse lease times that could outlast the fail-over grace. */
	private void check(long leaseMillis) {
		if (leaseMillis > this.longestLeaseMillis) {
			throw new StoreCommandException(
					"A lease of " + leaseMillis + " ms is longer than holdfast.redis.longest-lease ("
							+ this.longestLeaseMillis + " ms), after which holdfast.redis.fail-over-grace counts every"
							+ " lease as ended: request a shorter lease, which is renewed while it is held, or set that"
							+ " property, for all applications that share locks",
					false, null);
		}
	}

	@Override
	public FleetStore fleet() {
		return this.fleet;
	}

	@Override
	public InstanceStore instances() {
		return this.instances;
	}

	@Override
	public void close() {
		this.listener.close();
		if (this.confirmations != null) {
			this.confirmations.close();
		}
		this.executor.close(this.connections::destroy);
	}

	/**
	 * Return the mode of a waiter. Without a subscription, a waiter counts as polling, so
	 * that its instance is not taken for absent.
	 */
	private String mode() {
		return isListening() ? SUBSCRIBED : POLLING;
	}

}
