package io.holdfast.redis.notify;

import java.nio.charset.StandardCharsets;
import java.util.concurrent.Future;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

import io.holdfast.engine.store.StoreCommandException;
import io.holdfast.redis.driver.ScriptCall;
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
final class ChannelWatch implements NotificationSubscription.SubscriptionOwner {

	private static final String PING = "ping ";

	private static final Pattern ECHO = Pattern.compile(PING + "(\\d{1,18})");

	private static final long FIRST_RETRY_MILLIS = 250;

	private static final long LAST_RETRY_MILLIS = 5_000;

	/** Longer than drivers take by default to give up connecting. */
	private static final long ATTEMPT_MILLIS = 15_000;

	/** Time for drivers to connect again by themselves. */
	private static final long RECONNECT_MILLIS = 1_000;

	private final NotificationThread thread;

	private final Channel channel;

	private final long pingMillis;

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

	ChannelWatch(NotificationThread thread, Channel channel, long pingMillis) {
		this.thread = thread;
		this.channel = channel;
		this.pingMillis = pingMillis;
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
		this.question = this.channel.ping(PING + 0);
		this.question.whenComplete((receivers, error) -> this.thread.execute(() -> {
			boolean none = (error == null) ? receivers == 0
					: error instanceof StoreCommandException failure && isAnswer(failure);
			if (none && this.inDoubt) {
				this.inDoubt = false;
				this.channel.onChange();
			}
		}));
	}

	/** Return whether Redis refused it. It refuses a grant notification, too, then. */
	private static boolean isAnswer(StoreCommandException failure) {
		return !failure.isTemporary() || failure.isWorthWaiting();
	}

	void subscribe() {
		NotificationSubscription next = this.channel.subscription(this);
		this.subscription = next;
		if (this.thread.isClosed()) {
			// Closed by now, perhaps without seeing this one.
			next.close();
		}
		planNext(() -> giveUp(next, null), ATTEMPT_MILLIS);
		this.thread.inBackground(next::run);
	}

	@Override
	public void onSubscribed(NotificationSubscription source) {
		this.thread.execute(() -> {
			if (source == this.subscription) {
				this.listening = false;
				this.channel.onChange();
				ping(source);
			}
		});
	}

	@Override
	public void onDisconnected(NotificationSubscription source) {
		if (source == this.subscription) {
			this.listening = false;
		}
		this.thread.execute(() -> {
			if (source == this.subscription && !this.listening) {
				this.channel.onChange();
				planNext(() -> giveUp(source, null), RECONNECT_MILLIS);
			}
		});
	}

	@Override
	public void onLost(NotificationSubscription source, @Nullable Throwable error) {
		this.thread.execute(() -> giveUp(source, error));
	}

	@Override
	public void onEnded(NotificationSubscription source) {
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
		StoreCommandException failure = (error != null) ? this.channel.failure(error) : null;
		boolean refused = failure != null && !failure.isTemporary();
		long pause = Math.min(FIRST_RETRY_MILLIS << Math.min(this.failures - 1, 10), LAST_RETRY_MILLIS);
		planNext(this::subscribe, refused ? Math.max(pause, this.channel.refusalMillis()) : pause);
		// One failure alone may be a restart.
		if (this.failures > 1 || refused) {
			this.channel.onTrouble((failure != null) ? failure.getMessage() : "The subscription does not answer",
					refused);
		}
		this.channel.onChange();
		this.thread.inBackground(source::close);
	}

	private void ping(NotificationSubscription source) {
		long number = ++this.lastPing;
		ScriptCall<Long> call = this.channel.ping(PING + number);
		planNext(() -> checkEcho(source, number, call), this.pingMillis / 3);
		call.whenComplete((receivers, error) -> this.thread.execute(() -> {
			if (error instanceof StoreCommandException failure && !failure.isTemporary()) {
				onPingRefused(source, failure);
			}
			else if (error == null && receivers == 0 && this.channel.countsReceivers()) {
				giveUp(source, null);
			}
			else if (error == null) {
				this.publishedPing = number;
				confirmIfEchoed(source);
			}
		}));
	}

	private void onPingRefused(NotificationSubscription source, StoreCommandException failure) {
		if (this.channel.refusalMillis() > 0) {
			giveUp(source, failure);
			return;
		}
		this.listening = false;
		this.channel.onTrouble(failure.getMessage(), true);
		this.channel.onChange();
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
		long pause = this.pingMillis - this.pingMillis / 3;
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
		this.channel.onChange();
	}

	@Override
	public void onMessage(NotificationSubscription source, byte[] body) {
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
		// The driver's thread must not end by its exceptions.
		NotificationThread.guarded(() -> this.channel.onText(text)).run();
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

	/**
	 * The channel that is watched, and its owner. Called in the thread, but for messages.
	 */
	interface Channel {

		/** Return a subscription to it, to be run. */
		NotificationSubscription subscription(NotificationSubscription.SubscriptionOwner owner);

		/**
		 * Send a message to it, the way that a grant notification takes.
		 * @return the call, whose result is the number of receivers
		 */
		ScriptCall<Long> ping(String message);

		/** Return whether a message that has no receiver was certainly lost. */
		boolean countsReceivers();

		/** Return the meaning of an error. */
		StoreCommandException failure(Throwable error);

		/**
		 * Return the pause after a refusal of Redis for good, or 0 to go on with a
		 * subscription that stands.
		 */
		long refusalMillis();

		/** Note that its state has changed. */
		void onChange();

		/**
		 * Note that it does not work.
		 * @param reason why not, if that is known
		 * @param refused whether Redis has refused it
		 */
		void onTrouble(@Nullable String reason, boolean refused);

		/** Take a message, on any thread. */
		void onText(String text);

	}

}
