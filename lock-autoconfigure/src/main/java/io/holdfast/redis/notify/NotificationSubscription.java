package io.holdfast.redis.notify;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;

import io.holdfast.async.BlockingWait;
import io.lettuce.core.RedisChannelHandler;
import io.lettuce.core.RedisConnectionStateListener;
import io.lettuce.core.pubsub.RedisPubSubAdapter;
import io.lettuce.core.pubsub.RedisPubSubListener;
import io.lettuce.core.pubsub.StatefulRedisPubSubConnection;
import io.lettuce.core.pubsub.api.async.RedisPubSubAsyncCommands;
import org.jspecify.annotations.Nullable;

/**
 * One attempt to subscribe to a channel, on a connection of its own, and the
 * subscription.
 */
final class NotificationSubscription extends RedisPubSubAdapter<byte[], byte[]>
		implements RedisConnectionStateListener {

	/** How long {@link #close()} lets a running attempt end by itself. */
	private static final long ENDING_MILLIS = 500;

	private final Supplier<StatefulRedisPubSubConnection<byte[], byte[]>> connector;

	private final byte[] channel;

	private final boolean sharded;

	private final ChannelWatch owner;

	/**
	 * Completed by {@code null} if there is none, or if the end has not waited for it.
	 */
	private final CompletableFuture<@Nullable StatefulRedisPubSubConnection<byte[], byte[]>> connected = new CompletableFuture<>();

	private volatile boolean closed;

	/**
	 * Create an attempt, to be run.
	 * @param connector opens the connection; blocks
	 * @param sharded whether only one master of a cluster has the channel, and its
	 * replicas: then the connection stays broken when it breaks. Otherwise all nodes have
	 * it, also that of the connection, and the driver connects and subscribes again
	 */
	NotificationSubscription(Supplier<StatefulRedisPubSubConnection<byte[], byte[]>> connector, byte[] channel,
			boolean sharded, ChannelWatch owner) {
		this.connector = connector;
		this.channel = channel;
		this.sharded = sharded;
		this.owner = owner;
	}

	/** Connect and subscribe. Blocks for as long as a driver likes. */
	void run() {
		if (this.closed) {
			this.connected.complete(null);
			return;
		}
		try {
			StatefulRedisPubSubConnection<byte[], byte[]> connection = this.connector.get();
			if (!this.connected.complete(connection)) {
				close(connection);
			}
			else if (!this.closed) {
				subscribe(connection);
			}
		}
		catch (RuntimeException | LinkageError ex) {
			this.connected.complete(null);
			this.owner.onLost(this, ex);
		}
	}

	private void subscribe(StatefulRedisPubSubConnection<byte[], byte[]> connection) {
		connection.addListener((RedisConnectionStateListener) this);
		connection.addListener((RedisPubSubListener<byte[], byte[]>) this);
		RedisPubSubAsyncCommands<byte[], byte[]> commands = connection.async();
		(this.sharded ? commands.ssubscribe(this.channel) : commands.subscribe(this.channel))
			.whenComplete((none, error) -> {
				if (error != null) {
					this.owner.onLost(this, error);
				}
			});
	}

	@Override
	public void subscribed(byte[] subscribed, long count) {
		this.owner.onSubscribed(this);
	}

	@Override
	public void ssubscribed(byte[] subscribed, long count) {
		this.owner.onSubscribed(this);
	}

	/** Redis does that by itself when the channel's slot has moved to another master. */
	@Override
	public void sunsubscribed(byte[] unsubscribed, long count) {
		this.owner.onEnded(this);
	}

	@Override
	public void message(byte[] from, byte[] message) {
		this.owner.onMessage(this, message);
	}

	@Override
	public void smessage(byte[] from, byte[] message) {
		this.owner.onMessage(this, message);
	}

	@Override
	public void onRedisDisconnected(RedisChannelHandler<?, ?> connection) {
		if (this.sharded) {
			this.owner.onLost(this, null);
		}
		else {
			this.owner.onDisconnected(this);
		}
	}

	/**
	 * Close the connection, which ends the subscription. Blocks shortly for an attempt
	 * that is under way: Lettuce would leave its connection behind if the factory were
	 * closed under it. An attempt that takes longer closes its connection itself.
	 */
	void close() {
		this.closed = true;
		StatefulRedisPubSubConnection<byte[], byte[]> connection = BlockingWait
			.join(this.connected.completeOnTimeout(null, ENDING_MILLIS, TimeUnit.MILLISECONDS));
		if (connection != null) {
			close(connection);
		}
	}

	/** Lettuce warns of connections that are closed twice, as by their factory before. */
	private static void close(StatefulRedisPubSubConnection<byte[], byte[]> connection) {
		if (!(connection instanceof RedisChannelHandler<?, ?> handler && handler.isClosed())) {
			connection.close();
		}
	}

}
