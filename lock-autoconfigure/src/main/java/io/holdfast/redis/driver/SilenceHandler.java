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
 * Closes a connection on which nothing comes any more although something was asked for:
 * one that a firewall has forgotten, or one to a server that stands still while another
 * has taken over. Neither is noticed by TCP, as each may still be acknowledged. Lettuce
 * then connects again, and repeats unanswered commands. Confined to the event loop of the
 * connection.
 */
final class SilenceHandler extends ChannelDuplexHandler {

	private static final Log logger = LogFactory.getLog(SilenceHandler.class);

	/** So that answers to a paused JVM are read first. */
	private static final long READING_NANOS = TimeUnit.MILLISECONDS.toNanos(500);

	private final long longestNanos;

	/** Whether nothing has come since something was asked for. */
	private boolean waiting;

	private long waitingSince;

	/** Whether all of the time is over, and perhaps only not read. */
	private boolean doubted;

	/** Set once for many commands, which would pay for one each. */
	private @Nullable Future<?> timer;

	/**
	 * Create the handler of one connection.
	 * @param longest how long nothing may come
	 */
	SilenceHandler(Duration longest) {
		this.longestNanos = longest.toNanos();
	}

	@Override
	public void write(ChannelHandlerContext context, Object message, ChannelPromise promise) {
		if (!this.waiting) {
			this.waiting = true;
			this.waitingSince = System.nanoTime();
			this.doubted = false;
			if (this.timer == null) {
				lookIn(context, this.longestNanos);
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

	private void lookIn(ChannelHandlerContext context, long nanos) {
		this.timer = context.executor().schedule(() -> look(context), nanos, TimeUnit.NANOSECONDS);
	}

	private void look(ChannelHandlerContext context) {
		this.timer = null;
		if (!this.waiting) {
			return;
		}
		long left = this.longestNanos - (System.nanoTime() - this.waitingSince);
		if (left > 0) {
			lookIn(context, left);
		}
		else if (!this.doubted) {
			this.doubted = true;
			lookIn(context, READING_NANOS);
		}
		else {
			logger.warn("Redis has not answered for " + TimeUnit.NANOSECONDS.toSeconds(this.longestNanos)
					+ " s: its connection is opened again");
			context.close();
		}
	}

}
