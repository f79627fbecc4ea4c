package io.holdfast.redis.driver;

import java.time.Duration;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;

import io.netty.channel.ChannelDuplexHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelPromise;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

/**
 * Handler that closes a silent connection, on which nothing is received although commands
 * are unanswered. A firewall may have forgotten the connection, or the server may be
 * frozen while another server has taken over. TCP detects neither, because writes may
 * still be acknowledged. After the close, Lettuce reconnects, and repeats unanswered
 * commands. Confined to the event loop of the connection.
 */
final class SilenceHandler extends ChannelDuplexHandler {

	private static final Log logger = LogFactory.getLog(SilenceHandler.class);

	/** Additional time after a pause of the JVM, to read the received answers. */
	private static final long READING_NANOS = TimeUnit.MILLISECONDS.toNanos(500);

	private final long maxNanos;

	/** Whether nothing was received since the first unanswered command. */
	private boolean waiting;

	private long waitingSince;

	/** Whether the time is over. Received data may not have been read yet. */
	private boolean overdue;

	/** Timer for many commands, because a timer per command costs more. */
	private @Nullable Future<?> timer;

	/**
	 * Create the handler of a connection.
	 * @param max the maximum time without received data
	 */
	SilenceHandler(Duration max) {
		this.maxNanos = max.toNanos();
	}

	@Override
	public void write(ChannelHandlerContext context, Object message, ChannelPromise promise) {
		if (!this.waiting) {
			this.waiting = true;
			this.waitingSince = System.nanoTime();
			this.overdue = false;
			if (this.timer == null) {
				scheduleCheck(context, this.maxNanos);
			}
		}
		context.write(message, promise);
	}

	@Override
	public void channelRead(ChannelHandlerContext context, Object message) {
		this.waiting = false;
		context.fireChannelRead(message);
	}

	@Override
	public void channelInactive(ChannelHandlerContext context) {
		if (this.timer != null) {
			this.timer.cancel(false);
		}
		context.fireChannelInactive();
	}

	private void scheduleCheck(ChannelHandlerContext context, long nanos) {
		this.timer = context.executor().schedule(() -> check(context), nanos, TimeUnit.NANOSECONDS);
	}

	private void check(ChannelHandlerContext context) {
		this.timer = null;
		if (!this.waiting) {
			return;
		}
		long left = this.maxNanos - (System.nanoTime() - this.waitingSince);
		if (left > 0) {
			scheduleCheck(context, left);
		}
		else if (!this.overdue) {
			this.overdue = true;
			scheduleCheck(context, READING_NANOS);
		}
		else {
			logger.warn("Redis has not answered for " + TimeUnit.NANOSECONDS.toSeconds(this.maxNanos)
					+ " s: its connection is opened again");
			context.close();
		}
	}

}
