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
 * Subscription to a channel, with a watch that renews a broken subscription.
 *
 * <p>
 * All state belongs to the thread of the subscriptions. Subscribing blocks, and therefore
 * runs on a separate thread for each attempt. After a failed attempt, the next attempt
 * follows, with growing pauses. An open subscription is checked by pings: messages to the
 * own channel, which take the same way as a hand-off. A ping has to have a receiver, if
 * receivers can be counted, and has to come back. This detects half-open connections, and
 * connections to a replica after a fail-over.
 */
class ChannelWatch {

	private static final String PING = "ping ";

	private static final Pattern ECHO = Pattern.compile(PING + "(\\d{1,18})");

	private static final long FIRST_RETRY_MILLIS = 250;

	private static final long MAX_RETRY_MILLIS = 5_000;

	/** Timeout of an attempt: longer than the default connect timeout of drivers. */
	private static final long ATTEMPT_MILLIS = 15_000;

	/** Time for the driver to reconnect by itself. */
	private static final long RECONNECT_MILLIS = 1_000;

	/** Maximum time for which the end waits for a running attempt to connect. */
	private static final long ENDING_MILLIS = 500;

	/**
	 * Pause after a refused channel of a single master. A refusal lasts until the users
	 * or the version of Redis are changed.
	 */
	private static final long REFUSAL_MILLIS = 300_000;

	/** Maximum pause after any other refusal. */
	private static final long MAX_REFUSAL_MILLIS = 60_000;

	final NotificationListener listener;

	/** Whether the channel belongs to a single master of a cluster. */
	private final boolean sharded;

	private String channel = "";

	private final byte[][] pingKeys;

	private volatile boolean listening;

	/**
	 * Whether messages may be lost: the subscription broke, and Redis may not know that
	 * yet.
	 */
	private volatile boolean inDoubt;

	private volatile @Nullable Subscription subscription;

	private @Nullable Future<?> timer;

	private int failures;

	/** Number of the last ping. */
	private long lastPing;

	/** Whether Redis has published the last ping. */
	private boolean published;

	/** Whether the last ping has come back. */
	private boolean echoed;

	/**
	 * Create the watch.
	 * @param pingKeys the KEYS of the ping script; in a cluster a key in another slot
	 * than the channel, as with a hand-off
	 */
	ChannelWatch(NotificationListener listener, boolean sharded, byte[]... pingKeys) {
		this.listener = listener;
		this.sharded = sharded;
		this.pingKeys = pingKeys;
	}

	/**
	 * Return whether messages to the channel are received, according to the last ping.
	 */
	boolean isListening() {
		return this.listening;
	}

	/** Return whether messages to the channel may be lost. */
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
		scheduleNext(() -> giveUp(next, null), ATTEMPT_MILLIS);
		// A concurrent close may not have seen this subscription.
		if (!this.listener.isClosed()) {
			next.open(connector());
		}
		else {
			next.connected.cancel(false);
		}
	}

	/** Give up a subscription, and schedule the next attempt. */
	private void giveUp(Subscription source, @Nullable Throwable error) {
		if (source != this.subscription) {
			return;
		}
		StoreCommandException failure = (error != null) ? RedisFailures.of(error, this.listener.channels) : null;
		boolean refused = failure != null && !failure.isTemporary();
		// Later events of the subscription are ignored.
		this.subscription = null;
		this.inDoubt = (this.inDoubt || this.listening) && !refused;
		this.listening = false;
		this.failures++;
		scheduleNext(this::subscribe, pauseMillis(this.failures, refused, this.sharded));
		// A single failure may be a restart of Redis.
		if (this.failures > 1 || refused) {
			onTrouble((failure != null) ? String.valueOf(failure.getMessage()) : "The subscription does not answer",
					refused);
		}
		onChange();
		this.listener.inBackground(source::close);
	}

	/**
	 * Return the pause before the next attempt.
	 * @param failures the number of failed attempts in a row, including the last
	 */
	static long pauseMillis(int failures, boolean refused, boolean sharded) {
		int doublings = Math.min(failures - 1, 10);
		if (refused) {
			return sharded ? REFUSAL_MILLIS : Math.min(MAX_RETRY_MILLIS << doublings, MAX_REFUSAL_MILLIS);
		}
		return Math.min(FIRST_RETRY_MILLIS << doublings, MAX_RETRY_MILLIS);
	}

	private void ping(Subscription source) {
		this.published = false;
		this.echoed = false;
		long number = ++this.lastPing;
		Object[] args = { this.channel, PING + number, this.sharded ? "SPUBLISH" : "PUBLISH" };
		CompletableFuture<Long> call = this.listener.executor.execute(Script.PING, this.pingKeys, args,
				this.listener.channels, (reply) -> reply.number(0));
		scheduleNext(() -> checkEcho(source, call), this.listener.pingMillis / 3);
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

	/** Give up a subscription whose ping has not come back, or schedule the next ping. */
	private void checkEcho(Subscription source, CompletableFuture<Long> call) {
		if (this.published && !this.echoed) {
			giveUp(source, null);
			return;
		}
		// A failed PUBLISH says nothing about the subscription.
		call.cancel(true);
		long pause = this.listener.pingMillis - this.listener.pingMillis / 3;
		scheduleNext(() -> ping(source), this.listening ? pause : Math.min(pause, RECONNECT_MILLIS));
	}

	private void confirmIfEchoed(Subscription source) {
		// An echo alone is not sufficient: a subscription at a replica has an echo, too,
		// but does not count for scripts.
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
	 * End the subscription. Called in the thread of the subscriptions, or after the end
	 * of this thread.
	 * @return the action that closes the connection, which the caller has to run, and
	 * which blocks
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

	/** Schedule the next step, in place of the step that was scheduled before. */
	private void scheduleNext(Runnable action, long millis) {
		if (this.timer != null) {
			this.timer.cancel(false);
		}
		this.timer = this.listener.later(action, millis);
	}

	// Called in the thread of the subscriptions:

	/** Return the source of the connection for the next subscription, which blocks. */
	Supplier<StatefulRedisPubSubConnection<byte[], byte[]>> connector() {
		return this.listener.connector;
	}

	/** Note that the state has changed. */
	void onChange() {
		this.listener.onChange();
	}

	/**
	 * Note that the channel does not work.
	 * @param refused whether Redis has refused the subscription
	 */
	void onTrouble(String reason, boolean refused) {
		this.listener.onTrouble(reason);
	}

	/**
	 * Attempt to subscribe on a separate connection, and the resulting subscription.
	 * Called by the driver, on any thread.
	 *
	 * <p>
	 * If the channel belongs to a single master of a cluster, a broken connection stays
	 * broken. Otherwise, all nodes have the channel, and the driver connects and
	 * subscribes again.
	 */
	private final class Subscription extends RedisPubSubAdapter<byte[], byte[]>
			implements RedisConnectionStateListener {

		private final byte[] name = RedisKeys.bytes(ChannelWatch.this.channel);

		private final CompletableFuture<StatefulRedisPubSubConnection<byte[], byte[]>> connected = new CompletableFuture<>();

		/** Whether the driver has lost the connection, and has not subscribed again. */
		private boolean broken;

		/** Connect and subscribe, without a timeout. */
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

		/**
		 * Run an action in the thread of the subscriptions, unless this subscription is
		 * given up before.
		 */
		private void execute(Runnable action) {
			ChannelWatch.this.listener.execute(() -> {
				if (this == ChannelWatch.this.subscription) {
					action.run();
				}
			});
		}

		/** Send the first ping: only its echo shows that the subscription works. */
		@Override
		public void subscribed(byte[] subscribed, long count) {
			execute(() -> {
				ChannelWatch.this.listening = false;
				this.broken = false;
				onChange();
				ping(this);
			});
		}

		@Override
		public void ssubscribed(byte[] subscribed, long count) {
			subscribed(subscribed, count);
		}

		/**
		 * Give this subscription up. Redis ends a subscription when the channel's slot
		 * has moved to another master.
		 */
		@Override
		public void sunsubscribed(byte[] unsubscribed, long count) {
			execute(() -> {
				// Redis knows of the end, so that no messages are in doubt.
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
			// The driver may reconnect.
			if (this == ChannelWatch.this.subscription) {
				ChannelWatch.this.listening = false;
				ChannelWatch.this.listener.onBroken();
			}
			execute(() -> {
				// The driver also reports connections that are closed before their first
				// answer.
				if (!ChannelWatch.this.listening && !this.broken) {
					this.broken = true;
					onChange();
					scheduleNext(() -> giveUp(this, null), RECONNECT_MILLIS);
				}
			});
		}

		/**
		 * Close the connection, and thereby the subscription. Blocks shortly for a
		 * running attempt: Lettuce would leave a connection open if the factory were
		 * closed during the attempt. A longer attempt closes its connection itself.
		 */
		void close() {
			CompletableFuture<?> closed = this.connected.thenCompose(LettuceWatchConnections::close);
			BlockingWait.awaitEnd(closed.completeOnTimeout(null, ENDING_MILLIS, TimeUnit.MILLISECONDS));
		}

	}

}
