package io.holdfast.redis.driver;

import java.net.SocketAddress;
import java.util.ArrayDeque;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Function;

import io.holdfast.async.BlockingWait;
import io.holdfast.async.DaemonThreads;
import io.holdfast.redis.script.RedisFailures;
import io.holdfast.redis.script.Script;
import io.lettuce.core.AbstractRedisAsyncCommands;
import io.lettuce.core.RedisChannelHandler;
import io.lettuce.core.RedisConnectionStateListener;
import io.lettuce.core.api.StatefulConnection;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.cluster.PartitionException;
import io.lettuce.core.masterreplica.StatefulRedisMasterReplicaConnection;
import io.netty.channel.EventLoop;
import org.jspecify.annotations.Nullable;

import org.springframework.core.NestedExceptionUtils;
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
 * connects again by itself, unless the connection is closed by its factory. In the
 * meantime calls wait in the backlog, too: Lettuce would keep them beyond their end.
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
public final class ScriptExecutor {

	/** How long the end waits for a running attempt to connect. */
	private static final long ENDING_MILLIS = 500;

	/** The most calls in the backlog among which none is looked for that has ended. */
	private static final int FEW = 1024;

	private final RedisConnectionFactory factory;

	private final Runnable refresh;

	private final DaemonThreads threads;

	private final ReentrantLock lock = new ReentrantLock();

	private final Queue<ScriptCall<?>> backlog = new ArrayDeque<>();

	/** Lettuce's shared connection while it is open. Calls use it without the lock. */
	private volatile @Nullable StatefulConnection<byte[], byte[]> connection;

	/** The event loop that has written last; null until a command was written. */
	private volatile @Nullable EventLoop loop;

	/**
	 * The running attempt to connect, completed at its end; null if none is running. It
	 * is changed under the lock.
	 */
	private volatile @Nullable CompletableFuture<@Nullable Void> attempt;

	/** The attempt that the end has waited for. */
	private volatile @Nullable CompletableFuture<@Nullable Void> awaited;

	private volatile boolean closed;

	private final boolean cluster;

	/** Whether it has more connections behind it, of which this is not told. */
	private volatile boolean composed;

	private final DemotedMaster demoted = new DemotedMaster();

	private final AtomicLong reconnects = new AtomicLong();

	/** When the connection was lost, 0 while there is one: calls wait until then. */
	private volatile long lostAt;

	/**
	 * Told of a loss before the driver repeats unanswered commands, and of the next
	 * connection after that.
	 */
	private final RedisConnectionStateListener disconnects = new RedisConnectionStateListener() {

		@Override
		public void onRedisDisconnected(RedisChannelHandler<?, ?> connection) {
			ScriptExecutor.this.reconnects.incrementAndGet();
			// Those of a cluster are of one node each.
			if (!ScriptExecutor.this.cluster && connection == ScriptExecutor.this.connection) {
				ScriptExecutor.this.lostAt = System.nanoTime() | 1;
			}
		}

		@Override
		public void onRedisConnected(RedisChannelHandler<?, ?> connection, SocketAddress address) {
			StatefulConnection<byte[], byte[]> open = ScriptExecutor.this.connection;
			if (connection == open) {
				sendBacklog(open, RedisFailures.closed(), () -> ScriptExecutor.this.lostAt = 0);
			}
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
	 * Send a script. The caller has a deadline for the answer: without one, the call may
	 * stay open until this is closed.
	 * @param <T> the type of the result
	 * @param keys its KEYS
	 * @param args its ARGV: texts, whole numbers, and flags
	 * @param subject the key in Redis, or the attempt, for messages
	 * @param reader turns the reply into a result
	 */
	public <T> CompletableFuture<T> execute(Script script, byte[][] keys, Object[] args, String subject,
			Function<ScriptReply, T> reader) {
		ScriptCall<T> call = new ScriptCall<>(this, script, keys, args, subject, reader);
		execute(call);
		return call;
	}

	/** Find the server anew after a failure if that helps. */
	void onFailure(Throwable error) {
		if (NestedExceptionUtils.getMostSpecificCause(error) instanceof PartitionException) {
			// The driver knows no node for the slot.
			this.refresh.run();
		}
		reopenIfDemoted(error);
	}

	/**
	 * Open the connection again if its server has refused writes for a while. Redis ends
	 * the connection for QUIT, and the driver then asks Sentinel or resolves the host
	 * again. Of several servers it finds the master only for a new connection. In a
	 * cluster, the driver learns of a fail-over by redirections.
	 */
	private void reopenIfDemoted(Throwable error) {
		String reason = this.cluster ? null : RedisFailures.whyNoMaster(error);
		if (reason == null || !(this.connection instanceof StatefulRedisConnection<?, ?> open)
				|| !this.demoted.onRefused(reason, System.nanoTime())) {
			return;
		}
		if (this.composed && this.factory instanceof LettuceConnectionFactory lettuce) {
			this.threads.start(lettuce::resetConnection, "holdfast-redis-connect");
		}
		else {
			open.async().quit();
		}
	}

	/**
	 * Send a call; it completes on any thread. A script that Redis does not know is sent
	 * again with its text.
	 */
	void execute(ScriptCall<?> call) {
		StatefulConnection<byte[], byte[]> open = this.connection;
		if (open != null && this.lostAt == 0 && !isClosed(open)) {
			send(open, call);
			return;
		}
		enter();
		try {
			open = this.connection;
			boolean missing = open == null || isClosed(open);
			if (!this.closed && (missing || this.lostAt != 0)) {
				if (missing) {
					this.connection = null;
					// First, as it fails where threads run out.
					connect();
				}
				keep(call);
				return;
			}
		}
		finally {
			this.lock.unlock();
		}
		if (open != null) {
			send(open, call);
		}
		else {
			call.completeExceptionally(RedisFailures.closed());
		}
	}

	/** Add a call to the backlog. Whenever that has doubled, ended calls are left out. */
	private void keep(ScriptCall<?> call) {
		int size = this.backlog.size();
		if (size >= FEW && Integer.bitCount(size) == 1) {
			this.backlog.removeIf(ScriptCall::isDone);
		}
		this.backlog.add(call);
	}

	/**
	 * Return whether the factory was stopped or reset. A connection that is merely down
	 * is not closed: Lettuce opens it again.
	 */
	private static boolean isClosed(StatefulConnection<?, ?> connection) {
		return connection instanceof RedisChannelHandler<?, ?> handler && handler.isClosed();
	}

	/**
	 * Send a call, unless it was given up. Fails the call where the driver refuses it.
	 * Waits for nothing.
	 *
	 * <p>
	 * On one connection, commands are written in the order in which they were sent.
	 * Lettuce queues the commands of other threads for its event loop, but writes the
	 * commands of the event loop itself at once. So the loop dispatches by a task, behind
	 * that queue.
	 */
	private void send(StatefulConnection<byte[], byte[]> open, ScriptCall<?> call) {
		EventLoop loop = this.loop;
		attempt(call, (loop == null || !loop.inEventLoop()) ? () -> open.dispatch(call)
				: () -> loop.execute(() -> attempt(call, () -> open.dispatch(call))));
	}

	private static void attempt(ScriptCall<?> call, Runnable action) {
		try {
			if (!call.isDone()) {
				action.run();
			}
		}
		catch (RuntimeException | Error ex) {
			// Errors, too: the driver would not end the call.
			call.completeExceptionally(ex);
		}
	}

	/** Note that the calling thread, an event loop, writes a command. */
	void onWriting() {
		EventLoop last = this.loop;
		if (last == null || !last.inEventLoop()) {
			this.loop = HoldfastConnectionFactory.eventLoop();
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
		if (this.attempt == null) {
			CompletableFuture<@Nullable Void> next = new CompletableFuture<>();
			this.threads.start(() -> serveBacklog(next), "holdfast-redis-connect");
			// Not before, as starting fails where threads run out.
			this.attempt = next;
		}
	}

	private void serveBacklog(CompletableFuture<@Nullable Void> end) {
		StatefulConnection<byte[], byte[]> opened = null;
		Throwable trouble = RedisFailures.closed();
		try {
			opened = open();
		}
		catch (RuntimeException | Error ex) {
			// A thread that ends here would let calls wait for ever.
			trouble = ex;
		}
		StatefulConnection<byte[], byte[]> result = opened;
		sendBacklog(opened, trouble, () -> {
			this.attempt = null;
			this.connection = this.closed ? null : result;
			// It may be lost by now, and its listener has told nothing of that.
			if (result != null && !this.cluster && !this.composed && !result.isOpen()) {
				this.lostAt = System.nanoTime() | 1;
			}
		});
		end.complete(null);
	}

	/**
	 * Send the calls that wait. New calls wait behind these.
	 * @param opened the connection, or {@code null} if they are to fail
	 * @param end the action under the lock when none is left
	 */
	private void sendBacklog(@Nullable StatefulConnection<byte[], byte[]> opened, Throwable trouble, Runnable end) {
		boolean more;
		do {
			List<ScriptCall<?>> next;
			enter();
			try {
				next = List.copyOf(this.backlog);
				this.backlog.clear();
				more = opened != null && !this.closed && !next.isEmpty();
				if (!more) {
					end.run();
				}
			}
			finally {
				this.lock.unlock();
			}
			for (ScriptCall<?> call : next) {
				if (opened != null && more) {
					send(opened, call);
				}
				else {
					call.completeExceptionally(trouble);
				}
			}
		}
		while (more);
	}

	@SuppressWarnings("unchecked")
	private StatefulConnection<byte[], byte[]> open() {
		this.reconnects.incrementAndGet();
		this.lostAt = 0;
		// Its end leaves the shared connection open.
		try (RedisConnection shared = this.factory.getConnection()) {
			AbstractRedisAsyncCommands<byte[], byte[]> commands = (AbstractRedisAsyncCommands<byte[], byte[]>) shared
				.getNativeConnection();
			StatefulConnection<byte[], byte[]> opened = commands.getConnection();
			this.composed = opened instanceof StatefulRedisMasterReplicaConnection;
			opened.addListener(this.disconnects);
			return opened;
		}
	}

	/**
	 * Wait shortly for a running attempt to connect, before the factory is stopped: that
	 * would wait for all of it, and Lettuce would leave a connection behind if its
	 * factory were closed while it is being opened. An attempt that is silent is waited
	 * for once, not with each step of the end.
	 * @return whether none is running
	 */
	public boolean awaitConnectAttempt() {
		CompletableFuture<@Nullable Void> running = this.attempt;
		if (running != null && running != this.awaited) {
			this.awaited = running;
			BlockingWait.awaitEnd(running.copy().completeOnTimeout(null, ENDING_MILLIS, TimeUnit.MILLISECONDS));
		}
		return this.attempt == null;
	}

	/**
	 * Fail unsent calls, and all calls from now on. Blocks shortly for a running attempt
	 * to connect.
	 * @param action closes the factory when no attempt is running: at once, or by the
	 * thread that connects, as soon as it has ended
	 */
	public void close(Runnable action) {
		enter();
		try {
			this.closed = true;
			this.connection = null;
		}
		finally {
			this.lock.unlock();
		}
		awaitConnectAttempt();
		failUnsent();
		CompletableFuture<@Nullable Void> running = this.attempt;
		if (running != null) {
			running.thenRun(action);
		}
		else {
			action.run();
		}
	}

	/** Return whether it was closed, so that all calls fail. */
	public boolean isClosed() {
		return this.closed;
	}

	/** Fail the calls that wait for a connection. */
	public void failUnsent() {
		sendBacklog(null, RedisFailures.closed(), () -> {
		});
	}

}
