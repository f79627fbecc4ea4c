package io.holdfast.redis.driver;

import java.util.List;
import java.util.concurrent.CancellationException;
import java.util.function.Function;

import io.holdfast.redis.script.RedisFailures;
import io.holdfast.redis.script.Script;
import io.holdfast.redis.script.ScriptArguments;
import io.holdfast.redis.script.ScriptReply;
import io.lettuce.core.RedisCommandExecutionException;
import io.lettuce.core.protocol.AsyncCommand;
import io.lettuce.core.protocol.Command;
import io.lettuce.core.protocol.CommandArgs;
import io.lettuce.core.protocol.CommandType;
import io.netty.buffer.ByteBuf;
import org.jspecify.annotations.Nullable;

/**
 * A call of a script: Lettuce's command, and the future of its result. The command is
 * EVALSHA, and EVAL once Redis did not know the script.
 *
 * <p>
 * Cancelling it gives the command up: once {@link #cancel} has returned, the command is
 * not sent any more, or does nothing. So a caller that gives up a command and sends
 * another can be sure of their order.
 *
 * @param <T> the type of the result
 */
public final class ScriptCall<T> extends AsyncCommand<byte[], byte[], T> {

	private static final byte[] NO_SCRIPT = {};

	private static final byte[][] NOTHING = {};

	private final Script script;

	private final byte[][] keys;

	private final Object[] args;

	private final ScriptReply<T> array;

	private final Function<List<?>, T> reply;

	private final Function<Throwable, ? extends Throwable> failure;

	/** The executor, noted before the command is given to the driver. */
	@Nullable ScriptExecutor executor;

	/** Whether its command was written to a connection. */
	private volatile boolean written;

	/** Whether its command may have run before the one that is answered. */
	private volatile boolean repeated;

	/** Whether Redis did not know the script: newer commands may have run before. */
	private volatile boolean late;

	/**
	 * Create a call that is yet to be sent.
	 * @param keys its KEYS
	 * @param args its ARGV: texts, whole numbers, flags, times or bytes
	 * @param reply turns the reply, an array, into a result
	 * @param failure turns the driver's error into one for the caller
	 */
	public ScriptCall(Script script, byte[][] keys, Object[] args, Function<List<?>, T> reply,
			Function<Throwable, ? extends Throwable> failure) {
		super(new Command<>(CommandType.EVALSHA, new ScriptReply<>(), null));
		this.script = script;
		this.keys = keys;
		this.args = args;
		this.array = (ScriptReply<T>) getOutput();
		this.reply = reply;
		this.failure = failure;
	}

	/** Return the arguments, by which the driver finds a node, and tells of a command. */
	@Override
	public CommandArgs<byte[], byte[]> getArgs() {
		return new ScriptArguments(this.script.digest(), this.keys, this.args);
	}

	/** Write the command, on the event loop; again after a reconnect. */
	@Override
	public void encode(ByteBuf buffer) {
		if (this.executor != null) {
			this.executor.onWriting();
		}
		if (isDone()) {
			// Only to a node of a cluster: there Lettuce writes commands that were given
			// up. Redis does nothing for this.
			ScriptArguments.writeCommand("EVALSHA", NO_SCRIPT, NOTHING, NOTHING, buffer);
			return;
		}
		if (this.written) {
			this.repeated = true;
			this.array.clear();
		}
		this.written = true;
		ScriptArguments.writeCommand(this.late ? "EVAL" : "EVALSHA",
				this.late ? this.script.text() : this.script.digest(), this.keys, this.args, buffer);
	}

	/** Take the answer of Redis. */
	@Override
	public void complete() {
		if (isDone()) {
			return;
		}
		if (!this.array.hasError()) {
			succeed(this.array.elements());
			return;
		}
		RedisCommandExecutionException error = new RedisCommandExecutionException(this.array.getError());
		if (this.executor != null && !this.late && RedisFailures.isUnknownScript(error)) {
			this.array.clear();
			this.written = false;
			this.late = true;
			this.executor.execute(this);
			return;
		}
		completeExceptionally(error);
	}

	private void succeed(List<?> array) {
		T result;
		try {
			result = (this.reply instanceof ReplyReader<T> reader) ? reader.apply(array, this.repeated, this.late)
					: this.reply.apply(array);
		}
		catch (RuntimeException | Error ex) {
			completeExceptionally(ex);
			return;
		}
		complete(result);
	}

	@Override
	public boolean completeExceptionally(Throwable error) {
		boolean first = !isDone() && super.completeExceptionally(this.failure.apply(error));
		if (first && this.executor != null) {
			this.executor.onFailure(error);
		}
		return first;
	}

	/** End it for the driver, whose connection was closed. */
	@Override
	public void cancel() {
		completeExceptionally(new CancellationException());
	}

	/**
	 * Turns a reply into a result that depends on whether the command may have run
	 * before, or may have run late: behind newer ones.
	 *
	 * @param <T> the type of the result
	 */
	@FunctionalInterface
	public interface ReplyReader<T> extends Function<List<?>, T> {

		T apply(List<?> array, boolean repeated, boolean late);

		@Override
		default T apply(List<?> array) {
			return apply(array, true, true);
		}

	}

}
