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
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;

/**
 * Executor of scripts on one connection, in order, without blocking callers. Thread-safe.
 *
 * <p>
 * Opening the connection blocks, and therefore runs on a separate thread. Until then,
 * calls wait in a backlog. When the connection is open, the backlog is sent in order. If
 * the connection cannot be opened, the backlog fails, and the next call tries again.
 * Afterwards, Lettuce reconnects by itself, unless the factory closes the connection.
 * During a loss of the connection, calls wait in the backlog, too, because Lettuce would
 * keep ended calls.
 *
 * <p>
 * A reply is completed on the driver's event loop. In a cluster, a command of the event
 * loop may overtake a command that another thread has just passed to the driver. This is
 * harmless: a cancelled command is not written any more, or only without its script, and
 * the event loop does nothing for a token before the command that introduced the token is
 * answered.
 *
 * <p>
 * Nothing is completed under the lock, because users of a call may call this executor
 * under locks of their own.
 */
public final class ScriptExecutor {

	/** Maximum time for which the end waits for a running attempt to connect. */
	private static final long ENDING_MILLIS = 500;

	/** Minimum size of the backlog for the removal of ended calls. */
	private static final int MIN_CLEANED = 1024;

	private final LettuceConnectionFactory factory;

	private final Runnable refresh;

	private final DaemonThreads threads;

	private final ReentrantLock lock = new ReentrantLock();

	private final Queue<ScriptCall<?>> backlog = new ArrayDeque<>();

	/** Open shared connection of Lettuce, used by calls without the lock. */
	private volatile @Nullable StatefulConnection<byte[], byte[]> connection;

	/**
	 * Event loop of the last written command, or {@code null} before the first command.
	 */
	private volatile @Nullable EventLoop loop;

	/**
	 * Running attempt to connect, completed at its end, or {@code null} if none is
	 * running. Changed under the lock.
	 */
	private volatile @Nullable CompletableFuture<@Nullable Void> attempt;

	/** Attempt for which the end has waited. */
	private volatile @Nullable CompletableFuture<@Nullable Void> awaited;

	private volatile boolean closed;

	private final boolean cluster;

	/**
	 * Whether the connection consists of connections to a master and replicas. Their
	 * reconnects are not reported.
	 */
	private volatile boolean masterReplica;

	private final DemotedMaster demoted = new DemotedMaster();

	/**
	 * Time of the first call since the last answer, with connections to a master and its
	 * replicas; 0 without a call.
	 */
	private volatile long unansweredSince;

	private final AtomicLong reconnects = new AtomicLong();

	/**
	 * Time of the loss of the connection; 0 without a loss. During a loss, calls wait.
	 */
	private volatile long lostAt;

	/**
	 * Listener for a loss, called before the driver repeats unanswered commands, and for
	 * the next connection, called after that.
	 */
	private final RedisConnectionStateListener lossListener = new RedisConnectionStateListener() {

		@Override
		public void onRedisDisconnected(RedisChannelHandler<?, ?> connection) {
			ScriptExecutor.this.reconnects.incrementAndGet();
			// In a cluster, each loss concerns a single node. The driver also reports
			// connections that are closed before their first answer.
			if (!ScriptExecutor.this.cluster && connection == ScriptExecutor.this.connection
					&& ScriptExecutor.this.lostAt == 0) {
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
	 * Create the executor. Connects at the first use.
	 * @param factory the source of the shared connection
	 * @param refresh the refresh of the driver's view of a cluster
	 * @param threads the factory of the threads that connect
	 */
	public ScriptExecutor(LettuceConnectionFactory factory, Runnable refresh, DaemonThreads threads) {
		this.factory = factory;
		this.refresh = refresh;
		this.threads = threads;
		this.cluster = factory.isClusterAware();
	}

	/** Return the factory of the store's threads. */
	public DaemonThreads threads() {
		return this.threads;
	}

	/**
	 * Return the number of reconnects; see
	 * {@link io.holdfast.engine.store.LeaseStore#reconnects}.
	 */
	public long reconnects() {
		return this.reconnects.get();
	}

	/**
	 * Return whether an unanswered command may run after newer commands; see
	 * {@link io.holdfast.engine.store.LeaseStore#mayRunLate}.
	 */
	public boolean mayRunLate(long since) {
		// In a cluster, a redirection may put a command behind newer commands at any
		// time.
		return this.cluster || this.masterReplica || this.reconnects.get() != since;
	}

	/**
	 * Return the time for which the connection has been lost; see
	 * {@link io.holdfast.engine.store.LeaseStore#unreachedNanos}.
	 */
	public long unreachedNanos() {
		long since = this.lostAt;
		return (since != 0) ? Math.max(1, System.nanoTime() - since) : 0;
	}

	/**
	 * Send a script. The caller must have a timeout for the answer: otherwise, the call
	 * may stay open until this executor is closed.
	 * @param <T> the type of the result
	 * @param keys the KEYS
	 * @param args the ARGV: texts, whole numbers and flags
	 * @param subject the key in Redis, or the attempt, for messages
	 * @param reader the conversion of the reply to the result
	 */
	public <T> CompletableFuture<T> execute(Script script, byte[][] keys, Object[] args, String subject,
			Function<ScriptReply, T> reader) {
		ScriptCall<T> call = new ScriptCall<>(this, script, keys, args, subject, reader);
		execute(call);
		return call;
	}

	/**
	 * Refresh the view of a cluster, or reopen the connection, if the failure requires
	 * that.
	 */
	void onFailure(Throwable error) {
		Throwable cause = NestedExceptionUtils.getMostSpecificCause(error);
		boolean moved = this.cluster && String.valueOf(cause.getMessage()).startsWith("MOVED ");
		if (moved || cause instanceof PartitionException) {
			// The driver knows no node for the slot, or follows no redirection.
			this.refresh.run();
		}
		reopenIfDemoted(error);
	}

	/**
	 * Reopen the connection if its server has refused writes for some time. After QUIT,
	 * Redis closes the connection, and the driver asks Sentinel or resolves the host name
	 * again. With several servers, the driver looks for the master only for a new
	 * connection. In a cluster, redirections tell the driver of a fail-over.
	 */
	private void reopenIfDemoted(Throwable error) {
		String reason = this.cluster ? null : RedisFailures.whyNoMaster(error);
		if (reason == null || !(this.connection instanceof StatefulRedisConnection<?, ?> open)
				|| !this.demoted.onRefused(reason, System.nanoTime())) {
			return;
		}
		if (this.masterReplica) {
			reset();
		}
		else {
			open.async().quit();
		}
	}

	private void reset() {
		this.threads.start(this.factory::resetConnection, "holdfast-redis-connect");
	}

	/**
	 * Reopen the connections to a master and its replicas if nothing is answered. The
	 * driver looks for the master only while it opens the connections, and waits for a
	 * dead master for ever.
	 */
	private void reopenIfSilent(ScriptCall<?> call) {
		long now = System.nanoTime() | 1;
		long since = this.unansweredSince;
		if (since == 0) {
			this.unansweredSince = now;
		}
		else if (now - since > HoldfastConnectionFactory.MAX_SILENCE.toNanos()) {
			this.unansweredSince = 0;
			reset();
		}
		call.whenComplete((reply, error) -> {
			// Not after a timeout, or a refusal by the driver.
			if (call.isAnswered()) {
				onAnswer();
			}
		});
	}

	/** Note an answer of Redis. */
	void onAnswer() {
		this.unansweredSince = 0;
	}

	/**
	 * Send a call, which is completed on any thread. A script that Redis does not know is
	 * sent again with its text.
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
					// First, because this fails if no thread can be started.
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

	/**
	 * Add a call to the backlog. Ended calls are removed whenever the backlog has
	 * doubled.
	 */
	private void keep(ScriptCall<?> call) {
		int size = this.backlog.size();
		if (size >= MIN_CLEANED && Integer.bitCount(size) == 1) {
			this.backlog.removeIf(ScriptCall::isDone);
		}
		this.backlog.add(call);
	}

	/**
	 * Return whether the factory has closed a connection. A lost connection, which
	 * Lettuce reopens, is not closed.
	 */
	private static boolean isClosed(StatefulConnection<?, ?> connection) {
		return connection instanceof RedisChannelHandler<?, ?> handler && handler.isClosed();
	}

	/**
	 * Send a call that has not ended. If the driver refuses the call, the call fails.
	 * Does not block.
	 *
	 * <p>
	 * On one connection, commands are written in the order of sending. Lettuce queues the
	 * commands of other threads for its event loop, but writes the commands of the event
	 * loop itself immediately. Therefore, the event loop sends calls by a task, behind
	 * that queue.
	 */
	private void send(StatefulConnection<byte[], byte[]> open, ScriptCall<?> call) {
		if (this.masterReplica) {
			reopenIfSilent(call);
		}
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
		catch (RuntimeException ex) {
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
	 * Take the lock. Event loops may do so, because no thread holds the lock for long.
	 * {@code
	 * HoldfastBlockHoundIntegration} contains the name of this method.
	 */
	private void enter() {
		this.lock.lock();
	}

	private void connect() {
		if (this.attempt == null) {
			// Fails if no thread can be started.
			this.attempt = CompletableFuture.runAsync(this::serveBacklog,
					(task) -> this.threads.start(task, "holdfast-redis-connect"));
		}
	}

	private void serveBacklog() {
		StatefulConnection<byte[], byte[]> opened = null;
		Throwable trouble = RedisFailures.closed();
		try {
			opened = open();
		}
		catch (RuntimeException | Error ex) {
			// Such as a class that the driver misses.
			trouble = ex;
		}
		StatefulConnection<byte[], byte[]> result = opened;
		sendBacklog(opened, trouble, () -> {
			this.attempt = null;
			this.connection = this.closed ? null : result;
			// The connection may already be lost again. The listener ignores a loss
			// before this assignment.
			if (result != null && !this.cluster && !this.masterReplica && !result.isOpen()) {
				this.lostAt = System.nanoTime() | 1;
			}
		});
	}

	/**
	 * Send the calls of the backlog. New calls wait behind these calls.
	 * @param opened the connection, or {@code null} to fail the calls
	 * @param trouble the failure without a connection
	 * @param end the action under the lock when the backlog is empty
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
		// The close of this object leaves the shared connection open.
		try (RedisConnection shared = this.factory.getConnection()) {
			AbstractRedisAsyncCommands<byte[], byte[]> commands = (AbstractRedisAsyncCommands<byte[], byte[]>) shared
				.getNativeConnection();
			StatefulConnection<byte[], byte[]> opened = commands.getConnection();
			this.masterReplica = opened instanceof StatefulRedisMasterReplicaConnection;
			opened.addListener(this.lossListener);
			return opened;
		}
	}

	/**
	 * Wait shortly for a running attempt to connect, before the factory is stopped. The
	 * stop would wait for the whole attempt, and Lettuce would leave a connection open if
	 * its factory were closed during the attempt. The end waits only once for a silent
	 * attempt.
	 * @return whether no attempt is running
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
	 * Fail unsent and further calls. Blocks shortly for a running attempt to connect.
	 * @param action the action that closes the factory. Runs when no attempt is running:
	 * immediately, or on the connecting thread at the end of the attempt
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
			running.whenComplete((none, error) -> action.run());
		}
		else {
			action.run();
		}
	}

	/** Return whether this executor is closed, so that all calls fail. */
	public boolean isClosed() {
		return this.closed;
	}

	/** Fail the calls that wait for a connection. */
	public void failUnsent() {
		sendBacklog(null, RedisFailures.closed(), () -> {
		});
	}

}
