package io.holdfast.redis.notify;

import java.nio.charset.StandardCharsets;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

import io.holdfast.engine.store.StoreCommandException;
import io.holdfast.engine.store.StoreNotifications;
import io.holdfast.redis.driver.ScriptExecutor;
import io.holdfast.redis.key.RedisKeys;
import io.holdfast.redis.script.RedisFailures;
import io.holdfast.redis.script.Script;
import io.holdfast.redis.script.ScriptCall;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

import org.springframework.data.redis.connection.RedisConnectionFactory;

/**
 * Keeps an instance subscribed to its wake-up channel, whatever happens to Redis.
 *
 * <p>
 * All its state belongs to one thread; subscribing, which blocks, is left to a thread of
 * its own per attempt. An attempt that fails is followed by another, later and later. A
 * subscription that stands is watched by messages to its own channel, which go the way of
 * a hand-off: they must have a receiver (outside a cluster), and come back. Only so are a
 * connection noticed that is half open, and one to a replica after a fail-over.
 *
 * <p>
 * Not built on RedisMessageListenerContainer, which would block the start until it is
 * subscribed, fails it if Redis is down, logs a stack trace at each further attempt, and
 * does not see either of those broken connections.
 */
public final class NotificationListener implements AutoCloseable, NotificationSubscription.SubscriptionOwner {

	private static final Log logger = LogFactory.getLog(NotificationListener.class);

	private static final String PING = "ping ";

	private static final Pattern ECHO = Pattern.compile(PING + "(\\d{1,18})");

	/** Said by services that divide their channels among the nodes of a cluster. */
	private static final String OTHER_SLOT = "do not hash to the same slot";

	private static final long FIRST_RETRY_MILLIS = 250;

	private static final long LAST_RETRY_MILLIS = 5_000;

	/** Longer than drivers take by default to give up connecting. */
	private static final long ATTEMPT_MILLIS = 15_000;

	private static final long PING_MILLIS = 15_000;

	/** What drivers that connect again by themselves get before it is done for them. */
	private static final long RECONNECT_MILLIS = 1_000;

	private final RedisConnectionFactory factory;

	private final ScriptExecutor executor;

	private final String channelPrefix;

	/** In a cluster a key of another slot than the channel's, which is not used. */
	private final @Nullable String clusterKey;

	private final long pingMillis;

	private final ScheduledThreadPoolExecutor thread;

	private volatile boolean listening;

	private volatile @Nullable NotificationSubscription subscription;

	private String channel = "";

	private @Nullable StoreNotifications notifications;

	private @Nullable ScheduledFuture<?> timer;

	private int failures;

	private boolean warned;

	private volatile @Nullable String trouble;

	private long pings;

	private long receivedPing;

	private long echoedPing;

	/** Create a listener, which listens once it is started. */
	public NotificationListener(RedisConnectionFactory factory, ScriptExecutor executor, String channelPrefix,
			@Nullable String clusterKey) {
		this(factory, executor, channelPrefix, clusterKey, PING_MILLIS);
	}

	/** Create a listener, which listens once it is started. */
	public NotificationListener(RedisConnectionFactory factory, ScriptExecutor executor, String channelPrefix,
			@Nullable String clusterKey, long pingMillis) {
		this.pingMillis = pingMillis;
		this.factory = factory;
		this.executor = executor;
		this.channelPrefix = channelPrefix;
		this.clusterKey = clusterKey;
		this.thread = new ScheduledThreadPoolExecutor(1, (task) -> {
			Thread daemon = new Thread(task, "holdfast-wake-up");
			daemon.setDaemon(true);
			return daemon;
		});
		this.thread.setRemoveOnCancelPolicy(true);
	}

	/**
	 * Begin to listen, in the background.
	 * @param instanceId whose wake-ups
	 * @param notifications where they go
	 */
	public void start(String instanceId, StoreNotifications notifications) {
		this.channel = this.channelPrefix + instanceId;
		this.notifications = notifications;
		inThread(this::subscribe);
	}

	/** Return whether grant notifications are received, as far as is known. */
	public boolean isListening() {
		return this.listening;
	}

	/**
	 * Return why nothing is received.
	 * @return the reason, or {@code null} if all is well, or not known to be otherwise
	 */
	public @Nullable String trouble() {
		return this.trouble;
	}

	private void subscribe() {
		NotificationSubscription next = new NotificationSubscription(this.factory, this.channel, this);
		this.subscription = next;
		if (this.thread.isShutdown()) {
			// Closed by now, perhaps without seeing this one.
			next.close();
		}
		inBackground(next);
		later(() -> lost(next, null), ATTEMPT_MILLIS);
	}

	@Override
	public void onSubscribed(NotificationSubscription which) {
		inThread(() -> {
			if (which == this.subscription) {
				this.listening = false;
				ping(which);
			}
		});
	}

	@Override
	public void onDisconnected(NotificationSubscription which) {
		if (which == this.subscription) {
			this.listening = false;
		}
		inThread(() -> {
			if (which == this.subscription && !this.listening) {
				later(() -> lost(which, null), RECONNECT_MILLIS);
			}
		});
	}

	@Override
	public void onLost(NotificationSubscription which, @Nullable Throwable error) {
		inThread(() -> lost(which, error));
	}

	private void lost(NotificationSubscription which, @Nullable Throwable error) {
		if (which != this.subscription) {
			return;
		}
		// What it still says from now on does not matter.
		this.subscription = null;
		this.listening = false;
		inBackground(which::close);
		this.failures++;
		StoreCommandException failure = (error != null) ? RedisFailures.of(error, this.channelPrefix + "*") : null;
		boolean needsHelp = failure != null && !failure.isTemporary();
		// One failure alone may be a restart.
		if (this.failures > 1 || needsHelp) {
			warn((failure != null) ? failure.getMessage() : "The subscription does not answer");
		}
		later(this::subscribe, Math.min(FIRST_RETRY_MILLIS << Math.min(this.failures - 1, 10), LAST_RETRY_MILLIS));
	}

	private void ping(NotificationSubscription which) {
		long number = ++this.pings;
		ScriptCall<Long> call = new ScriptCall<>(Script.PING, keys(),
				new byte[][] { RedisKeys.bytes(this.channel), RedisKeys.bytes(PING + number) },
				(reply) -> (Long) reply.get(0), (error) -> RedisFailures.of(error, this.channelPrefix + "*"));
		later(() -> judge(which, number, call), this.pingMillis / 3);
		this.executor.execute(call);
		call.whenComplete((receivers, error) -> inThread(() -> {
			if (error instanceof StoreCommandException failure && !failure.isTemporary()) {
				this.listening = false;
				warn(cure(failure));
			}
			else if (error == null && receivers == 0 && this.clusterKey == null) {
				lost(which, null);
			}
			else if (error == null) {
				this.receivedPing = number;
				confirm(which);
			}
		}));
	}

	/**
	 * Return the keys of a message to the own channel: it goes the way of a grant
	 * notification, whose script has the key of a lock.
	 */
	private byte[][] keys() {
		return (this.clusterKey != null) ? new byte[][] { RedisKeys.bytes(this.clusterKey) } : new byte[0][];
	}

	private static @Nullable String cure(StoreCommandException failure) {
		String message = failure.getMessage();
		return (message != null && message.contains(OTHER_SLOT))
				? "Redis lets a script publish to channels in the slot of its keys only; set holdfast.wake-up.mode to"
						+ " polling: " + message
				: message;
	}

	private void judge(NotificationSubscription which, long number, ScriptCall<Long> call) {
		boolean published = call.isDone() && !call.isCompletedExceptionally();
		if (this.echoedPing < number && published) {
			lost(which, null);
			return;
		}
		// What could not be published says nothing about the subscription.
		call.cancel(true);
		long pause = this.pingMillis - this.pingMillis / 3;
		later(() -> ping(which), this.listening ? pause : Math.min(pause, RECONNECT_MILLIS));
	}

	private void confirm(NotificationSubscription which) {
		// A subscription to a replica has its echo too, but no hand-off counts on it.
		boolean confirmed = this.receivedPing == this.pings && this.echoedPing == this.pings;
		if (which != this.subscription || !confirmed) {
			return;
		}
		this.failures = 0;
		if (this.listening) {
			return;
		}
		this.listening = true;
		this.trouble = null;
		if (this.warned) {
			this.warned = false;
			logger.info("Wake-ups are received from Redis again");
		}
		wakeUps().listening();
	}

	private void warn(@Nullable String reason) {
		this.trouble = reason;
		if (!this.warned) {
			this.warned = true;
			logger.warn("Wake-ups are not received from Redis; until they are, waiters ask at intervals. " + reason);
		}
	}

	@Override
	public void onMessage(NotificationSubscription which, byte[] body) {
		String text = new String(body, StandardCharsets.UTF_8);
		Matcher echo = ECHO.matcher(text);
		if (echo.matches()) {
			long number = Long.parseLong(echo.group(1));
			inThread(() -> {
				this.echoedPing = number;
				confirm(which);
			});
			return;
		}
		// The driver's thread must not end by what is thrown there.
		guarded(() -> {
			if (!NotificationText.tell(text, wakeUps())) {
				// Not with its text, which may contain a token.
				logger.debug("A message on the wake-up channel was not understood");
			}
		}).run();
	}

	/**
	 * Listen no more, until started again. Blocks until the subscription has ended.
	 */
	public void stop() {
		CompletableFuture<@Nullable NotificationSubscription> ended = new CompletableFuture<>();
		inThread(() -> {
			if (this.timer != null) {
				this.timer.cancel(false);
			}
			ended.complete(end());
		});
		if (this.thread.isShutdown()) {
			ended.complete(null);
		}
		NotificationSubscription last = ended.join();
		if (last != null) {
			last.close();
		}
	}

	private @Nullable NotificationSubscription end() {
		this.listening = false;
		NotificationSubscription last = this.subscription;
		this.subscription = null;
		return last;
	}

	@Override
	public void close() {
		this.thread.shutdownNow();
		NotificationSubscription last = end();
		if (last != null) {
			last.close();
		}
	}

	private StoreNotifications wakeUps() {
		StoreNotifications target = this.notifications;
		if (target == null) {
			throw new IllegalStateException("Not started");
		}
		return target;
	}

	private void inThread(Runnable action) {
		try {
			this.thread.execute(guarded(action));
		}
		catch (RejectedExecutionException ex) {
			// Closed.
		}
	}

	/**
	 * Run what may block for as long as a driver likes.
	 */
	private static void inBackground(Runnable action) {
		Thread background = new Thread(action, "holdfast-subscription");
		background.setDaemon(true);
		background.start();
	}

	/**
	 * Plan the one thing that comes next, instead of what was planned before.
	 */
	private void later(Runnable action, long millis) {
		if (this.timer != null) {
			this.timer.cancel(false);
		}
		try {
			this.timer = this.thread.schedule(guarded(action), millis, TimeUnit.MILLISECONDS);
		}
		catch (RejectedExecutionException ex) {
			// Closed.
		}
	}

	private static Runnable guarded(Runnable action) {
		return () -> {
			try {
				action.run();
			}
			catch (RuntimeException ex) {
				logger.warn("Handling a wake-up failed", ex);
			}
		};
	}

}
