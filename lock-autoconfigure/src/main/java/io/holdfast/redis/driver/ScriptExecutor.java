package io.holdfast.redis.driver;

import java.net.SocketAddress;
import java.util.ArrayDeque;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Function;
import java.util.function.Supplier;

import io.holdfast.async.DaemonThreads;
import io.holdfast.engine.store.StoreCommandException;
import io.holdfast.redis.script.RedisFailures;
import io.holdfast.redis.script.Script;
import io.holdfast.redis.script.ScriptArguments;
import io.lettuce.core.AbstractRedisAsyncCommands;
import io.lettuce.core.RedisChannelHandler;
import io.lettuce.core.RedisConnectionStateListener;
import io.lettuce.core.api.StatefulConnection;
import io.lettuce.core.api.async.BaseRedisAsyncCommands;
import io.lettuce.core.masterreplica.StatefulRedisMasterReplicaConnection;
import org.jspecify.annotations.Nullable;

import org.springframework.data.redis.connection.RedisConnection;
import org.springframework.data.redis.connection.RedisConnectionFactory;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;

/**
 * Runs scripts on one connection, in order, without blocking its callers. Thread-safe.
 *
 * <p>
 * Opening the connection blocks, so it is done on a thread of its own. Until then calls
 * wait in a backlog. They are sent in their order when the connection is open, and fail
 * together when it cannot be opened; the next call tries again. Once it is open, Lettuce
 * connects again by itself, unless the connection is closed by its factory.
 *
 * <p>
 * A reply is completed on the driver's event loop. In a cluster, a command from there may
 * overtake one that another thread gave to the driver just before; that is no trouble,
 * since a command that was given up is not written any more, or without its script, and
 * the loop does nothing for a token before the command that brought the token in was
 * answered.
 *
 * <p>
 * Nothing is ever completed under the lock: users of a call may take locks of their own,
 * and call this again while they hold them.
 */
public final class ScriptExecutor implements AutoCloseable {

	/** How long the end waits for a running attempt to connect. */
	private static final long ENDING_NANOS = TimeUnit.MILLISECONDS.toNanos(500);

	private final RedisConnectionFactory factory;

	private final Runnable refresh;

	private final DaemonThreads threads;

	private final ReentrantLock lock = new ReentrantLock();

	private final Queue<ScriptCall<?>> backlog = new ArrayDeque<>();

	/** The sender while the connection is open. Calls use it without the lock. */
	private volatile @Nullable ScriptSender sender;

	/** Signalled when an attempt to connect has ended. */
	private final Condition attemptEnded = this.lock.newCondition();

	private boolean connecting;

	/** Until when the attempt is waited for; 0 until that has begun. */
	private long attemptAwaitedUntil;

	/** The calls to send when the attempt to connect has ended. */
	private @Nullable Runnable afterAttempt;

	private volatile boolean closed;

	private final boolean cluster;

	/** Whether it has more connections behind it, of which this is not told. */
	private volatile boolean composed;

	/** The commands of the open connection, unless it is one of a cluster. */
	private volatile @Nullable BaseRedisAsyncCommands<?, ?> single;

	private final DemotedMaster demoted = new DemotedMaster();

	private final AtomicLong reconnects = new AtomicLong();

	/** When the connection was lost, 0 while there is one. */
	private volatile long lostAt;

	/** Told before the driver repeats unanswered commands. */
	private final RedisConnectionStateListener disconnects = new RedisConnectionStateListener() {

		@Override
		public void onRedisDisconnected(RedisChannelHandler<?, ?> connection) {
			ScriptExecutor.this.reconnects.incrementAndGet();
			// Those of a cluster are of one node each.
			if (!ScriptExecutor.this.cluster) {
				ScriptExecutor.this.lostAt = System.nanoTime() | 1;
			}
		}

		@Override
		public void onRedisConnected(RedisChannelHandler<?, ?> connection, SocketAddress address) {
			ScriptExecutor.this.lostAt = 0;
		}

	};

	/**
	 * Create the executor. Nothing is connected before it is used.
	 * @param factory gives the connection, which all share
	 * @param refresh has the driver look at the cluster anew, if it is one
	 * @param threads makes the threads that connect
	 */
	public ScriptExecutor(RedisConnectionFactory factory, Runnable refresh, DaemonThreads threads) {
		this.factory = factory;
		this.refresh = refresh;
		this.threads = threads;
		this.cluster = Drivers.isCluster(factory);
	}

	/** Return the factory of the store's threads. */
	public DaemonThreads threads() {
		return this.threads;
	}

	/**
	 * Return how often the connection was opened again; see
	 * {@link io.holdfast.engine.store.LeaseStore#reconnects}.
	 */
	public long reconnects() {
		return this.reconnects.get();
	}

	/**
	 * Return whether a command without an answer may run behind newer ones; see
	 * {@link io.holdfast.engine.store.LeaseStore#mayRunLate}.
	 */
	public boolean mayRunLate(long since) {
		// In a cluster it may be redirected behind newer ones at any time.
		return this.cluster || this.composed || this.reconnects.get() != since;
	}

	/**
	 * Return for how long the connection has been lost; see
	 * {@link io.holdfast.engine.store.LeaseStore#unreachedNanos}.
	 */
	public long unreachedNanos() {
		long since = this.lostAt;
		return (since != 0) ? Math.max(1, System.nanoTime() - since) : 0;
	}

	/**
	 * Send a script as {@link #execute(Script, byte[][], Object[], String, Function)}
	 * does. The call fails with the exception of its KEYS.
	 */
	public <T> CompletableFuture<T> execute(Script script, Supplier<byte[][]> keys, Object[] args, String what,
			Function<List<?>, T> reply) {
		byte[][] names;
		try {
			names = keys.get();
		}
		catch (StoreCommandException ex) {
			return CompletableFuture.failedFuture(ex);
		}
		return execute(script, names, args, what, reply);
	}

	/**
	 * Send a script.
	 * @param <T> the type of the result
	 * @param keys its KEYS
	 * @param args its ARGV, as {@link ScriptArguments} writes them
	 * @param what the key in Redis, or the attempt, for messages
	 * @param reply turns the reply into a result
	 */
	public <T> CompletableFuture<T> execute(Script script, byte[][] keys, Object[] args, String what,
			Function<List<?>, T> reply) {
		ScriptCall<T> call = new ScriptCall<>(script, keys, args, reply, (error) -> {
			reopenIfDemoted(error);
			return RedisFailures.of(error, what);
		});
		execute(call);
		return call;
	}

	/**
	 * Open the connection again if its server has refused writes for a while. Redis ends
	 * the connection for QUIT, and the driver then asks Sentinel or resolves the host
	 * again. Of several servers it finds the master only for a new connection. In a
	 * cluster, the driver learns of a fail-over by redirections.
	 */
	private void reopenIfDemoted(Throwable error) {
		BaseRedisAsyncCommands<?, ?> open = this.single;
		String reason = (open != null) ? RedisFailures.whyNoMaster(error) : null;
		if (open == null || reason == null || !this.demoted.onRefused(reason, System.nanoTime())) {
			return;
		}
		if (this.composed && this.factory instanceof LettuceConnectionFactory lettuce) {
			this.threads.start(lettuce::resetConnection, "holdfast-redis-connect");
		}
		else {
			open.quit();
		}
	}

	/**
	 * Send a call; it completes on any thread. A script that Redis does not know is sent
	 * again with its text.
	 */
	public void execute(ScriptCall<?> call) {
		ScriptSender open = this.sender;
		if (open != null && open.trySend(call)) {
			return;
		}
		boolean refused;
		enter();
		try {
			open = this.sender;
			refused = this.closed;
			if (!refused && (open == null || open.isClosed())) {
				open = null;
				this.sender = null;
				// First, as it fails where threads run out.
				connect();
				this.backlog.add(call);
			}
		}
		finally {
			this.lock.unlock();
		}
		if (refused) {
			call.completeExceptionally(RedisFailures.closed());
		}
		else if (open != null) {
			open.send(call);
		}
	}

	/**
	 * Held for an instant only: no reason for an event loop not to come here.
	 * HoldfastBlockHoundIntegration knows it by its name.
	 */
	private void enter() {
		this.lock.lock();
	}

	private void connect() {
		if (!this.connecting) {
			this.threads.start(this::serveBacklog, "holdfast-redis-connect");
			// Not before, as starting fails where threads run out.
			this.connecting = true;
			this.attemptAwaitedUntil = 0;
		}
	}

	private void serveBacklog() {
		ScriptSender open = null;
		Throwable trouble = RedisFailures.closed();
		try {
			open = new ScriptSender(open(), this.refresh);
		}
		catch (RuntimeException | Error ex) {
			// A thread that ends here would let calls wait for ever.
			trouble = ex;
		}
		boolean more;
		Runnable after = null;
		do {
			List<ScriptCall<?>> next;
			enter();
			try {
				next = List.copyOf(this.backlog);
				this.backlog.clear();
				more = open != null && !this.closed && !next.isEmpty();
				if (!more) {
					this.connecting = false;
					after = this.afterAttempt;
					this.attemptEnded.signalAll();
					this.sender = this.closed ? null : open;
				}
			}
			finally {
				this.lock.unlock();
			}
			Throwable reason = trouble;
			// New calls wait behind these.
			next.forEach((open != null && more) ? open::send : (call) -> call.completeExceptionally(reason));
		}
		while (more);
		if (after != null) {
			after.run();
		}
	}

	@SuppressWarnings("unchecked")
	private StatefulConnection<byte[], byte[]> open() {
		this.reconnects.incrementAndGet();
		this.lostAt = 0;
		RedisConnection connection = this.factory.getConnection();
		try {
			AbstractRedisAsyncCommands<byte[], byte[]> commands = (AbstractRedisAsyncCommands<byte[], byte[]>) connection
				.getNativeConnection();
			StatefulConnection<byte[], byte[]> opened = commands.getConnection();
			this.composed = opened instanceof StatefulRedisMasterReplicaConnection;
			opened.addListener(this.disconnects);
			this.single = this.cluster ? null : commands;
			return opened;
		}
		finally {
			// Leaves the shared connection open.
			connection.close();
		}
	}

	/**
	 * Lettuce would leave a connection behind if its factory were closed while it is
	 * being opened. One that is silent is waited for once, not with each step of the end.
	 */
	private void awaitAttemptEnd() {
		if (this.attemptAwaitedUntil == 0) {
			this.attemptAwaitedUntil = System.nanoTime() + ENDING_NANOS;
		}
		try {
			for (long left = this.attemptAwaitedUntil - System.nanoTime(); this.connecting && left > 0;) {
				left = this.attemptEnded.awaitNanos(left);
			}
		}
		catch (InterruptedException ex) {
			Thread.currentThread().interrupt();
		}
	}

	/**
	 * Wait shortly for a running attempt to connect, before the factory is stopped: that
	 * would wait for all of it.
	 * @return whether none is running
	 */
	public boolean awaitConnectAttempt() {
		enter();
		try {
			awaitAttemptEnd();
			return !this.connecting;
		}
		finally {
			this.lock.unlock();
		}
	}

	/**
	 * Close, and have an action run when no attempt to connect is running: at once, or by
	 * the thread that connects, as soon as it has ended.
	 * @param action closes the factory
	 */
	public void close(Runnable action) {
		close();
		enter();
		try {
			if (this.connecting) {
				this.afterAttempt = action;
				return;
			}
		}
		finally {
			this.lock.unlock();
		}
		action.run();
	}

	/** Return whether it was closed, so that all calls fail. */
	public boolean isClosed() {
		return this.closed;
	}

	/**
	 * Fail unsent calls, and all calls from now on. Blocks shortly for a running attempt
	 * to connect.
	 */
	@Override
	public void close() {
		List<ScriptCall<?>> waiting;
		enter();
		try {
			this.closed = true;
			this.sender = null;
			waiting = List.copyOf(this.backlog);
			this.backlog.clear();
			awaitAttemptEnd();
		}
		finally {
			this.lock.unlock();
		}
		waiting.forEach((call) -> call.completeExceptionally(RedisFailures.closed()));
	}

}
