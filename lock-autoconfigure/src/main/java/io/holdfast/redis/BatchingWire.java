package io.holdfast.redis;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import java.util.function.LongSupplier;

import io.lettuce.core.cluster.api.async.RedisClusterAsyncCommands;
import io.lettuce.core.protocol.RedisCommand;
import org.jspecify.annotations.Nullable;

/**
 * Sends commands that meet in one flush: a system call and a wake-up of Redis for each of
 * them would cost more than the command itself. A command leaves at once while few are
 * unanswered, or when nothing has left for a moment. Otherwise it leaves with the next
 * one for which that holds, or with the next answer. On one connection answers come in
 * order, so whoever waits for an answer that does not come would wait as long had it
 * left.
 *
 * <p>
 * Commands reach Redis in the order in which they were given. The driver's event loop
 * writes at once what is given to it there, but queues what is given by other threads; so
 * nothing is given to it there while something is in that queue.
 */
final class BatchingWire extends ScriptWire {

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

	private final Consumer<Collection<? extends RedisCommand<byte[], byte[], ?>>> driver;

	private final LongSupplier clock;

	private final Queue<ScriptCall<?>> waiting = new ConcurrentLinkedQueue<>();

	/** Whoever makes it more than 0 gives the driver what waits, also for the others. */
	private final AtomicInteger givers = new AtomicInteger();

	/** Given to the driver, and neither answered nor given up. */
	private final AtomicInteger unanswered = new AtomicInteger();

	/** Of these, those that the driver has not written to the connection yet. */
	private final AtomicInteger unwritten = new AtomicInteger();

	private volatile long lastGiven;

	/** Threads may undo each other's changes of it: it is only an estimate. */
	private volatile long pause = SHORTEST_PAUSE;

	/** Where the driver writes. */
	private volatile @Nullable Thread eventLoop;

	private volatile boolean closed;

	BatchingWire(RedisClusterAsyncCommands<byte[], byte[]> commands,
			Consumer<Collection<? extends RedisCommand<byte[], byte[], ?>>> driver, LongSupplier clock) {
		super(commands);
		this.driver = driver;
		this.clock = clock;
		this.lastGiven = clock.getAsLong();
	}

	@Override
	void send(ScriptCall<?> call) {
		this.waiting.add(call);
		// After it was added: else the last answer might not see it.
		if (this.unanswered.get() < FEW || isTime() || this.closed) {
			give();
		}
	}

	@Override
	void close() {
		this.closed = true;
		give();
	}

	private boolean isTime() {
		return this.clock.getAsLong() - this.lastGiven >= this.pause;
	}

	private void give() {
		if (this.givers.getAndIncrement() > 0) {
			return;
		}
		List<ScriptCommand> given = new ArrayList<>(1);
		int seen = 1;
		do {
			giveAll(given);
			seen = this.givers.addAndGet(-seen);
		}
		while (seen > 0);
		// What depends on a call may take its time, and send others.
		for (ScriptCommand command : given) {
			command.whenComplete((reply, error) -> over(command, reply, error));
		}
	}

	private void giveAll(List<ScriptCommand> given) {
		if (this.unwritten.get() > 0 && Thread.currentThread() == this.eventLoop) {
			// They are unanswered, so there will be another occasion.
			return;
		}
		List<ScriptCommand> batch = new ArrayList<>(1);
		long now = this.clock.getAsLong();
		for (ScriptCall<?> call = this.waiting.poll(); call != null; call = this.waiting.poll()) {
			ScriptCommand command = new ScriptCommand(call, this, now);
			if (call.send(() -> command) != null) {
				batch.add(command);
			}
		}
		if (batch.isEmpty()) {
			return;
		}
		this.lastGiven = now;
		this.unanswered.addAndGet(batch.size());
		this.unwritten.addAndGet(batch.size());
		try {
			if (this.closed) {
				throw RedisFailures.closed();
			}
			this.driver.accept(batch);
		}
		catch (RuntimeException ex) {
			batch.forEach((command) -> command.completeExceptionally(ex));
		}
		given.addAll(batch);
	}

	/** A command is on its connection, or will be before any other. */
	void written(Thread writer) {
		if (this.eventLoop != writer) {
			this.eventLoop = writer;
		}
		this.unwritten.decrementAndGet();
	}

	/** A command will not be written. */
	void dropped() {
		this.unwritten.decrementAndGet();
	}

	private void over(ScriptCommand command, @Nullable List<@Nullable Object> reply, @Nullable Throwable error) {
		command.done();
		try {
			if (error == null) {
				learn(this.clock.getAsLong() - command.givenAt());
			}
			answered(command.call(), reply, error);
		}
		finally {
			// After what the answer leads to, which may be commands to send as well.
			int left = this.unanswered.decrementAndGet();
			if (!this.waiting.isEmpty() && (left < FEW || isTime())) {
				give();
			}
		}
	}

	private void learn(long took) {
		long share = Math.max(SHORTEST_PAUSE, Math.min(LONGEST_PAUSE, took / SHARE));
		this.pause += (share - this.pause) / AVERAGED;
	}

}
