package io.holdfast.redis.driver;

import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Future;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

import io.holdfast.async.BlockingWait;
import io.holdfast.async.DaemonThreads;
import io.holdfast.engine.store.Resource;
import io.holdfast.engine.store.Resource.Kind;
import io.holdfast.engine.store.StoreNotifications;
import io.holdfast.redis.key.RedisKeys;
import io.holdfast.redis.key.RedisStoreOptions;
import io.lettuce.core.pubsub.StatefulRedisPubSubConnection;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

/**
 * Subscription of an instance to its channel for notifications, also across failures of
 * Redis. In a cluster, the instance may also have a channel at each master.
 *
 * <p>
 * Not based on RedisMessageListenerContainer, which would block the start until the
 * subscription is open, fail the start if Redis is down, log a stack trace at each
 * further attempt, and miss the broken connections that a {@link ChannelWatch} detects.
 */
public final class NotificationListener implements AutoCloseable {

	private static final Log logger = LogFactory.getLog(NotificationListener.class);

	/** Error of services that divide their channels among the nodes of a cluster. */
	private static final String OTHER_SLOT = "do not hash to the same slot";

	/**
	 * Grant: kind, fence, time, token and key. The key, which may contain spaces, is
	 * last.
	 */
	private static final Pattern GRANT = Pattern.compile("([LS]) (\\d{1,18}) (\\d{1,18}) (\\S+) (.+)", Pattern.DOTALL);

	/** Forced release: the next fence, and the tokens whose leases were released. */
	private static final Pattern ENDED = Pattern.compile("E (\\d{1,18}) (\\S.*)");

	/** Request of another instance for a report, with the name of the report. */
	private static final Pattern REPORT = Pattern.compile("report ([0-9a-f]{32})");

	/** Default time between two pings of the own channel. */
	public static final long PING_MILLIS = 15_000;

	/** Time between two updates of the masters and their slots. */
	private static final long UPDATE_MILLIS = 5_000;

	final Supplier<StatefulRedisPubSubConnection<byte[], byte[]>> connector;

	final ScriptExecutor executor;

	private final RedisStoreOptions options;

	private final @Nullable ShardedChannels shards;

	final long pingMillis;

	/** Pattern of all channels for notifications, for messages. */
	final String channels;

	private final DaemonThreads threads;

	/** Thread of the subscriptions, which owns all their state. */
	private final ScheduledThreadPoolExecutor thread;

	/** Completed at the end of the thread. */
	private final CompletableFuture<@Nullable Void> ended = new CompletableFuture<>();

	private final ChannelWatch watch;

	private volatile boolean listening;

	private String channel = "";

	private volatile @Nullable StoreNotifications notifications;

	/** Next update of the masters of the cluster. */
	private @Nullable Future<?> following;

	/** Last warning, or {@code null} if notifications were received again since. */
	private volatile @Nullable String trouble;

	/**
	 * Create a listener, which starts listening with {@link #start}.
	 * @param connector the source of connections for the subscription, which blocks
	 * @param shards the channels at the masters of a cluster, or {@code null} for none
	 * @param pingMillis the time between two pings, such as {@link #PING_MILLIS}
	 */
	public NotificationListener(Supplier<StatefulRedisPubSubConnection<byte[], byte[]>> connector,
			ScriptExecutor executor, RedisStoreOptions options, @Nullable ShardedChannels shards, long pingMillis) {
		this.pingMillis = pingMillis;
		this.threads = executor.threads();
		this.thread = new ScheduledThreadPoolExecutor(1, (task) -> this.threads.create(task, "holdfast-wake-up")) {

			@Override
			protected void terminated() {
				NotificationListener.this.ended.complete(null);
			}

		};
		this.thread.setRemoveOnCancelPolicy(true);
		this.connector = connector;
		this.executor = executor;
		this.options = options;
		this.channels = options.channelPrefix() + "*";
		this.shards = shards;
		this.watch = new ChannelWatch(this, false, (shards != null) ? shards.pingKeys() : new byte[0][]);
	}

	/** Start listening in the background, unless waiters poll. */
	public void start(String instanceId, StoreNotifications notifications) {
		this.channel = this.options.channelPrefix() + instanceId;
		this.notifications = notifications;
		if (!this.options.polling()) {
			execute(() -> this.watch.subscribe(this.channel));
		}
	}

	/** Return whether notifications are received, according to the last pings. */
	public boolean isListening() {
		return this.listening;
	}

	/**
	 * Note that the subscription broke, before the event in the thread of the
	 * subscriptions.
	 */
	void onBroken() {
		this.listening = false;
	}

	/**
	 * Return the reason why notifications are not received.
	 * @return the reason, or {@code null} if notifications are received or the reason is
	 * not known
	 */
	public @Nullable String trouble() {
		return this.trouble;
	}

	/**
	 * Run an action in the thread of the subscriptions, unless this listener is closed.
	 */
	void execute(Runnable action) {
		later(action, 0);
	}

	/**
	 * Run an action in the thread of the subscriptions after a delay, unless this
	 * listener is closed before.
	 * @return the scheduled action, or {@code null} if this listener is closed
	 */
	@Nullable Future<?> later(Runnable action, long millis) {
		try {
			return this.thread.schedule(() -> guard(action), millis, TimeUnit.MILLISECONDS);
		}
		catch (RejectedExecutionException ex) {
			return null;
		}
	}

	/**
	 * Run an action, and log its exception: an exception must not end the thread of a
	 * driver.
	 */
	private static void guard(Runnable action) {
		try {
			action.run();
		}
		catch (RuntimeException ex) {
			logger.warn("Handling a wake-up failed", ex);
		}
	}

	/** Run a call of a driver, which may block, on a separate thread. */
	void inBackground(Runnable action) {
		this.threads.start(action, "holdfast-subscription");
	}

	boolean isClosed() {
		return this.thread.isShutdown();
	}

	/** Note that the state of a channel has changed. */
	void onChange() {
		boolean before = this.listening;
		boolean bus = this.watch.isListening();
		this.listening = bus && (this.shards == null || !this.shards.isInDoubt());
		if (this.listening && this.trouble != null) {
			this.trouble = null;
			logger.info("Wake-ups are received from Redis again");
		}
		// Only with a working subscription: otherwise, the driver would have to connect
		// to learn of the masters.
		if (bus && this.shards != null && this.following == null) {
			follow(this.shards);
		}
		boolean receivesAgain = this.listening && !before;
		// A subscription at a master broke, so notifications may have been missed.
		boolean missedSome = !this.listening && before && bus;
		if (receivesAgain || missedSome) {
			// Waiters have to ask again.
			notifications().listening();
		}
	}

	private void follow(ShardedChannels shards) {
		// Scheduled first, because the update may fail.
		this.following = later(() -> follow(shards), UPDATE_MILLIS);
		shards.follow(this.channel, this);
		// A master that is gone no longer causes doubt.
		onChange();
	}

	/** Note that a channel does not work. */
	void onTrouble(String reason) {
		String advice = reason.contains(OTHER_SLOT)
				? "Redis lets a script publish to channels in the slot of its keys only; set holdfast.wake-up.mode to"
						+ " polling: " + reason
				: reason;
		if (this.trouble == null) {
			logger.warn("Wake-ups are not received from Redis; until they are, waiters poll. " + advice);
		}
		this.trouble = advice;
	}

	private StoreNotifications notifications() {
		return Objects.requireNonNull(this.notifications);
	}

	/**
	 * Pass on a grant. If grants need confirmation by replicas, the waiter asks again,
	 * and the answer is confirmed like all answers. Called on any thread.
	 */
	public void granted(Resource resource, String token, long fence, long ttlMillis) {
		if (ttlMillis > 0 && this.options.replicas() != null) {
			notifications().grantedUnconfirmed(resource, token, fence);
		}
		else {
			notifications().granted(resource, token, fence, ttlMillis);
		}
	}

	/** Process a message. Called on any thread. */
	void onText(String text) {
		guard(() -> process(text, notifications()));
	}

	private void process(String text, StoreNotifications notifications) {
		Matcher grant = GRANT.matcher(text);
		Matcher forced = ENDED.matcher(text);
		Matcher report = REPORT.matcher(text);
		if (grant.matches()) {
			Kind kind = grant.group(1).equals("S") ? Kind.SEMAPHORE : Kind.LOCK;
			granted(new Resource(kind, grant.group(5)), grant.group(4), Long.parseLong(grant.group(2)),
					Long.parseLong(grant.group(3)));
		}
		else if (forced.matches()) {
			long nextFence = Long.parseLong(forced.group(1));
			for (String token : forced.group(2).split(" ")) {
				notifications.ended(token, nextFence);
			}
		}
		else if (report.matches()) {
			notifications.reportWanted(report.group(1));
		}
		else {
			// Without the text, which may contain a token.
			logger.debug("A message on the wake-up channel was not understood");
		}
	}

	/**
	 * Stop listening, until the next start. Blocks until the subscriptions have ended.
	 */
	public void stop() {
		CompletableFuture<List<Runnable>> open = CompletableFuture.supplyAsync(this::end, this::execute);
		// If the listener is closed concurrently, the action may not run.
		BlockingWait.join(CompletableFuture.anyOf(open, this.ended));
		open.getNow(List.of()).forEach(Runnable::run);
	}

	/**
	 * End the subscriptions.
	 * @return the actions that close the connections, which the caller has to run
	 */
	private List<Runnable> end() {
		this.listening = false;
		if (this.following != null) {
			this.following.cancel(false);
			this.following = null;
		}
		List<Runnable> open = new ArrayList<>();
		open.add(this.watch.stop());
		if (this.shards != null) {
			open.addAll(this.shards.end());
		}
		return open;
	}

	@Override
	public void close() {
		this.thread.shutdownNow();
		end().forEach(Runnable::run);
	}

}
