package io.holdfast.redis.driver;

import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Executor;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.LongSupplier;

import io.holdfast.redis.script.RedisFailures;
import io.holdfast.redis.script.ScriptCall;
import io.holdfast.redis.script.ScriptCommand;
import io.lettuce.core.AbstractRedisAsyncCommands;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.cluster.api.async.RedisClusterAsyncCommands;
import io.lettuce.core.masterreplica.StatefulRedisMasterReplicaConnection;
import io.lettuce.core.tracing.TraceContextProvider;
import io.lettuce.core.tracing.Tracing;
import io.netty.util.concurrent.FastThreadLocalThread;
import org.jspecify.annotations.Nullable;

/**
 * Sends commands that meet in one flush: a system call and a wake-up of Redis for each of
 * them would cost more than the command itself. A command leaves at once while few are
 * unanswered, or when nothing has left for a moment. Otherwise it leaves with the next
 * one for which that holds, or with the next answer. On one connection answers come in
 * order, so a call that waits for an answer that does not come would wait as long had it
 * left.
 *
 * <p>
 * Commands reach Redis in the order in which they were sent. The driver writes at once
 * what its event loop dispatches, but queues what other threads do; so the event loop
 * dispatches nothing while something is in that queue.
 */
final class BatchingScriptSender extends ScriptSender implements ScriptCommand.CommandSender {

	/** Up to so many unanswered, each command leaves at once. */
	static final int FEW = 8;

	/**
	 * How long commands wait for others at most, but for the share of an answer's time.
	 */
	static final long SHORTEST_PAUSE = TimeUnit.MICROSECONDS.toNanos(50);

	static final long LONGEST_PAUSE = TimeUnit.MILLISECONDS.toNanos(1);

	/** They wait for a quarter of the time that an answer takes at most. */
	static final int SHARE = 4;

	/** How many answers the time that one takes is averaged over, more or less. */
	private static final int AVERAGED = 16;

	private final Driver driver;

	/** Tells what a command of a thread's is a part of, if spans are made of commands. */
	private final @Nullable TraceContextProvider traces;

	private final LongSupplier clock;

	/** What depends on calls that the driver refuses is done there. */
	private final Executor executor;

	private final Queue<ScriptCommand> waiting = new ConcurrentLinkedQueue<>();

	/**
	 * How many threads have asked for a dispatch. The first of them dispatches what
	 * waits, also for the others.
	 */
	private final AtomicInteger dispatchRequests = new AtomicInteger();

	private volatile @Nullable Thread dispatcher;

	/** What the dispatcher is to do afterwards. Confined to it. */
	private @Nullable List<Runnable> afterwards;

	/** How many commands are dispatched, and neither answered nor given up. */
	private final AtomicInteger unanswered = new AtomicInteger();

	/** How many of these the driver has not written to the connection yet. */
	private final AtomicInteger unwritten = new AtomicInteger();

	private volatile long lastDispatchAt;

	/** Threads may undo each other's changes of it: it is only an estimate. */
	private volatile long pause = SHORTEST_PAUSE;

	/** Where the driver writes. */
	private volatile @Nullable Thread eventLoop;

	private volatile boolean closed;

	BatchingScriptSender(RedisClusterAsyncCommands<byte[], byte[]> commands, Driver driver,
			@Nullable TraceContextProvider traces, LongSupplier clock, Executor executor) {
		super(commands, () -> {
		});
		this.driver = driver;
		this.traces = traces;
		this.clock = clock;
		this.executor = executor;
		this.lastDispatchAt = clock.getAsLong();
	}

	/**
	 * Return the best sender for a connection. One to a cluster is many, and connects to
	 * nodes while it blocks the thread that dispatches several commands together. One to
	 * a master with replicas changes what is behind it, so that answers need not come in
	 * order. A bounded queue refuses all commands that are dispatched together.
	 */
	static ScriptSender of(RedisClusterAsyncCommands<byte[], byte[]> commands, Runnable refresh) {
		return (commands instanceof AbstractRedisAsyncCommands<byte[], byte[]> opened
				&& opened.getConnection() instanceof StatefulRedisConnection<byte[], byte[]> connection
				&& !(connection instanceof StatefulRedisMasterReplicaConnection)
				&& connection.getOptions().getRequestQueueSize() == Integer.MAX_VALUE)
						? new BatchingScriptSender(commands, driver(connection), traces(connection), System::nanoTime,
								ForkJoinPool.commonPool())
						: new ScriptSender(commands, refresh);
	}

	private static @Nullable TraceContextProvider traces(StatefulRedisConnection<byte[], byte[]> connection) {
		Tracing tracing = connection.getResources().tracing();
		return tracing.isEnabled() ? tracing.initialTraceContextProvider() : null;
	}

	private static Driver driver(StatefulRedisConnection<byte[], byte[]> connection) {
		return new Driver() {

			@Override
			public void dispatch(ScriptCommand command) {
				connection.dispatch(command.traced());
			}

			@Override
			public void dispatch(List<ScriptCommand> commands) {
				connection.dispatch(commands.stream().map(ScriptCommand::traced).toList());
			}

		};
	}

	@Override
	void send(ScriptCall<?> call) {
		this.waiting.add(new ScriptCommand(call, this, (this.traces != null) ? this.traces.getTraceContext() : null));
		// After it was added: else the last answer might not see it.
		if (this.unanswered.get() < FEW || isTime() || this.closed) {
			dispatch();
		}
	}

	@Override
	void close() {
		this.closed = true;
		dispatch();
	}

	private boolean isTime() {
		return this.clock.getAsLong() - this.lastDispatchAt >= this.pause;
	}

	private void dispatch() {
		if (this.dispatchRequests.getAndIncrement() > 0) {
			return;
		}
		Throwable trouble = null;
		int seen = 1;
		do {
			this.dispatcher = Thread.currentThread();
			try {
				dispatchAll();
			}
			catch (RuntimeException | Error ex) {
				// The stack may end or memory be full: not for the others.
				trouble = ex;
			}
			List<Runnable> refused = this.afterwards;
			this.afterwards = null;
			this.dispatcher = null;
			seen = this.dispatchRequests.addAndGet(-seen);
			if (refused != null) {
				// They are others' calls, too, and this thread may hold locks.
				refused.forEach(this.executor::execute);
			}
		}
		while (seen > 0);
		if (trouble instanceof Error error) {
			throw error;
		}
		if (trouble instanceof RuntimeException failure) {
			throw failure;
		}
	}

	private void dispatchAll() {
		if (this.unwritten.get() > 0 && isEventLoop(Thread.currentThread())) {
			// They are unanswered, so there will be another occasion.
			return;
		}
		long now = this.clock.getAsLong();
		ScriptCommand first = next(now);
		if (first == null) {
			return;
		}
		this.lastDispatchAt = now;
		ScriptCommand second = next(now);
		if (second == null) {
			dispatch(first);
			return;
		}
		List<ScriptCommand> batch = new ArrayList<>();
		batch.add(first);
		for (ScriptCommand command = second; command != null; command = next(now)) {
			batch.add(command);
		}
		dispatch(batch);
	}

	/** Return whether a thread is the event loop, or may be after a reconnect. */
	private boolean isEventLoop(Thread thread) {
		return thread == this.eventLoop || thread instanceof FastThreadLocalThread;
	}

	private void dispatch(ScriptCommand command) {
		try {
			count(1);
			this.driver.dispatch(command);
		}
		catch (RuntimeException | Error ex) {
			// Whatever it is, the others have to be able to go on.
			command.completeExceptionally(ex);
		}
	}

	private void dispatch(List<ScriptCommand> batch) {
		try {
			count(batch.size());
			this.driver.dispatch(batch);
		}
		catch (RuntimeException | Error ex) {
			batch.forEach((command) -> command.completeExceptionally(ex));
		}
	}

	private void count(int dispatched) {
		this.unanswered.addAndGet(dispatched);
		this.unwritten.addAndGet(dispatched);
		if (this.closed) {
			throw RedisFailures.closed();
		}
	}

	/** Return the command of the first call that waits and was not given up. */
	private @Nullable ScriptCommand next(long now) {
		for (ScriptCommand command = this.waiting.poll(); command != null; command = this.waiting.poll()) {
			command.dispatchedAt(now);
			if (command.call().send(command)) {
				return command;
			}
		}
		return null;
	}

	@Override
	public void onWritten(Thread writer) {
		if (this.eventLoop != writer) {
			this.eventLoop = writer;
		}
		this.unwritten.decrementAndGet();
	}

	@Override
	public void onDropped() {
		this.unwritten.decrementAndGet();
	}

	@Override
	public void onOver(ScriptCommand command, @Nullable List<@Nullable Object> reply, @Nullable Throwable error) {
		if (Thread.currentThread() != this.dispatcher) {
			finish(command, reply, error);
			return;
		}
		// What depends on a call may take its time, or wait for others.
		if (this.afterwards == null) {
			this.afterwards = new ArrayList<>();
		}
		this.afterwards.add(() -> finish(command, reply, error));
	}

	private void finish(ScriptCommand command, @Nullable List<@Nullable Object> reply, @Nullable Throwable error) {
		try {
			if (error == null) {
				adaptPause(this.clock.getAsLong() - command.dispatchedAt());
			}
			onAnswer(command.call(), reply, error);
		}
		finally {
			// After what the answer leads to, which may be commands to send as well.
			int left = this.unanswered.decrementAndGet();
			if (!this.waiting.isEmpty() && (left < FEW || isTime())) {
				dispatch();
			}
		}
	}

	private void adaptPause(long answerNanos) {
		long share = Math.max(SHORTEST_PAUSE, Math.min(LONGEST_PAUSE, answerNanos / SHARE));
		this.pause += (share - this.pause) / AVERAGED;
	}

	/** Lettuce's connection: takes commands without waiting for anything. */
	interface Driver {

		void dispatch(ScriptCommand command);

		/** Send them in one flush. */
		void dispatch(List<ScriptCommand> commands);

	}

}
