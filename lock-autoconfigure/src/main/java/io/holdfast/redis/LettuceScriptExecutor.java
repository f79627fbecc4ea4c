package io.holdfast.redis;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

import io.lettuce.core.AbstractRedisAsyncCommands;
import io.lettuce.core.RedisChannelHandler;
import io.lettuce.core.cluster.api.async.RedisClusterAsyncCommands;
import io.lettuce.core.protocol.CommandType;
import org.jspecify.annotations.Nullable;

import org.springframework.data.redis.connection.RedisConnection;
import org.springframework.data.redis.connection.RedisConnectionFactory;

/**
 * Runs scripts on Lettuce's shared connection, in order.
 *
 * <p>
 * Opening that connection blocks, so it is done on a thread of its own. Until then calls
 * wait in a backlog; they are sent in their order when it is there, and fail together
 * when it is not to be had. The next call tries again. Once it is there, Lettuce connects
 * again by itself, unless the connection is closed by its factory.
 *
 * <p>
 * A reply is completed on the driver's event loop. What is sent from there may overtake
 * what another thread gave to the driver just before; that is no trouble, since a command
 * that was given up is dropped by the driver, and the loop does nothing for a token
 * before the command that brought the token in was answered.
 *
 * <p>
 * Nothing is ever completed under the lock: what depends on a call may take locks of its
 * own, and call this again while it holds them.
 */
final class LettuceScriptExecutor implements ScriptExecutor {

	/** What an attempt to connect that is under way gets to end by itself. */
	private static final long ENDING_NANOS = TimeUnit.MILLISECONDS.toNanos(500);

	private final RedisConnectionFactory factory;

	private final ReentrantLock lock = new ReentrantLock();

	private final Queue<ScriptCall<?>> backlog = new ArrayDeque<>();

	private @Nullable RedisClusterAsyncCommands<byte[], byte[]> commands;

	/** Signalled when an attempt to connect has ended. */
	private final Condition settled = this.lock.newCondition();

	private boolean connecting;

	private boolean closed;

	LettuceScriptExecutor(RedisConnectionFactory factory) {
		this.factory = factory;
	}

	@Override
	public boolean isOrdered() {
		return true;
	}

	@Override
	public void prepare() {
		enter();
		try {
			if (!this.closed && this.commands == null) {
				connect();
			}
		}
		finally {
			this.lock.unlock();
		}
	}

	@Override
	public void execute(ScriptCall<?> call) {
		RedisClusterAsyncCommands<byte[], byte[]> open;
		CompletableFuture<List<@Nullable Object>> sent = null;
		boolean refused;
		enter();
		try {
			open = this.commands;
			refused = this.closed;
			if (!refused && open != null && !isClosed(open)) {
				sent = send(open, call);
			}
			else if (!refused) {
				this.commands = null;
				this.backlog.add(call);
				connect();
			}
		}
		finally {
			this.lock.unlock();
		}
		if (refused) {
			call.fail(RedisFailures.closed());
		}
		else if (open != null && sent != null) {
			onReply(open, sent, call);
		}
	}

	/**
	 * Held for an instant only, while commands are given to the driver: no reason for an
	 * event loop not to come here. HoldfastBlockHoundIntegration knows it by its name.
	 */
	private void enter() {
		this.lock.lock();
	}

	private void connect() {
		if (!this.connecting) {
			Thread thread = new Thread(this::serveBacklog, "holdfast-redis-connect");
			thread.setDaemon(true);
			thread.start();
			// Not before, as starting fails where threads run out.
			this.connecting = true;
		}
	}

	private void serveBacklog() {
		RedisClusterAsyncCommands<byte[], byte[]> open = null;
		Throwable trouble = RedisFailures.closed();
		try {
			open = open();
		}
		catch (RuntimeException | LinkageError ex) {
			trouble = ex;
		}
		List<Runnable> afterwards = new ArrayList<>();
		enter();
		try {
			this.connecting = false;
			this.settled.signalAll();
			this.commands = open;
			Throwable reason = trouble;
			for (ScriptCall<?> call : this.backlog) {
				if (open == null || this.closed) {
					afterwards.add(() -> call.fail(reason));
					continue;
				}
				RedisClusterAsyncCommands<byte[], byte[]> commands = open;
				CompletableFuture<List<@Nullable Object>> sent = send(commands, call);
				if (sent != null) {
					afterwards.add(() -> onReply(commands, sent, call));
				}
			}
			this.backlog.clear();
		}
		finally {
			this.lock.unlock();
		}
		afterwards.forEach(Runnable::run);
	}

	/**
	 * Straight from the factory. A template, like RedisConnectionUtils, would return the
	 * connection that is bound to the thread by a transaction or a SessionCallback: then
	 * the script would be queued behind a MULTI, and not run before its EXEC.
	 */
	@SuppressWarnings("unchecked")
	private RedisClusterAsyncCommands<byte[], byte[]> open() {
		RedisConnection connection = this.factory.getConnection();
		try {
			return (RedisClusterAsyncCommands<byte[], byte[]>) connection.getNativeConnection();
		}
		finally {
			// Leaves the shared connection open.
			connection.close();
		}
	}

	/**
	 * Whether the factory was stopped or reset. A connection that is merely down is not
	 * closed: Lettuce opens it again and sends what was given to it meanwhile.
	 */
	private static boolean isClosed(RedisClusterAsyncCommands<byte[], byte[]> commands) {
		return commands instanceof AbstractRedisAsyncCommands<byte[], byte[]> opened
				&& opened.getConnection() instanceof RedisChannelHandler<?, ?> handler && handler.isClosed();
	}

	private static @Nullable CompletableFuture<List<@Nullable Object>> send(
			RedisClusterAsyncCommands<byte[], byte[]> commands, ScriptCall<?> call) {
		return call.send(() -> dispatch(commands, CommandType.EVALSHA, call.script().digest(), call));
	}

	private static CompletableFuture<List<@Nullable Object>> dispatch(
			RedisClusterAsyncCommands<byte[], byte[]> commands, CommandType type, byte[] script, ScriptCall<?> call) {
		return commands.dispatch(type, new ScriptReply(), new ScriptArguments(script, call.keys(), call.args()))
			.toCompletableFuture();
	}

	/** Not under the lock, as the reply may be there. */
	private static void onReply(RedisClusterAsyncCommands<byte[], byte[]> commands,
			CompletableFuture<List<@Nullable Object>> sent, ScriptCall<?> call) {
		sent.whenComplete((reply, error) -> {
			if (error == null) {
				call.succeed(reply);
			}
			else if (RedisFailures.isUnknownScript(error)) {
				sendText(commands, call);
			}
			else {
				call.fail(error);
			}
		});
	}

	/**
	 * Send a call that Redis did not execute because it does not know the script.
	 */
	private static void sendText(RedisClusterAsyncCommands<byte[], byte[]> commands, ScriptCall<?> call) {
		CompletableFuture<List<@Nullable Object>> sent = call
			.send(() -> dispatch(commands, CommandType.EVAL, call.script().text(), call));
		if (sent != null) {
			sent.whenComplete((reply, error) -> {
				if (error == null) {
					call.succeed(reply);
				}
				else {
					call.fail(error);
				}
			});
		}
	}

	/**
	 * Lettuce would leave a connection behind if its factory were closed while it is
	 * being opened.
	 */
	private void awaitSettled() {
		long left = ENDING_NANOS;
		try {
			while (this.connecting && left > 0) {
				left = this.settled.awaitNanos(left);
			}
		}
		catch (InterruptedException ex) {
			Thread.currentThread().interrupt();
		}
	}

	/**
	 * Blocks shortly for an attempt to connect that is under way.
	 */
	@Override
	public void close() {
		List<ScriptCall<?>> waiting;
		enter();
		try {
			this.closed = true;
			this.commands = null;
			waiting = List.copyOf(this.backlog);
			this.backlog.clear();
			awaitSettled();
		}
		finally {
			this.lock.unlock();
		}
		waiting.forEach((call) -> call.fail(RedisFailures.closed()));
	}

}
