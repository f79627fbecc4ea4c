package io.holdfast.redis.script;

import java.util.List;
import java.util.concurrent.CancellationException;
import java.util.function.BiConsumer;
import java.util.function.Consumer;

import io.lettuce.core.RedisCommandExecutionException;
import io.lettuce.core.output.CommandOutput;
import io.lettuce.core.protocol.CommandArgs;
import io.lettuce.core.protocol.CommandType;
import io.lettuce.core.protocol.CompleteableCommand;
import io.lettuce.core.protocol.ProtocolKeyword;
import io.lettuce.core.protocol.RedisCommand;
import io.lettuce.core.protocol.TracedCommand;
import io.lettuce.core.tracing.TraceContext;
import io.netty.buffer.ByteBuf;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

/**
 * The command of a call, which tells its sender when the driver has written it to the
 * connection, and what it came to. One object, where the driver's own would be a command,
 * its arguments, a future and what hangs on it.
 */
public final class ScriptCommand implements RedisCommand<byte[], byte[], List<@Nullable Object>>,
		CompleteableCommand<List<@Nullable Object>>, ScriptCall.DriverCommand {

	private static final Log logger = LogFactory.getLog(ScriptCommand.class);

	private final ScriptCall<?> call;

	private final CommandSender sender;

	/** What the driver gets: this, or what makes a span of it. */
	private final RedisCommand<byte[], byte[], ?> traced;

	private volatile long dispatchedAt;

	private CommandOutput<byte[], byte[], List<@Nullable Object>> output = new ScriptReply();

	/** What the driver wants to do at its end: a time-out to stop. */
	private @Nullable BiConsumer<? super List<@Nullable Object>, Throwable> action;

	private volatile boolean written;

	private volatile boolean done;

	private @Nullable List<@Nullable Object> reply;

	private @Nullable Throwable error;

	/** Create the command that runs a call. */
	public ScriptCommand(ScriptCall<?> call, CommandSender sender, @Nullable TraceContext traceContext) {
		this.call = call;
		this.sender = sender;
		this.traced = (traceContext != null) ? new TracedCommand<>(this, traceContext) : this;
	}

	/** Return what is run. */
	public ScriptCall<?> call() {
		return this.call;
	}

	/** Return what to dispatch to the driver. */
	public RedisCommand<byte[], byte[], ?> traced() {
		return this.traced;
	}

	/** Note when it was dispatched to the driver. */
	public void dispatchedAt(long now) {
		this.dispatchedAt = now;
	}

	/** Return when it was dispatched to the driver, by the clock of its sender. */
	public long dispatchedAt() {
		return this.dispatchedAt;
	}

	/** Write it, on the event loop; again after a reconnect. */
	@Override
	public void encode(ByteBuf buffer) {
		this.call.written();
		if (this.written && this.output instanceof ScriptReply read) {
			read.clear();
		}
		ScriptArguments.writeCommand(buffer, this.call.script().digest(), this.call.keys(), this.call.args());
		if (markWritten()) {
			this.sender.onWritten(Thread.currentThread());
		}
	}

	/**
	 * Note that its sender is told that it is written, or will not be.
	 * @return whether it was not told before
	 */
	private synchronized boolean markWritten() {
		boolean first = !this.written;
		this.written = true;
		return first;
	}

	@Override
	public void complete() {
		if (this.output.hasError()) {
			end(null, new RedisCommandExecutionException(this.output.getError()));
		}
		else {
			end(this.output.get(), null);
		}
	}

	@Override
	public boolean completeExceptionally(Throwable error) {
		return end(null, error);
	}

	@Override
	public void cancel() {
		end(null, new CancellationException());
	}

	private boolean end(@Nullable List<@Nullable Object> reply, @Nullable Throwable error) {
		BiConsumer<? super List<@Nullable Object>, Throwable> action;
		synchronized (this) {
			if (this.done) {
				return false;
			}
			this.reply = reply;
			this.error = error;
			this.done = true;
			action = this.action;
		}
		if (markWritten()) {
			// The driver writes nothing that is done.
			this.sender.onDropped();
		}
		if (action != null) {
			run(action, reply, error);
		}
		this.sender.onOver(this, reply, error);
		return true;
	}

	@Override
	public void onComplete(Consumer<? super List<@Nullable Object>> action) {
		onComplete((reply, error) -> {
			if (error == null) {
				action.accept(reply);
			}
		});
	}

	@Override
	public void onComplete(BiConsumer<? super List<@Nullable Object>, Throwable> action) {
		synchronized (this) {
			if (!this.done) {
				BiConsumer<? super List<@Nullable Object>, Throwable> before = this.action;
				this.action = (before == null) ? action : (reply, error) -> {
					run(before, reply, error);
					run(action, reply, error);
				};
				return;
			}
		}
		run(action, this.reply, this.error);
	}

	/** Whatever others want to do at its end, the call ends. */
	private static void run(BiConsumer<? super List<@Nullable Object>, Throwable> action,
			@Nullable List<@Nullable Object> reply, @Nullable Throwable error) {
		try {
			action.accept(reply, error);
		}
		catch (RuntimeException | Error ex) {
			logger.debug("What was to be done at the end of a command failed", ex);
		}
	}

	@Override
	public boolean isDone() {
		return this.done;
	}

	@Override
	public boolean isCancelled() {
		return this.done && this.error instanceof CancellationException;
	}

	@Override
	public CommandOutput<byte[], byte[], List<@Nullable Object>> getOutput() {
		return this.output;
	}

	@Override
	public void setOutput(CommandOutput<byte[], byte[], List<@Nullable Object>> output) {
		this.output = output;
	}

	/** Return the text for logs and traces. */
	@Override
	public CommandArgs<byte[], byte[]> getArgs() {
		return new ScriptArguments(this.call.script().digest(), this.call.keys(), this.call.args());
	}

	@Override
	public ProtocolKeyword getType() {
		return CommandType.EVALSHA;
	}

	@Override
	public String toString() {
		return getType() + " " + getArgs();
	}

	/** The sender of commands, which dispatches them to the driver. */
	public interface CommandSender {

		/** Note that a command is on its connection, or will be before any other. */
		void onWritten(Thread writer);

		/** Note that a command will not be written. */
		void onDropped();

		/** Note that a command is answered, or will not be. */
		void onOver(ScriptCommand command, @Nullable List<@Nullable Object> reply, @Nullable Throwable error);

	}

}
