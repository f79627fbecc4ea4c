package io.holdfast.redis.notify;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Supplier;

import io.lettuce.core.RedisChannelHandler;
import io.lettuce.core.RedisConnectionStateListener;
import io.lettuce.core.pubsub.RedisPubSubAdapter;
import io.lettuce.core.pubsub.RedisPubSubListener;
import io.lettuce.core.pubsub.StatefulRedisPubSubConnection;
import org.jspecify.annotations.Nullable;

/**
 * Subscription to a channel that only one master of a cluster has, and its replicas.
 */
final class ShardSubscription extends RedisPubSubAdapter<byte[], byte[]>
		implements NotificationSubscription, RedisConnectionStateListener {

	/** How long {@link #close()} lets a running attempt end by itself. */
	private static final long ENDING_MILLIS = 500;

	private final Supplier<StatefulRedisPubSubConnection<byte[], byte[]>> connector;

	private final byte[] channel;

	private final SubscriptionOwner owner;

	private final CompletableFuture<@Nullable StatefulRedisPubSubConnection<byte[], byte[]>> connected = new CompletableFuture<>();

	private volatile boolean closed;

	ShardSubscription(Supplier<StatefulRedisPubSubConnection<byte[], byte[]>> connector, byte[] channel,
			SubscriptionOwner owner) {
		this.connector = connector;
		this.channel = channel;
		this.owner = owner;
	}

	@Override
	public void run() {
		if (this.closed) {
			this.connected.complete(null);
			return;
		}
		try {
			StatefulRedisPubSubConnection<byte[], byte[]> connection = this.connector.get();
			this.connected.complete(connection);
			if (this.closed) {
				connection.close();
				return;
			}
			connection.addListener((RedisConnectionStateListener) this);
			connection.addListener((RedisPubSubListener<byte[], byte[]>) this);
			connection.async().ssubscribe(this.channel).whenComplete((none, error) -> {
				if (error != null) {
					this.owner.onLost(this, error);
				}
			});
		}
		catch (RuntimeException | LinkageError ex) {
			this.connected.complete(null);
			this.owner.onLost(this, ex);
		}
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
	public void smessage(byte[] from, byte[] message) {
		this.owner.onMessage(this, message);
	}

	@Override
	public void onRedisDisconnected(RedisChannelHandler<?, ?> connection) {
		this.owner.onLost(this, null);
	}

	@Override
	public void close() {
		this.closed = true;
		try {
			StatefulRedisPubSubConnection<byte[], byte[]> connection = this.connected.get(ENDING_MILLIS,
					TimeUnit.MILLISECONDS);
			if (connection != null) {
				connection.close();
			}
		}
		catch (InterruptedException ex) {
			Thread.currentThread().interrupt();
		}
		catch (ExecutionException | TimeoutException ex) {
			// It closes its connection itself.
		}
	}

}
