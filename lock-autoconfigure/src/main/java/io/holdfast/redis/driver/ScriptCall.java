package io.holdfast.redis.driver;

import java.util.concurrent.CancellationException;
import java.util.function.Function;

import io.holdfast.redis.key.RedisKeys;
import io.holdfast.redis.script.RedisFailures;
import io.holdfast.redis.script.Script;
import io.lettuce.core.RedisCommandExecutionException;
import io.lettuce.core.codec.ByteArrayCodec;
import io.lettuce.core.output.CommandOutput;
import io.lettuce.core.protocol.AsyncCommand;
import io.lettuce.core.protocol.Command;
import io.lettuce.core.protocol.CommandArgs;
import io.lettuce.core.protocol.CommandType;
import io.netty.buffer.ByteBuf;

/**
 * Call of a script: the command for Lettuce, and the future of the result. The command is
 * EVALSHA, or EVAL after Redis did not know the script.
 *
 * <p>
 * After {@link #cancel} has returned, the command is not written any more, or only
 * without its script. Therefore, a caller that gives up a command and sends another
 * command can rely on their order.
 *
 * @param <T> the type of the result
 */
public final class ScriptCall<T> extends AsyncCommand<byte[], byte[], T> {

	/** Command that does nothing in Redis. */
	private static final byte[] NO_CALL = RedisKeys.bytes("*3\r\n$7\r\nEVALSHA\r\n$0\r\n\r\n$1\r\n0\r\n");

	private final ScriptExecutor executor;

	private final Script script;

	private final byte[][] keys;

	private final Object[] args;

	private final ScriptReply reply;

	private final Function<ScriptReply, T> reader;

	private final String subject;

	/** Whether the command was written to a connection. */
	private volatile boolean written;

	/** Whether Redis has answered the command, even by an error. */
	private boolean answered;

	/**
	 * Create a call, which is not sent yet.
	 * @param keys the KEYS
	 * @param args the ARGV: texts, whole numbers and flags
	 * @param subject the key in Redis, or the attempt, for messages
	 * @param reader the conversion of the reply to the result
	 */
	@SuppressWarnings("unchecked") // The driver does not convert the reply.
	ScriptCall(ScriptExecutor executor, Script script, byte[][] keys, Object[] args, String subject,
			Function<ScriptReply, T> reader) {
		super(new Command<>(CommandType.EVALSHA, (CommandOutput<byte[], byte[], T>) new ScriptReply(), null));
		this.executor = executor;
		this.script = script;
		this.keys = keys;
		this.args = args;
		this.reply = (ScriptReply) getOutput();
		this.reader = reader;
		this.subject = subject;
	}

	/**
	 * Return the first key, by which the driver finds the node of a cluster. Without
	 * tokens, because the driver may log arguments.
	 */
	@Override
	public CommandArgs<byte[], byte[]> getArgs() {
		CommandArgs<byte[], byte[]> first = new CommandArgs<>(ByteArrayCodec.INSTANCE);
		return (this.keys.length > 0) ? first.addKey(this.keys[0]) : first;
	}

	/**
	 * Return whether the command was written, so that Redis may run it. Cannot become
	 * {@code true} after the end of the call.
	 */
	public boolean isWritten() {
		return this.written || this.reply.isRepeated();
	}

	/** Return whether Redis has answered. For listeners of the end of this call. */
	boolean isAnswered() {
		return this.answered;
	}

	/** Write the command, on the event loop; again after a reconnect. */
	@Override
	public void encode(ByteBuf buffer) {
		this.executor.onWriting();
		boolean before = this.written;
		// Before the check of the end: a call that ends in between counts as written.
		this.written = true;
		if (isDone()) {
			// Only in a cluster, where Lettuce writes cancelled commands.
			buffer.writeBytes(NO_CALL);
			return;
		}
		if (before) {
			this.reply.repeat();
		}
		this.script.writeCall(this.reply.isLate(), this.keys, this.args, buffer);
	}

	/** Process the answer of Redis. */
	@Override
	public void complete() {
		this.answered = true;
		if (isDone()) {
			this.executor.onAnswer();
			return;
		}
		if (this.reply.hasError()) {
			onError(new RedisCommandExecutionException(this.reply.getError()));
			return;
		}
		try {
			complete(this.reader.apply(this.reply));
		}
		catch (RuntimeException ex) {
			completeExceptionally(ex);
		}
	}

	private void onError(RedisCommandExecutionException error) {
		if (!this.reply.isLate() && RedisFailures.isUnknownScript(error)) {
			this.reply.unknownScript();
			this.written = false;
			this.executor.execute(this);
			return;
		}
		completeExceptionally(error);
	}

	@Override
	public boolean completeExceptionally(Throwable error) {
		boolean first = !isDone() && super.completeExceptionally(RedisFailures.of(error, this.subject));
		if (first) {
			this.executor.onFailure(error);
		}
		return first;
	}

	/** End this call on behalf of the driver, whose connection was closed. */
	@Override
	public void cancel() {
		completeExceptionally(new CancellationException());
	}

}
