package io.holdfast.redis;

import java.nio.charset.StandardCharsets;
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
 * The {@link LeaseStore} in Redis. Each command is one Lua script and one round trip;
 * scripts of semaphores have the key as ARGV 1. Thread-safe.
 */
public final class RedisLeaseStore implements LeaseStore {

	/** Is looked at, and never there. */
	private static final String WARM_UP_KEY = "holdfast-warm-up";

	private static final String SUBSCRIBED = "s";

	private static final String POLLING = "p";

	private static final String READS = "r";

	/** An empty text in ARGV. */
	private static final String NOTHING = "";

	// Linked when the application starts, and not in its first call.
	private static final Function<StoreScripts, Script> ACQUIRE = StoreScripts::acquire;

	private static final Function<StoreScripts, Script> RELEASE = StoreScripts::release;

	/** A power of two, and some half a kilobyte for each that was used. */
	private static final int KNOWN = 4096;

	private final RedisStoreOptions options;

	private final long longestLeaseMillis;

	private final boolean cluster;

	private final StoreScripts scripts;

	/** Recently used ones, as most leases are released soon. */
	private final AtomicReferenceArray<RedisKeys> known = new AtomicReferenceArray<>(KNOWN);

	private final ResourceReplies replies;

	private final DaemonThreads threads = new DaemonThreads();

	private final HoldfastConnectionFactory connections;

	/** Not asked for with each command. */
	private final long answerNanos;

	private final ScriptExecutor executor;

	private final @Nullable ShardedChannels shards;

	private final NotificationListener listener;

	/** The beginning of the tokens of this instance; of none before the start. */
	private volatile String tokenPrefix = ":";

	private final @Nullable ReplicaConfirmations confirmations;

	private final RedisFleetStore fleet;

	private final RedisInstanceStore instances;

	/**
	 * Create the store. Nothing is connected before it is used.
	 * @param application where Redis is: only the configuration of these connections is
	 * used, Lettuce's or Jedis's. The store connects to the same Redis by Lettuce, with
	 * connections of its own
	 * @param options how to use it; replicas only without an {@link #obstacleToReplicas
	 * obstacle}
	 * @throws IllegalStateException if the connections do not tell where Redis is, if
	 * Lettuce is missing, or if Redis is a cluster where there is to be a fail-over grace
	 */
	public RedisLeaseStore(RedisConnectionFactory application, RedisStoreOptions options) {
		this(application, options, null);
	}

	/**
	 * Create the store for an application with a class loader of its own. Nothing is
	 * connected before it is used.
	 * @param application where Redis is
	 * @param options how to use it
	 * @param classLoader the context class loader of its threads, also of threads that
	 * the driver starts at once; {@code null} for that of Holdfast's classes
	 * @throws IllegalStateException as the other constructor
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
		if (this.cluster && options.longestLease() != null) {
			throw new IllegalStateException("There is no fail-over grace in a Redis cluster, where scripts cannot read"
					+ " the key that remembers their server: set holdfast.redis.fail-over-grace to false");
		}
		// A WAIT may take its time.
		Duration wait = (options.replicas() != null) ? options.replicas().timeout() : Duration.ZERO;
		this.connections = HoldfastConnectionFactory.of(application,
				HoldfastConnectionFactory.LONGEST_SILENCE.plus(wait), this.threads);
		this.answerNanos = this.connections.answerNanos();
		ClusterMasters masters = new ClusterMasters(this.connections, this.threads);
		this.executor = new ScriptExecutor(this.connections, masters::refresh, this.threads);
		this.shards = this.cluster ? new ShardedChannels(masters, options) : null;
		this.listener = new NotificationListener(this.connections::connectPubSub, this.executor, options, this.shards,
				NotificationListener.PING_MILLIS);
		this.confirmations = (options.replicas() == null) ? null : new ReplicaConfirmations(
				() -> new LettuceConfirmingConnection(this.connections), options.replicas(), this.threads);
		this.fleet = new RedisFleetStore(options, this.executor, this.cluster ? masters : null);
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
			// They open again if they are used again.
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
		// There is no such key.
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
				resource, command.leaseMillis(), (reply) -> acquired(resource, command, reply),
				request(resource, command, enqueue));
		// A key that is refused has no place to look at.
		if (this.confirmations == null || answer.isCompletedExceptionally()) {
			return answer;
		}
		String holders = new String(keysOf(resource).all()[0], StandardCharsets.UTF_8);
		return this.confirmations.confirmed(answer, holders, holder(resource, command.token(), command.permits()));
	}

	/** Return the entry of a lease among the holders. */
	private static String holder(Resource resource, String token, int permits) {
		return !isLock(resource) ? token + ":" + permits : (permits == 1) ? token + ":" + READS : token;
	}

	AcquireReply acquired(Resource resource, AcquireCommand command, ScriptReply reply) {
		// In the usual case the fence of its grant alone.
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
		// Too long a lease is refused to its own request, not to a release.
		AcquireCommand allowed = (next != null && next.leaseMillis() <= this.longestLeaseMillis) ? next : null;
		// Grants to others of its instance are in the answer: a message for each would
		// cost more than the command.
		boolean told = ended.token().startsWith(this.tokenPrefix);
		Object claim = (ended.permits() != 0) ? (Object) ended.claimMillis() : NOTHING;
		Object[] args = isLock(resource) ? new Object[] { ended.token(), claim, reads(ended), told }
				: new Object[] { ended.token(), told };
		return send(isLock(resource) ? RELEASE : StoreScripts::releasePermits, resource, 0,
				(reply) -> released(resource, reply),
				(allowed != null) ? join(args, request(resource, allowed, true)) : args);
	}

	/**
	 * Read the outcome: 1 if the token held anything, 0 if not, 2 if not and that says
	 * nothing, as during a grace. Then there may be how many elements tell of the next
	 * token, those, and three for each grant.
	 */
	private ReleaseReply released(Resource resource, ScriptReply reply) {
		int grantsFrom = (reply.size() > 1) ? 2 + reply.count(1) : 1;
		AcquireReply next = (grantsFrom > 2) ? this.replies.read(resource, reply, 2, grantsFrom) : null;
		if (this.confirmations != null && next instanceof AcquireReply.Granted) {
			// It is to ask by itself, as the release must not wait for replicas.
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
		// Exact time, for the scripts.
		Renewal exact = new Renewal(lease.resource(), lease.token(), lease.permits(), -lease.leaseMillis());
		long sentAt = System.nanoTime();
		return renew(List.of(exact), this.options.keyOf(lease.resource()), (reply) -> {
			boolean held = kept(reply, 1).get(0);
			long millis = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - sentAt);
			boolean overtaken = reply.isLate() && millis >= lease.leaseMillis() - 1;
			// The script does not tell whether there is a grace. The RELEASE that follows
			// when the time is over may have run before.
			return new ReleaseReply(held, null,
					held || !reply.isRepeated() && !overtaken && this.options.longestLease() == null);
		});
	}

	@Override
	public CompletableFuture<List<Boolean>> renew(List<Renewal> renewals) {
		return renew(renewals, "renewals", (reply) -> kept(reply, renewals.size()));
	}

	/**
	 * Renew leases, either all of locks or all of permits.
	 * @param subject the renewed leases, for messages
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
					// Without its limit.
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
	 * Return the arguments of a script that renews leases. All mostly are to last equally
	 * long, which is said once then: there are many in a command.
	 */
	static Object[] arguments(List<Renewal> renewals) {
		boolean alike = renewals.stream().allMatch((renewal) -> renewal.leaseMillis() == renewals.get(0).leaseMillis());
		List<Renewal> times = alike ? renewals.subList(0, Math.min(1, renewals.size())) : renewals;
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
	 * Return which of several leases were renewed.
	 * @param reply how many there are, and at which places, from 1 on, those are that
	 * were not
	 */
	static List<Boolean> kept(ScriptReply reply, int count) {
		if (reply.number(0) != count) {
			throw new IllegalStateException("The answer for " + count + " leases is for " + reply.number(0));
		}
		Boolean[] kept = new Boolean[count];
		Arrays.fill(kept, true);
		for (int i = 1; i < reply.size(); i++) {
			kept[reply.count(i) - 1] = false;
		}
		return List.of(kept);
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

	/** Send a script. The call has failed if the resource or the lease is refused. */
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
	 * @throws StoreCommandException if it may not be called so
	 */
	RedisKeys keysOf(Resource resource) {
		int hash = resource.key().hashCode() + resource.kind().ordinal();
		int place = (hash ^ (hash >>> 16)) & (KNOWN - 1);
		RedisKeys last = this.known.get(place);
		if (last != null && last.resource().key().equals(resource.key()) && last.resource().kind() == resource.kind()) {
			return last;
		}
		RedisKeys keys = RedisKeys.of(resource, this.options, this.cluster);
		this.known.set(place, keys);
		return keys;
	}

	/** Refuse lease times that could outlast the fail-over grace. */
	private void check(long leaseMillis) {
		if (leaseMillis > this.longestLeaseMillis) {
			throw new StoreCommandException("A lease of " + leaseMillis
					+ " ms is longer than holdfast.redis.longest-lease (" + this.longestLeaseMillis
					+ " ms), after which holdfast.redis.fail-over-grace counts every"
					+ " lease as ended: ask for a shorter one, which is renewed as long as it is held, or set that"
					+ " property, for all applications that share locks", false, null);
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
	 * Return how a waiter says that it waits. One whose subscription is away is not
	 * reached by a wake-up, and must not be taken for gone because of that.
	 */
	private String mode() {
		return isListening() ? SUBSCRIBED : POLLING;
	}

}
