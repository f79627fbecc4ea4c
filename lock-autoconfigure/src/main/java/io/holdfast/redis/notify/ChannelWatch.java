package io.holdfast.redis.notify;

import java.nio.charset.StandardCharsets;
import java.util.concurrent.Future;
import java.util.function.Supplier;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

import io.holdfast.engine.store.StoreCommandException;
import io.holdfast.redis.driver.ScriptCall;
import io.holdfast.redis.key.RedisKeys;
import io.holdfast.redis.script.Script;
import io.lettuce.core.pubsub.StatefulRedisPubSubConnection;
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

	/** What Redis refuses, it refuses until its users or its version are changed. */
	private static final long REFUSAL_MILLIS = 300_000;

	final NotificationListener listener;

	private final NotificationThread thread;

	/** Whether only one master of a cluster has the channel. */
	private final boolean sharded;

	private String channel = "";

	private byte[][] pingKeys;

	private volatile boolean listening;

	/** Whether messages may get lost: it broke, and Redis may not know that yet. */
	private volatile boolean inDoubt;

	private volatile @Nullable NotificationSubscription subscription;

	private @Nullable Future<?> timer;

	/** Whether there is a receiver. */
	private @Nullable ScriptCall<Long> question;

	private int failures;

	/** The number of the last ping that was sent. */
	private long lastPing;

	/** The number of the last ping that Redis has published. */
	private long publishedPing;

	/** The number of the last ping that has come back. */
	private long echoedPing;

	/**
	 * Create the watch.
	 * @param pingKeys the KEYS of the script by which the instance pings itself, which
	 * goes the way of a grant notification; in a cluster one of another slot than the
	 * channel's
	 */
	ChannelWatch(NotificationListener listener, boolean sharded, byte[]... pingKeys) {
		this.listener = listener;
		this.thread = listener.thread();
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

	/**
	 * Ask whether anything can be sent to a subscription that broke: Redis does not
	 * always hear of its end.
	 */
	void resolveDoubt() {
		if (!this.inDoubt) {
			return;
		}
		if (this.question != null) {
			this.question.cancel(true);
		}
		this.question = ping(0);
		this.question.whenComplete((receivers, error) -> this.thread.execute(() -> {
			boolean none = (error == null) ? receivers == 0
					: error instanceof StoreCommandException failure && isAnswer(failure);
			if (none && this.inDoubt) {
				this.inDoubt = false;
				onChange();
			}
		}));
	}

	/** Return whether Redis refused it. It refuses a grant notification, too, then. */
	private static boolean isAnswer(StoreCommandException failure) {
		return !failure.isTemporary() || failure.isWorthWaiting();
	}

	/**
	 * Send a message to the channel, as a grant notification is sent.
	 * @return the call, whose result is the number of receivers
	 */
	private ScriptCall<Long> ping(long number) {
		ScriptCall<Long> call = new ScriptCall<>(this.sharded ? Script.PING_SHARD : Script.PING, this.pingKeys,
				RedisKeys.bytes(this.channel, PING + number), (reply) -> (Long) reply.get(0), this.listener::failure);
		this.listener.executor().execute(call);
		return call;
	}

	/** Subscribe to a channel, and stay subscribed. */
	void subscribe(String channel) {
		this.channel = channel;
		subscribe();
	}

	private void subscribe() {
		NotificationSubscription next = new NotificationSubscription(connector(), RedisKeys.bytes(this.channel),
				this.sharded, this);
		this.subscription = next;
		if (this.thread.isClosed()) {
			// Closed by now, perhaps without seeing this one.
			next.close();
		}
		planNext(() -> giveUp(next, null), ATTEMPT_MILLIS);
		this.thread.inBackground(next::run);
	}

	// Called by subscriptions, on any thread:

	/**
	 * Note that a subscription stands, for the first time or again. The first ping that
	 * comes back tells whether it is of use.
	 */
	void onSubscribed(NotificationSubscription source) {
		this.thread.execute(() -> {
			if (source == this.subscription) {
				this.listening = false;
				onChange();
				ping(source);
			}
		});
	}

	/** Note that the connection broke; the driver may open it again. */
	void onDisconnected(NotificationSubscription source) {
		if (source == this.subscription) {
			this.listening = false;
		}
		this.thread.execute(() -> {
			if (source == this.subscription && !this.listening) {
				onChange();
				planNext(() -> giveUp(source, null), RECONNECT_MILLIS);
			}
		});
	}

	/** Note that a subscription failed or broke, and perhaps why. */
	void onLost(NotificationSubscription source, @Nullable Throwable error) {
		this.thread.execute(() -> giveUp(source, error));
	}

	/** Note that Redis has ended a subscription, and knows that it has. */
	void onEnded(NotificationSubscription source) {
		this.thread.execute(() -> {
			if (source == this.subscription) {
				// So that there is no doubt.
				this.listening = false;
				giveUp(source, null);
			}
		});
	}

	/** Give up a subscription, and plan another one. */
	private void giveUp(NotificationSubscription source, @Nullable Throwable error) {
		if (source != this.subscription) {
			return;
		}
		// Its events do not count from now on.
		this.subscription = null;
		this.inDoubt |= this.listening;
		this.listening = false;
		this.failures++;
		StoreCommandException failure = (error != null) ? this.listener.failure(error) : null;
		boolean refused = failure != null && !failure.isTemporary();
		long pause = Math.min(FIRST_RETRY_MILLIS << Math.min(this.failures - 1, 10), LAST_RETRY_MILLIS);
		planNext(this::subscribe, (refused && this.sharded) ? REFUSAL_MILLIS : pause);
		// One failure alone may be a restart.
		if (this.failures > 1 || refused) {
			onTrouble((failure != null) ? failure.getMessage() : "The subscription does not answer", refused);
		}
		onChange();
		this.thread.inBackground(source::close);
	}

	private void ping(NotificationSubscription source) {
		long number = ++this.lastPing;
		ScriptCall<Long> call = ping(number);
		planNext(() -> checkEcho(source, number, call), this.listener.pingMillis() / 3);
		call.whenComplete((receivers, error) -> this.thread.execute(() -> {
			if (error instanceof StoreCommandException failure && !failure.isTemporary()) {
				onPingRefused(source, failure);
			}
			else if (error == null && receivers == 0 && countsReceivers()) {
				giveUp(source, null);
			}
			else if (error == null) {
				this.publishedPing = number;
				confirmIfEchoed(source);
			}
		}));
	}

	/** Return whether a message without a receiver was certainly lost. */
	private boolean countsReceivers() {
		return this.sharded || this.pingKeys.length == 0;
	}

	private void onPingRefused(NotificationSubscription source, StoreCommandException failure) {
		if (this.sharded) {
			giveUp(source, failure);
			return;
		}
		this.listening = false;
		onTrouble(failure.getMessage(), true);
		onChange();
	}

	/** Give up a subscription whose ping has not come back, or plan the next ping. */
	private void checkEcho(NotificationSubscription source, long number, ScriptCall<Long> call) {
		boolean published = call.isDone() && !call.isCompletedExceptionally();
		if (this.echoedPing < number && published) {
			giveUp(source, null);
			return;
		}
		// A failed PUBLISH says nothing about the subscription.
		call.cancel(true);
		long pause = this.listener.pingMillis() - this.listener.pingMillis() / 3;
		planNext(() -> ping(source), this.listening ? pause : Math.min(pause, RECONNECT_MILLIS));
	}

	private void confirmIfEchoed(NotificationSubscription source) {
		// A subscription to a replica has its echo too, but no hand-off counts on it.
		boolean confirmed = this.publishedPing == this.lastPing && this.echoedPing == this.lastPing;
		if (source != this.subscription || !confirmed) {
			return;
		}
		this.failures = 0;
		if (this.listening) {
			return;
		}
		this.listening = true;
		this.inDoubt = false;
		onChange();
	}

	/** Take a message. */
	void onMessage(NotificationSubscription source, byte[] body) {
		String text = new String(body, StandardCharsets.UTF_8);
		Matcher echo = ECHO.matcher(text);
		if (echo.matches()) {
			long number = Long.parseLong(echo.group(1));
			this.thread.execute(() -> {
				this.echoedPing = Math.max(this.echoedPing, number);
				confirmIfEchoed(source);
			});
			return;
		}
		// The driver's thread must not end by what is thrown there.
		NotificationThread.guarded(() -> this.listener.onText(text)).run();
	}

	/**
	 * Watch no more, in the thread or when that has ended.
	 * @return the subscription, still to be closed
	 */
	@Nullable NotificationSubscription stop() {
		if (this.timer != null) {
			this.timer.cancel(false);
		}
		this.listening = false;
		this.inDoubt = false;
		NotificationSubscription last = this.subscription;
		this.subscription = null;
		return last;
	}

	/**
	 * Plan the next step, in place of the one planned before.
	 */
	private void planNext(Runnable action, long millis) {
		if (this.timer != null) {
			this.timer.cancel(false);
		}
		this.timer = this.thread.later(action, millis);
	}

	// Called in the thread:

	/** Return what opens the connection of the next subscription; blocks. */
	Supplier<StatefulRedisPubSubConnection<byte[], byte[]>> connector() {
		return this.listener.connector();
	}

	/** Note that the state has changed. */
	void onChange() {
		this.listener.onChange();
	}

	/**
	 * Note that the channel does not work.
	 * @param reason why not, if that is known
	 * @param refused whether Redis has refused it
	 */
	void onTrouble(@Nullable String reason, boolean refused) {
		this.listener.onTrouble(reason);
	}

}
