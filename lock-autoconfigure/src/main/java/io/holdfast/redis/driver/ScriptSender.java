package io.holdfast.redis.driver;

import io.lettuce.core.RedisChannelHandler;
import io.lettuce.core.api.StatefulConnection;
import io.lettuce.core.cluster.PartitionException;
import io.netty.channel.EventLoop;
import org.jspecify.annotations.Nullable;

import org.springframework.core.NestedExceptionUtils;

/**
 * Lettuce's shared connection while it is open. Thread-safe, and waits for nothing.
 *
 * <p>
 * On one connection, commands are written in the order in which they were sent. Lettuce
 * queues the commands of other threads for its event loop, but writes the commands of the
 * event loop itself at once. So the loop dispatches by a task, behind that queue.
 */
final class ScriptSender {

	private final StatefulConnection<byte[], byte[]> connection;

	private final Runnable refresh;

	/** The event loop that has written last; null until a command was written. */
	private volatile @Nullable EventLoop loop;

	/**
	 * Create a sender.
	 * @param refresh has the driver look at the cluster anew
	 */
	ScriptSender(StatefulConnection<byte[], byte[]> connection, Runnable refresh) {
		this.connection = connection;
		this.refresh = refresh;
	}

	/**
	 * Return whether the factory was stopped or reset. A connection that is merely down
	 * is not closed: Lettuce opens it again and sends the commands given to it in
	 * between.
	 */
	boolean isClosed() {
		return this.connection instanceof RedisChannelHandler<?, ?> handler && handler.isClosed();
	}

	/**
	 * Send a call, unless it was given up, or this is closed.
	 * @return whether this is not closed
	 */
	boolean trySend(ScriptCall<?> call) {
		if (isClosed()) {
			return false;
		}
		send(call);
		return true;
	}

	/**
	 * Send a call, unless it was given up. Fails the call where the driver refuses it.
	 */
	void send(ScriptCall<?> call) {
		call.sendBy(this);
		EventLoop loop = this.loop;
		attempt(call, (loop == null || !loop.inEventLoop()) ? () -> this.connection.dispatch(call)
				: () -> loop.execute(() -> attempt(call, () -> this.connection.dispatch(call))));
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
		EventLoop loop = this.loop;
		if (loop == null || !loop.inEventLoop()) {
			this.loop = HoldfastConnectionFactory.eventLoop();
		}
	}

	/** Note that a call has failed. */
	void onFailure(Throwable error) {
		if (NestedExceptionUtils.getMostSpecificCause(error) instanceof PartitionException) {
			// The driver knows no node for the slot.
			this.refresh.run();
		}
	}

}
