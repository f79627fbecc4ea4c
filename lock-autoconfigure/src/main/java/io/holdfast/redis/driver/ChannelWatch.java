package io.holdfast.redis.driver;

import java.nio.charset.StandardCharsets;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

import io.holdfast.async.BlockingWait;
import io.holdfast.engine.store.StoreCommandException;
import io.holdfast.redis.key.RedisKeys;
import io.holdfast.redis.script.RedisFailures;
import io.holdfast.redis.script.Script;
import io.lettuce.core.RedisChannelHandler;
import io.lettuce.core.RedisConnectionStateListener;
import io.lettuce.core.pubsub.RedisPubSubAdapter;
import io.lettuce.core.pubsub.RedisPubSubListener;
import io.lettuce.core.pubsub.StatefulRedisPubSubConnection;
import io.lettuce.core.pubsub.api.async.RedisPubSubAsyncCommands;
import org.jspecify.annotations.Nullable;

/**
 * Watch over the subscription to one channel, which is opened again whenever it breaks.
 *
 * <p>
 * All its state belongs to one thread; subscribing, which blocks, is left to a thread of
 * its own per attempt. An attempt that fails is followed by another, later and later. A
 * subscription that stands is watched by messages to its own channel, which go the way of
 * a hand-off: they must have a receiver, where that can be counted, and come back. Only
 * so are a connection noticed that is half open, and one to a replica after a fail-over.
 */
class ChannelWatch {

	private static final String PING = "ping ";

	private static final Pattern ECHO = Pattern.compile(PING + "(\\d{1,18})");

	private static final long FIRST_RETRY_MILLIS = 250;

	private static final long LAST_RETRY_MILLIS = 5_000;

	/** Longer than drivers take by default to give up connecting. */
	private static final long ATTEMPT_MILLIS = 15_000;

	/** Time for drivers to connect again by themselves. */
	private static final long RECONNECT_MILLIS = 1_000;

	/** How long the end lets a running attempt to connect end by itself. */
	private static final long ENDING_MILLIS = 500;

	/** A refusal lasts until the users or the version of Redis are changed. */
	private static final long REFUSAL_MILLIS = 300_000;

	final NotificationListener listener;

	/** Whether only one master of a cluster has the channel. */
	private final boolean sharded;

	private String channel = "";

	private byte[][] pingKeys;

	private volatile boolean listening;

	/** Whether messages may get lost: it broke, and Redis may not know that yet. */
	private volatile boolean inDoubt;

	private volatile @Nullable Subscription subscription;

	private @Nullable Future<?> timer;

	private int failures;

	/** The number of the last ping. */
	private long lastPing;

	/** Whether Redis has published it. */
	private boolean published;

	/** Whether it has come back. */
	private boolean echoed;

	/**
	 * Create the watch.
	 * @param pingKeys the KEYS of the script by which the instance pings itself, which
	 * goes the way of a grant notification; in a cluster one of another slot than the
	 * channel's
	 */
	ChannelWatch(NotificationListener listener, boolean sharded, byte[]... pingKeys) {
		this.listener = listener;
		this.sharded = sharded;
		this.pingKeys = pingKeys;
	}

	/** Ping by other KEYS from now on. */
	void pingBy(byte[] key) {
		this.pingKeys = new byte[][] { key };
	}

	/** Return whether messages to the channel are received, as far as is known. */
	boolean isListening() {
		return this.listening;
	}

	/** Return whether some may be sent to it that are not received. */
	boolean isInDoubt() {
		return this.inDoubt;
	}

	/** Subscribe to a channel, and stay subscribed. */
	void subscribe(String channel) {
		this.channel = channel;
		subscribe();
	}

	private void subscribe() {
		Subscription next = new Subscription();
		this.subscription = next;
		planNext(() -> giveUp(next, null), ATTEMPT_MILLIS);
		// The end may have come by now, without seeing this one.
		if (!this.listener.isClosed()) {
			next.open(connector());
		}
		else {
			next.connected.cancel(false);
		}
	}

	/** Give up a subscription, and plan another one. */
	private void giveUp(Subscription source, @Nullable Throwable error) {
		if (source != this.subscription) {
			return;
		}
		StoreCommandException failure = (error != null) ? RedisFailures.of(error, this.listener.channels) : null;
		boolean refused = failure != null && !failure.isTemporary();
		// Its events do not count from now on.
		this.subscription = null;
		this.inDoubt = (this.inDoubt || this.listening) && !refused;
		this.listening = false;
		this.failures++;
		long pause = Math.min(FIRST_RETRY_MILLIS << Math.min(this.failures - 1, 10), LAST_RETRY_MILLIS);
		planNext(this::subscribe, (refused && this.sharded) ? REFUSAL_MILLIS : pause);
		// One failure alone may be a restart.
		if (this.failures > 1 || refused) {
			onTrouble((failure != null) ? String.valueOf(failure.getMessage()) : "The subscription does not answer",
					refused);
		}
		onChange();
		this.listener.inBackground(source::close);
	}

	private void ping(Subscription source) {
		this.published = false;
		this.echoed = false;
		long number = ++this.lastPing;
		CompletableFuture<Long> call = this.listener.executor.execute(this.sharded ? Script.PING_SHARD : Script.PING,
				this.pingKeys, new Object[] { this.channel, PING + number }, this.listener.channels,
				(reply) -> reply.number(0));
		planNext(() -> checkEcho(source, call), this.listener.pingMillis / 3);
		call.whenComplete((receivers, error) -> this.listener.execute(() -> {
			if (error instanceof StoreCommandException failure && !failure.isTemporary()) {
				giveUp(source, failure);
			}
			else if (error == null && receivers == 0 && countsReceivers()) {
				giveUp(source, null);
			}
			else if (error == null && number == this.lastPing) {
				this.published = true;
				confirmIfEchoed(source);
			}
		}));
	}

	/** Return whether a message without a receiver was certainly lost. */
	private boolean countsReceivers() {
		return this.sharded || this.pingKeys.length == 0;
	}

	/** Give up a subscription whose ping has not come back, or plan the next ping. */
	private void checkEcho(Subscription source, CompletableFuture<Long> call) {
		if (this.published && !this.echoed) {
			giveUp(source, null);
			return;
		}
		// A failed PUBLISH says nothing about the subscription.
		call.cancel(true);
		long pause = this.listener.pingMillis - this.listener.pingMillis / 3;
		planNext(() -> ping(source), this.listening ? pause : Math.min(pause, RECONNECT_MILLIS));
	}

	private void confirmIfEchoed(Subscription source) {
		// A subscription to a replica has its echo too, but no hand-off counts on it.
		if (source != this.subscription || !this.published || !this.echoed) {
			return;
		}
		this.failures = 0;
		if (!this.listening) {
			this.listening = true;
			this.inDoubt = false;
			onChange();
		}
	}

	/**
	 * Watch no more, in the thread or when that has ended.
	 * @return the end of the subscription, still to be run; blocks
	 */
	Runnable stop() {
		if (this.timer != null) {
			this.timer.cancel(false);
		}
		this.listening = false;
		this.inDoubt = false;
		Subscription last = this.subscription;
		this.subscription = null;
		return (last != null) ? last::close : () -> {
		};
	}

	/** Plan the next step, in place of the one planned before. */
	private void planNext(Runnable action, long millis) {
		if (this.timer != null) {
			this.timer.cancel(false);
		}
		this.timer = this.listener.later(action, millis);
	}

	// Called in the thread:

	/** Return the supplier of the connection for the next subscription; it blocks. */
	Supplier<StatefulRedisPubSubConnection<byte[], byte[]>> connector() {
		return this.listener.connector;
	}

	/** Note that the state has changed. */
	void onChange() {
		this.listener.onChange();
	}

	/**
	 * Note that the channel does not work.
	 * @param refused whether Redis has refused it
	 */
	void onTrouble(String reason, boolean refused) {
		this.listener.onTrouble(reason);
	}

	/**
	 * One attempt to subscribe, on a connection of its own, and the subscription. Called
	 * by the driver, on any thread.
	 *
	 * <p>
	 * If only one master of a cluster has the channel, and its replicas, the connection
	 * stays broken when it breaks. Otherwise all nodes have the channel, also that of the
	 * connection, and the driver connects and subscribes again.
	 */
	private final class Subscription extends RedisPubSubAdapter<byte[], byte[]>
			implements RedisConnectionStateListener {

		private final byte[] name = RedisKeys.bytes(ChannelWatch.this.channel);

		private final CompletableFuture<StatefulRedisPubSubConnection<byte[], byte[]>> connected = new CompletableFuture<>();

		/** Connect, for as long as a driver likes, and subscribe. */
		void open(Supplier<StatefulRedisPubSubConnection<byte[], byte[]>> connector) {
			this.connected.thenCompose(this::subscribe).whenComplete((none, error) -> {
				if (error != null) {
					onLost(error);
				}
			});
			this.connected.completeAsync(connector, ChannelWatch.this.listener::inBackground);
		}

		private CompletionStage<Void> subscribe(StatefulRedisPubSubConnection<byte[], byte[]> connection) {
			connection.addListener((RedisConnectionStateListener) this);
			connection.addListener((RedisPubSubListener<byte[], byte[]>) this);
			RedisPubSubAsyncCommands<byte[], byte[]> commands = connection.async();
			return ChannelWatch.this.sharded ? commands.ssubscribe(this.name) : commands.subscribe(this.name);
		}

		private void onLost(@Nullable Throwable error) {
			ChannelWatch.this.listener.execute(() -> giveUp(this, error));
		}

		/** Run an action in the thread, unless the subscription was given up by then. */
		private void execute(Runnable action) {
			ChannelWatch.this.listener.execute(() -> {
				if (this == ChannelWatch.this.subscription) {
					action.run();
				}
			});
		}

		/** The first ping that comes back tells whether the subscription is of use. */
		@Override
		public void subscribed(byte[] subscribed, long count) {
			execute(() -> {
				ChannelWatch.this.listening = false;
				onChange();
				ping(this);
			});
		}

		@Override
		public void ssubscribed(byte[] subscribed, long count) {
			subscribed(subscribed, count);
		}

		/**
		 * Redis does that by itself when the channel's slot has moved to another master.
		 */
		@Override
		public void sunsubscribed(byte[] unsubscribed, long count) {
			execute(() -> {
				// Redis knows of the end, so that there is no doubt.
				ChannelWatch.this.listening = false;
				giveUp(this, null);
			});
		}

		@Override
		public void message(byte[] from, byte[] message) {
			String text = new String(message, StandardCharsets.UTF_8);
			Matcher echo = ECHO.matcher(text);
			if (!echo.matches()) {
				ChannelWatch.this.listener.onText(text);
				return;
			}
			long number = Long.parseLong(echo.group(1));
			ChannelWatch.this.listener.execute(() -> {
				ChannelWatch.this.echoed |= number == ChannelWatch.this.lastPing;
				confirmIfEchoed(this);
			});
		}

		@Override
		public void smessage(byte[] from, byte[] message) {
			message(from, message);
		}

		@Override
		public void onRedisDisconnected(RedisChannelHandler<?, ?> connection) {
			if (ChannelWatch.this.sharded) {
				onLost(null);
				return;
			}
			// The driver may open it again.
			if (this == ChannelWatch.this.subscription) {
				ChannelWatch.this.listening = false;
				ChannelWatch.this.listener.onBroken();
			}
			execute(() -> {
				if (!ChannelWatch.this.listening) {
					onChange();
					planNext(() -> giveUp(this, null), RECONNECT_MILLIS);
				}
			});
		}

		/**
		 * Close the connection, which ends the subscription. Blocks shortly for an
		 * attempt that is under way: Lettuce would leave its connection behind if the
		 * factory were closed under it. An attempt that takes longer closes its
		 * connection itself.
		 */
		void close() {
			CompletableFuture<?> closed = this.connected.thenAccept(Subscription::close);
			BlockingWait.awaitEnd(closed.completeOnTimeout(null, ENDING_MILLIS, TimeUnit.MILLISECONDS));
		}

		/**
		 * Lettuce warns of connections that are closed twice, as by their factory before.
		 */
		private static void close(StatefulRedisPubSubConnection<byte[], byte[]> connection) {
			if (!(connection instanceof RedisChannelHandler<?, ?> handler && handler.isClosed())) {
				connection.close();
			}
		}

	}

}
