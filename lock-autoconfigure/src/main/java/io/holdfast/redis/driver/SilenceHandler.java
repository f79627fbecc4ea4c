package io.holdfast.redis.driver;

import java.time.Duration;
import java.util.concurrent.TimeUnit;

import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelPromise;
import io.netty.handler.timeout.IdleStateEvent;
import io.netty.handler.timeout.IdleStateHandler;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;

/**
 * Handler that closes a silent connection, on which nothing is received although commands
 * are unanswered. A firewall may have forgotten the connection, or the server may be
 * frozen while another server has taken over. TCP detects neither, because writes may
 * still be acknowledged. After the close, Lettuce reconnects, and repeats unanswered
 * commands. Confined to the event loop of the connection.
 */
final class SilenceHandler extends IdleStateHandler {

	private static final Log logger = LogFactory.getLog(SilenceHandler.class);

	/**
	 * Number of checks during the maximum silence. After a pause of the JVM, only one
	 * check is due, so that the received answers are read before the next check.
	 */
	private static final int CHECKS = 10;

	/** Whether nothing was received since the first unanswered command. */
	private boolean waiting;

	/** Number of checks since the first unanswered command. */
	private int silentChecks;

	/**
	 * Create the handler of a connection.
	 * @param max the maximum time without received data, which checks may exceed by a
	 * tenth
	 */
	SilenceHandler(Duration max) {
		super(max.toNanos() / CHECKS, 0, 0, TimeUnit.NANOSECONDS);
	}

	@Override
	public void write(ChannelHandlerContext context, Object message, ChannelPromise promise) throws Exception {
		this.waiting = true;
		super.write(context, message, promise);
	}

	@Override
	public void channelRead(ChannelHandlerContext context, Object message) throws Exception {
		this.waiting = false;
		this.silentChecks = 0;
		super.channelRead(context, message);
	}

	@Override
	protected void channelIdle(ChannelHandlerContext context, IdleStateEvent event) {
		if (this.waiting && ++this.silentChecks > CHECKS) {
			logger.warn("Redis has not answered for "
					+ TimeUnit.MILLISECONDS.toSeconds(CHECKS * getReaderIdleTimeInMillis())
					+ " s: its connection is opened again");
			context.close();
		}
	}

}
