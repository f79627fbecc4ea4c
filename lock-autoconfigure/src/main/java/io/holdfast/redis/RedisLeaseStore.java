package io.holdfast.redis;

import java.time.Duration;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

import io.holdfast.async.DaemonThreads;
import io.holdfast.engine.store.FleetStore;
import io.holdfast.engine.store.InstanceStore;
import io.holdfast.engine.store.LeaseStore;
import io.holdfast.engine.store.Resource;
import io.holdfast.engine.store.Resource.Kind;
import io.holdfast.engine.store.StoreDiagnostic;
import io.holdfast.engine.store.StoreNotifications;
import io.holdfast.redis.driver.ClusterMasters;
import io.holdfast.redis.driver.Drivers;
import io.holdfast.redis.driver.HoldfastConnectionFactory;
import io.holdfast.redis.driver.ScriptCall.ReplyReader;
import io.holdfast.redis.driver.ScriptExecutor;
import io.holdfast.redis.key.RedisKeys;
import io.holdfast.redis.key.RedisStoreOptions;
import io.holdfast.redis.driver.NotificationListener;
import io.holdfast.redis.driver.ShardedChannels;
import io.holdfast.redis.script.Script;
import io.holdfast.redis.script.ScriptReplies;
import org.jspecify.annotations.Nullable;

import org.springframework.data.redis.connection.ClusterSlotHashUtil;
import org.springframework.data.redis.connection.RedisConnectionFactory;
import org.springframework.data.redis.core.StringRedisTemplate;

/**
 * The {@link LeaseStore} in Redis. Each command is one Lua script and one round trip.
 * Thread-safe.
 */
public final class RedisLeaseStore implements LeaseStore {

	/** Is looked at, and never there. */
	private static final String WARM_UP_KEY = "holdfast-warm-up";

	/** Named by messages to the own channel in a cluster; never stored. */
	private static final String PING_KEY = "holdfast-ping";

	private static final String SUBSCRIBED = "s";

	private static final String POLLING = "p";

	private final RedisStoreOptions options;

	private final boolean cluster;

	private final DaemonThreads threads = new DaemonThreads();

	private final HoldfastConnectionFactory connections;

	/** Not asked for with each command. */
	private final long answerNanos;

	private final ScriptExecutor executor;

	private final @Nullable NotificationListener listener;

	/** The beginning of the tokens of this instance. */
	private volatile String tokenPrefix = "";

	private volatile @Nullable StoreNotifications notifications;

	private final ResourceCommands commands;

	private final RedisDiagnostics examination;

	private final @Nullable ReplicaConfirmations confirmations;

	private final RedisFleetStore fleet;

	private final RedisInstanceStore instances;

	/**
	 * Create the store. Nothing is connected before it is used.
	 * @param template where Redis is: only the configuration of its connection factory is
	 * used, Lettuce's or Jedis's. The store connects to the same Redis by Lettuce, with
	 * connections of its own
	 * @param options how to use it
	 * @throws IllegalStateException if the template has no connection factory, or one
	 * that does not tell where Redis is, if Lettuce is missing, if Redis is a cluster
	 * where there is to be a fail-over grace, or if there is an
	 * {@link #obstacleToReplicas obstacle} to waiting for replicas
	 */
	public RedisLeaseStore(StringRedisTemplate template, RedisStoreOptions options) {
		this(template, options, null);
	}

	/**
	 * Create the store for an application with a class loader of its own. Nothing is
	 * connected before it is used.
	 * @param template where Redis is
	 * @param options how to use it
	 * @param classLoader the context class loader of its threads, also of threads that
	 * the driver starts at once; {@code null} for that of Holdfast's classes
	 * @throws IllegalStateException as the other constructor
	 */
	public RedisLeaseStore(StringRedisTemplate template, RedisStoreOptions options, @Nullable ClassLoader classLoader) {
		Drivers.requireLettuce();
		this.threads.setClassLoader(classLoader);
		RedisConnectionFactory application = template.getRequiredConnectionFactory();
		this.options = options;
		this.cluster = Drivers.isCluster(application);
		if (this.cluster && options.longestLease() != null) {
			throw new IllegalStateException("There is no fail-over grace in a Redis cluster, where scripts cannot read"
					+ " the key that remembers their server: set holdfast.redis.fail-over-grace to false");
		}
		String obstacle = (options.replicas() != null) ? obstacleToReplicas(application) : null;
		if (obstacle != null) {
			throw new IllegalStateException(obstacle);
		}
		// A WAIT may take its time.
		this.connections = HoldfastConnectionFactory.of(application,
				(options.replicas() != null) ? options.replicas().timeout() : Duration.ZERO, this.threads);
		this.answerNanos = this.connections.answerNanos();
		StringRedisTemplate own = new StringRedisTemplate(this.connections);
		ClusterMasters masters = new ClusterMasters(this.connections, this.threads);
		this.executor = new ScriptExecutor(this.connections, masters::refresh, this.threads);
		String pingKey = this.cluster ? options.lockPrefix() + PING_KEY : null;
		ShardedChannels shards = (pingKey == null || options.polling()) ? null
				: new ShardedChannels(masters, options, pingKey);
		this.listener = options.polling() ? null : new NotificationListener(this.connections::connectPubSub,
				this.executor, options.channelPrefix(), pingKey, shards, NotificationListener.PING_MILLIS);
		this.confirmations = (options.replicas() == null) ? null : new ReplicaConfirmations(
				() -> new LettuceConfirmingConnection(this.connections), options.replicas(), this.threads);
		this.commands = new ResourceCommands(options, this.cluster, this.executor,
				(slot) -> (shards != null) ? shards.at(slot) : null);
		this.examination = new RedisDiagnostics(own, this.executor, options);
		this.fleet = new RedisFleetStore(options, this.executor, this.commands, this.cluster ? masters : null);
		this.instances = new RedisInstanceStore(options, this.executor, this.cluster);
	}

	/**
	 * Return why a store on these connections cannot wait for replicas.
	 * @param factory where Redis is; nothing is connected
	 * @return the reason, or {@code null} if it can
	 */
	public static @Nullable String obstacleToReplicas(RedisConnectionFactory factory) {
		return Drivers.isCluster(factory) ? "waiting for replicas is not possible in a cluster" : null;
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
	 * Begin to listen, and to connect: a first command takes far longer than those after
	 * it.
	 */
	@Override
	public void start(String instanceId, StoreNotifications notifications) {
		inspect(new Resource(Kind.LOCK, WARM_UP_KEY), 0);
		if (this.confirmations != null) {
			this.confirmations.prepare();
		}
		this.tokenPrefix = instanceId + ":";
		this.notifications = (this.confirmations != null) ? new UnconfirmedNotifications(notifications) : notifications;
		if (this.listener != null) {
			this.listener.start(instanceId, this.notifications);
		}
	}

	/** Return where grants to the instance of a token go, if it is this one. */
	private @Nullable StoreNotifications wakeUpsOf(String token) {
		return token.startsWith(this.tokenPrefix) ? this.notifications : null;
	}

	@Override
	public void stop() {
		if (this.listener != null) {
			this.listener.stop();
		}
		if (this.executor.awaitConnectAttempt()) {
			// They open again if they are used again.
			this.connections.stop();
		}
	}

	@Override
	public boolean isListening() {
		return this.listener != null && this.listener.isListening();
	}

	@Override
	public boolean isPolling() {
		return this.listener == null;
	}

	@Override
	public @Nullable String whyNotListening() {
		return (this.listener != null) ? this.listener.trouble() : null;
	}

	@Override
	public CompletableFuture<List<StoreDiagnostic>> examine() {
		return this.examination.start();
	}

	@Override
	public CompletableFuture<@Nullable Void> tryWrite() {
		// There is no such key.
		String key = this.options.lockPrefix() + UUID.randomUUID();
		return this.executor.execute(Script.WRITE, () -> new byte[][] { RedisKeys.bytes(key) }, new Object[0],
				"a write", (reply) -> null);
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
	public long unreachedNanos() {
		return this.executor.unreachedNanos();
	}

	@Override
	public CompletableFuture<AcquireReply> acquire(Resource resource, AcquireCommand command, boolean enqueue) {
		CompletableFuture<AcquireReply> reply = this.commands.acquire(resource, command, mode(), enqueue);
		// A key that is refused has no place to look at.
		if (this.confirmations == null || reply.isCompletedExceptionally()) {
			return reply;
		}
		boolean permits = resource.kind() == Kind.SEMAPHORE || command.permits() == 1;
		return this.confirmations.confirmed(reply, this.commands.holdersKey(resource), permits,
				ResourceCommands.holder(resource, command));
	}

	@Override
	public CompletableFuture<ReleaseReply> release(Resource resource, AcquireCommand ended,
			@Nullable AcquireCommand next) {
		// Too long a lease is refused to its own request, not to a release.
		AcquireCommand allowed = (next != null && this.options.allows(next.leaseMillis())) ? next : null;
		return this.commands.release(resource, ended, allowed, mode(), wakeUpsOf(ended.token()));
	}

	@Override
	public CompletableFuture<List<Boolean>> force(Resource resource, List<String> tokens) {
		return this.commands.force(resource, tokens);
	}

	@Override
	public int partOf(Resource resource) {
		int slot = this.cluster ? ClusterSlotHashUtil.calculateSlot(this.options.keyOf(resource)) : 0;
		return slot * Kind.values().length + resource.kind().ordinal();
	}

	@Override
	public CompletableFuture<ReleaseReply> retain(Renewal lease) {
		// Exact time, for the scripts.
		Renewal exact = new Renewal(lease.resource(), lease.token(), lease.permits(), -lease.leaseMillis());
		long sentAt = System.nanoTime();
		ReplyReader<ReleaseReply> reply = (array, repeated, late) -> {
			boolean held = ScriptReplies.kept(array, 1).get(0);
			long millis = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - sentAt);
			boolean overtaken = late && millis >= lease.leaseMillis() - 1;
			// The script does not tell whether there is a grace. The RELEASE that follows
			// when
			// the time is over may have run before.
			return new ReleaseReply(held, null, held || !repeated && !overtaken && this.options.longestLease() == null);
		};
		return this.commands.renew(List.of(exact), this.options.keyOf(lease.resource()), reply);
	}

	@Override
	public CompletableFuture<List<Boolean>> renew(List<Renewal> renewals) {
		return this.commands.renew(renewals, "renewals", (reply) -> ScriptReplies.kept(reply, renewals.size()));
	}

	@Override
	public CompletableFuture<KeyState> inspect(Resource resource, int maxReaders) {
		return this.commands.inspect(resource, maxReaders, 0, StandingReplies::keyState);
	}

	@Override
	public CompletableFuture<PermitState> inspectPermits(Resource resource, int maxHolders) {
		return this.commands.inspect(resource, maxHolders, 0, StandingReplies::permitState);
	}

	@Override
	public CompletableFuture<Boolean> limit(Resource resource, @Nullable Integer limit) {
		return this.commands.limit(resource, limit);
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
		if (this.listener != null) {
			this.listener.close();
		}
		if (this.confirmations != null) {
			this.confirmations.close();
		}
		this.executor.close(this.connections::destroy);
	}

	/**
	 * Return how a waiter says that it waits. One whose subscription is away is not
	 * reached by a wake-up, and must not be taken for gone because of that.
	 */
	private String mode() {
		return isListening() ? SUBSCRIBED : POLLING;
	}

}
