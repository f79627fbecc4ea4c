package io.holdfast.redis.script;

import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import java.util.function.Supplier;

import org.jspecify.annotations.Nullable;

/**
 * A call of a script, and the future of its reply. Cancelling it gives the command up at
 * the driver too: once {@link #cancel} has returned, it is not sent any more, or does
 * nothing.
 *
 * @param <T> what the reply is turned into
 */
public final class ScriptCall<T> extends CompletableFuture<T> {

	private final Script script;

	private final byte[][] keys;

	private final Object[] args;

	private final Function<List<?>, T> reply;

	private final Function<Throwable, ? extends Throwable> failure;

	/** Whether its command was written to a connection. */
	private volatile boolean written;

	/** Whether its command may have run before the one that is answered. */
	private volatile boolean repeated;

	/** Whether newer commands may have run before it. */
	private volatile boolean late;

	private volatile boolean givenUp;

	private @Nullable DriverCommand command;

	/**
	 * Create a call that is yet to be sent.
	 * @param args its ARGV: texts, numbers, flags, times or bytes
	 * @param reply turns the reply, an array, into a result
	 * @param failure turns the driver's error into one for the caller
	 */
	public ScriptCall(Script script, byte[][] keys, Object[] args, Function<List<?>, T> reply,
			Function<Throwable, ? extends Throwable> failure) {
		this.script = script;
		this.keys = keys;
		this.args = args;
		this.reply = reply;
		this.failure = failure;
	}

	/** Return what is run. */
	public Script script() {
		return this.script;
	}

	/** Return the keys, not to be changed. */
	public byte[][] keys() {
		return this.keys;
	}

	/** Return the arguments, not to be changed. */
	public Object[] args() {
		return this.args;
	}

	/**
	 * Send the command, unless this call was given up. Sending and giving up exclude each
	 * other, so that a caller that gives up a command and sends another can be sure of
	 * their order, also when the first is just being sent again because of NOSCRIPT.
	 * @param <R> the type of the driver's reply
	 * @param sender sends the command without waiting for anything
	 * @return the driver's future, or {@code null} if nothing was sent
	 */
	public <R> @Nullable CompletableFuture<R> send(Supplier<CompletableFuture<R>> sender) {
		synchronized (this) {
			if (this.givenUp) {
				return null;
			}
			CompletableFuture<R> sent = sent(sender);
			this.command = () -> sent.cancel(true);
			return sent;
		}
	}

	private static <R> CompletableFuture<R> sent(Supplier<CompletableFuture<R>> sender) {
		try {
			return sender.get();
		}
		catch (RuntimeException | Error ex) {
			return CompletableFuture.failedFuture(ex);
		}
	}

	/**
	 * Take a command that is to be sent, unless this call was given up.
	 * @param command the command, which is not sent before
	 * @return whether it is to be sent
	 */
	public boolean send(DriverCommand command) {
		synchronized (this) {
			if (!this.givenUp) {
				this.command = command;
			}
			return !this.givenUp;
		}
	}

	/**
	 * Note that the command is written to a connection. The driver writes it again after
	 * a reconnect, when it may have run already.
	 */
	public void written() {
		this.repeated |= this.written;
		this.written = true;
	}

	/** Return whether the command is not to run any more, whatever the driver does. */
	public boolean isGivenUp() {
		return this.givenUp;
	}

	/**
	 * Note that what was written last has not run: Redis does not know the script. It is
	 * sent again, behind newer commands.
	 */
	public void notRun() {
		this.written = false;
		this.late = true;
	}

	/** Complete it by Redis' reply. */
	public void succeed(List<?> array) {
		T result;
		try {
			result = (this.reply instanceof ReplyReader<T> reader) ? reader.apply(array, this.repeated, this.late)
					: this.reply.apply(array);
		}
		catch (RuntimeException | Error ex) {
			fail(ex);
			return;
		}
		complete(result);
	}

	/** Complete it by the driver's error. */
	public void fail(Throwable error) {
		synchronized (this) {
			if (this.givenUp) {
				// The driver's answer to cancel(..), which completes this call itself.
				return;
			}
		}
		completeExceptionally(this.failure.apply(error));
	}

	@Override
	public boolean cancel(boolean mayInterruptIfRunning) {
		DriverCommand sent;
		synchronized (this) {
			this.givenUp = true;
			sent = this.command;
		}
		// The driver comes first: what depends on this future may send the next command.
		try {
			if (sent != null) {
				sent.cancel();
			}
		}
		finally {
			super.cancel(mayInterruptIfRunning);
		}
		return isCancelled();
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

	/** The command of a call at the driver. */
	interface DriverCommand {

		/** Give it up: it is not sent any more, nor answered. */
		void cancel();

	}

}
