package io.holdfast.redis.notify;

import java.nio.charset.StandardCharsets;
import java.util.concurrent.TimeUnit;

import io.holdfast.redis.script.RedisFailures;
import io.lettuce.core.RedisChannelHandler;
import io.lettuce.core.RedisConnectionStateListener;
import io.lettuce.core.pubsub.api.async.RedisPubSubAsyncCommands;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

import org.springframework.data.redis.connection.Message;
import org.springframework.data.redis.connection.MessageListener;
import org.springframework.data.redis.connection.RedisConnection;
import org.springframework.data.redis.connection.RedisConnectionFactory;
import org.springframework.data.redis.connection.SubscriptionListener;

/**
 * Subscription to a channel that all of Redis has, whichever node the connection is at.
 */
final class BusSubscription implements MessageListener, SubscriptionListener, NotificationSubscription {

	private static final Log logger = LogFactory.getLog(BusSubscription.class);

	/** How long {@link #close()} lets a running attempt end by itself. */
	private static final long ENDING_NANOS = TimeUnit.MILLISECONDS.toNanos(500);

	private final RedisConnectionFactory factory;

	private final byte[] channel;

	private final SubscriptionOwner owner;

	private @Nullable RedisConnection connection;

	/** Whether it is being connected and subscribed. */
	private boolean subscribing;

	private boolean closed;

	BusSubscription(RedisConnectionFactory factory, String channel, SubscriptionOwner owner) {
		this.factory = factory;
		this.channel = channel.getBytes(StandardCharsets.UTF_8);
		this.owner = owner;
	}

	@Override
	public void run() {
		Throwable trouble = null;
		RedisConnection opened = null;
		try {
			opened = tryBegin() ? this.factory.getConnection() : null;
			if (opened != null && keep(opened)) {
				opened.subscribe(this, this.channel);
				if (opened.isSubscribed() && !isClosed()) {
					onAttemptOver();
					onDisconnect(opened, () -> this.owner.onDisconnected(this));
					return;
				}
			}
		}
		catch (RuntimeException | LinkageError ex) {
			trouble = ex;
		}
		release(opened);
		onAttemptOver();
		this.owner.onLost(this, trouble);
	}

	private synchronized boolean tryBegin() {
		this.subscribing = !this.closed;
		return this.subscribing;
	}

	/**
	 * Keep the connection, for {@link #close()}.
	 * @return whether it is still wanted
	 */
	private synchronized boolean keep(RedisConnection opened) {
		this.connection = opened;
		return !this.closed;
	}

	private synchronized void onAttemptOver() {
		this.subscribing = false;
		notifyAll();
	}

	private synchronized boolean isClosed() {
		return this.closed;
	}

	@Override
	public void onMessage(Message message, byte @Nullable [] pattern) {
		this.owner.onMessage(this, message.getBody());
	}

	@Override
	public void onChannelSubscribed(byte[] subscribed, long count) {
		onAttemptOver();
		this.owner.onSubscribed(this);
	}

	/**
	 * Unsubscribe and close the connection. Blocks shortly for an attempt that is under
	 * way: Lettuce would leave its connection behind, and its thread too, if the factory
	 * were closed under it. An attempt that takes longer closes its connection itself; it
	 * is not interrupted, as answers that are still to come would be left on the
	 * connection.
	 */
	@Override
	public void close() {
		RedisConnection opened;
		synchronized (this) {
			this.closed = true;
			awaitSubscriber();
			opened = this.connection;
		}
		if (opened != null) {
			unsubscribe(opened);
		}
	}

	private synchronized void awaitSubscriber() {
		long until = System.nanoTime() + ENDING_NANOS;
		try {
			for (long left = ENDING_NANOS; this.subscribing && left > 0; left = until - System.nanoTime()) {
				TimeUnit.NANOSECONDS.timedWait(this, left);
			}
		}
		catch (InterruptedException ex) {
			Thread.currentThread().interrupt();
		}
	}

	private static void release(@Nullable RedisConnection opened) {
		if (opened != null) {
			unsubscribe(opened);
			try {
				opened.close();
			}
			catch (RuntimeException ex) {
				logger.debug("Closing a broken subscription's connection failed: " + RedisFailures.deepest(ex));
			}
		}
	}

	private static void unsubscribe(RedisConnection opened) {
		try {
			org.springframework.data.redis.connection.Subscription subscription = opened.getSubscription();
			if (subscription != null && subscription.isAlive() && !isClosed(opened)) {
				subscription.close();
			}
		}
		catch (RuntimeException ex) {
			logger.debug("Unsubscribing from a broken connection failed: " + RedisFailures.deepest(ex));
		}
	}

	/** Return whether its factory closed it: then nothing is left to end. */
	private static boolean isClosed(RedisConnection subscribed) {
		return subscribed.getNativeConnection() instanceof RedisPubSubAsyncCommands<?, ?> commands
				&& commands.getStatefulConnection() instanceof RedisChannelHandler<?, ?> handler && handler.isClosed();
	}

	private static void onDisconnect(RedisConnection subscribed, Runnable action) {
		if (subscribed.getNativeConnection() instanceof RedisPubSubAsyncCommands<?, ?> commands) {
			commands.getStatefulConnection().addListener(new RedisConnectionStateListener() {

				@Override
				public void onRedisDisconnected(RedisChannelHandler<?, ?> connection) {
					action.run();
				}

			});
		}
	}

}
