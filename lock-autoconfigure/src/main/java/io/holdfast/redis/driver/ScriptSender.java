package io.holdfast.redis.driver;

import java.util.List;
import java.util.concurrent.CompletableFuture;

import io.holdfast.redis.script.RedisFailures;
import io.holdfast.redis.script.ScriptArguments;
import io.holdfast.redis.script.ScriptCall;
import io.holdfast.redis.script.ScriptReply;
import io.lettuce.core.AbstractRedisAsyncCommands;
import io.lettuce.core.RedisChannelHandler;
import io.lettuce.core.cluster.PartitionException;
import io.lettuce.core.cluster.api.async.RedisClusterAsyncCommands;
import io.lettuce.core.protocol.CommandType;
import org.jspecify.annotations.Nullable;

import org.springframework.core.NestedExceptionUtils;

/**
 * Lettuce's shared connection while it is open: dispatches each command to the driver at
 * once. Thread-safe, and waits for nothing.
 */
class ScriptSender {

	private final RedisClusterAsyncCommands<byte[], byte[]> commands;

	private final Runnable refresh;

	/**
	 * Create a sender.
	 * @param commands the connection's commands
	 * @param refresh has the driver look at the cluster anew
	 */
	ScriptSender(RedisClusterAsyncCommands<byte[], byte[]> commands, Runnable refresh) {
		this.commands = commands;
		this.refresh = refresh;
	}

	/**
	 * Return whether the factory was stopped or reset. A connection that is merely down
	 * is not closed: Lettuce opens it again and sends what was given to it in between.
	 */
	boolean isClosed() {
		return this.commands instanceof AbstractRedisAsyncCommands<byte[], byte[]> opened
				&& opened.getConnection() instanceof RedisChannelHandler<?, ?> handler && handler.isClosed();
	}

	/**
	 * Send a call, unless it was given up, or this is closed.
	 * @return whether this is not closed
	 */
	final boolean trySend(ScriptCall<?> call) {
		if (isClosed()) {
			return false;
		}
		send(call);
		return true;
	}

	/** Send a call, unless it was given up. */
	void send(ScriptCall<?> call) {
		CompletableFuture<List<@Nullable Object>> sent = call
			.send(() -> dispatch(CommandType.EVALSHA, call.script().digest(), call));
		if (sent != null) {
			sent.whenComplete((reply, error) -> onAnswer(call, reply, error));
		}
	}

	/**
	 * Fail what was not dispatched to the driver yet.
	 */
	void close() {
	}

	/** Take the answer to a call's first command. */
	final void onAnswer(ScriptCall<?> call, @Nullable List<@Nullable Object> reply, @Nullable Throwable error) {
		if (reply != null) {
			call.succeed(reply);
		}
		else if (error != null && RedisFailures.isUnknownScript(error)) {
			sendText(call);
		}
		else if (error != null) {
			call.fail(error);
			if (NestedExceptionUtils.getMostSpecificCause(error) instanceof PartitionException) {
				// The driver knows no node for the slot.
				this.refresh.run();
			}
		}
	}

	/** Send a call that Redis did not execute because it does not know the script. */
	private void sendText(ScriptCall<?> call) {
		call.notRun();
		CompletableFuture<List<@Nullable Object>> sent = call
			.send(() -> dispatch(CommandType.EVAL, call.script().text(), call));
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

	private CompletableFuture<List<@Nullable Object>> dispatch(CommandType type, byte[] script, ScriptCall<?> call) {
		ScriptReply reply = new ScriptReply();
		ScriptArguments arguments = new ScriptArguments(script, call.keys(), call.args(), () -> {
			reply.clear();
			call.written();
			return !call.isGivenUp();
		});
		return this.commands.dispatch(type, reply, arguments).toCompletableFuture();
	}

}
