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
 * Keeps an instance subscribed to its wake-up channel, also through failures of Redis,
 * and in a cluster to one more at each master that has such channels.
 *
 * <p>
 * Not built on RedisMessageListenerContainer, which would block the start until it is
 * subscribed, fails it if Redis is down, logs a stack trace at each further attempt, and
 * does not see broken connections that a {@link ChannelWatch} sees.
 */
public final class NotificationListener implements AutoCloseable {

	private static final Log logger = LogFactory.getLog(NotificationListener.class);

	/** The error of services that divide their channels among the nodes of a cluster. */
	private static final String OTHER_SLOT = "do not hash to the same slot";

	/** Kind, fence, time, token and key, which comes last since it may contain blanks. */
	private static final Pattern GRANT = Pattern.compile("([LS]) (\\d{1,18}) (\\d{1,18}) (\\S+) (.+)", Pattern.DOTALL);

	/** The next fence, and the tokens whose leases were released by force. */
	private static final Pattern ENDED = Pattern.compile("E (\\d{1,18}) (\\S.*)");

	/** The question of another instance, by the name of the answer. */
	private static final Pattern REPORT = Pattern.compile("report ([0-9a-f]{32})");

	/** The time between two pings of the own channel. */
	public static final long PING_MILLIS = 15_000;

	/** How often to look for masters that have come, gone, or have other slots. */
	private static final long FOLLOW_MILLIS = 5_000;

	final Supplier<StatefulRedisPubSubConnection<byte[], byte[]>> connector;

	final ScriptExecutor executor;

	private final RedisStoreOptions options;

	private final @Nullable ShardedChannels shards;

	final long pingMillis;

	/** All wake-up channels, in messages. */
	final String channels;

	private final DaemonThreads threads;

	/** The one thread that all state of the subscriptions belongs to. */
	private final ScheduledThreadPoolExecutor thread;

	/** Completed when the thread has ended. */
	private final CompletableFuture<@Nullable Void> ended = new CompletableFuture<>();

	private final ChannelWatch watch;

	private volatile boolean listening;

	private String channel = "";

	private volatile @Nullable StoreNotifications notifications;

	/** The next look at the masters of the cluster. */
	private @Nullable Future<?> following;

	/** The warning since notifications were received last. */
	private volatile @Nullable String trouble;

	/**
	 * Create a listener, which listens once it is started.
	 * @param connector opens the connection for the subscription; blocks
	 * @param shards the channels at the masters of a cluster
	 * @param pingMillis the time between two pings, as {@link #PING_MILLIS}
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

	/** Begin to listen, in the background, unless waiters poll. */
	public void start(String instanceId, StoreNotifications notifications) {
		this.channel = this.options.channelPrefix() + instanceId;
		this.notifications = notifications;
		if (!this.options.polling()) {
			execute(() -> this.watch.subscribe(this.channel));
		}
	}

	/** Return whether grant notifications are received, as far as is known. */
	public boolean isListening() {
		return this.listening;
	}

	/** Note that the subscription broke, before the thread gets to it. */
	void onBroken() {
		this.listening = false;
	}

	/**
	 * Return why nothing is received.
	 * @return the reason, or {@code null} if all is well, or not known to be otherwise
	 */
	public @Nullable String trouble() {
		return this.trouble;
	}

	/** Run an action in the thread, unless this is closed. */
	void execute(Runnable action) {
		later(action, 0);
	}

	/**
	 * Run an action in the thread later, unless this is closed by then, or now:
	 * {@code null}.
	 */
	@Nullable Future<?> later(Runnable action, long millis) {
		try {
			return this.thread.schedule(() -> guard(action), millis, TimeUnit.MILLISECONDS);
		}
		catch (RejectedExecutionException ex) {
			return null;
		}
	}

	/** Log an action's exception: a driver's thread, for one, must not end by it. */
	private static void guard(Runnable action) {
		try {
			action.run();
		}
		catch (RuntimeException ex) {
			logger.warn("Handling a wake-up failed", ex);
		}
	}

	/** Run a call of a driver, which may block. */
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
		// Not before, as it would have to connect to learn of the masters.
		if (bus && this.shards != null && this.following == null) {
			follow(this.shards);
		}
		boolean receivesAgain = this.listening && !before;
		// At a master: it is in doubt since its subscription broke.
		boolean missedSome = !this.listening && before && bus;
		if (receivesAgain || missedSome) {
			// Waiters ask by themselves.
			notifications().listening();
		}
	}

	private void follow(ShardedChannels shards) {
		// First, as looking may fail.
		this.following = later(() -> follow(shards), FOLLOW_MILLIS);
		shards.follow(this.channel, this);
		// A master that has gone is not waited for.
		onChange();
	}

	/** Note that a channel does not work. */
	void onTrouble(String reason) {
		String advice = reason.contains(OTHER_SLOT)
				? "Redis lets a script publish to channels in the slot of its keys only; set holdfast.wake-up.mode to"
						+ " polling: " + reason
				: reason;
		if (this.trouble == null) {
			logger.warn("Wake-ups are not received from Redis; until they are, waiters ask at intervals. " + advice);
		}
		this.trouble = advice;
	}

	private StoreNotifications notifications() {
		return Objects.requireNonNull(this.notifications);
	}

	/**
	 * Tell of a grant, on any thread. Where grants are to be confirmed, the waiter asks
	 * by itself, and the answer to that is confirmed as any other.
	 */
	public void granted(Resource resource, String token, long fence, long ttlMillis) {
		if (ttlMillis > 0 && this.options.replicas() != null) {
			notifications().grantedUnconfirmed(resource, token, fence);
		}
		else {
			notifications().granted(resource, token, fence, ttlMillis);
		}
	}

	/** Take a message, on any thread. */
	void onText(String text) {
		guard(() -> tell(text, notifications()));
	}

	private void tell(String text, StoreNotifications notifications) {
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
			// Not with its text, which may contain a token.
			logger.debug("A message on the wake-up channel was not understood");
		}
	}

	/**
	 * Listen no more, until started again. Blocks until the subscription has ended.
	 */
	public void stop() {
		CompletableFuture<List<Runnable>> open = CompletableFuture.supplyAsync(this::end, this::execute);
		// Steps that have not begun when the thread is closed are left out.
		BlockingWait.join(CompletableFuture.anyOf(open, this.ended));
		open.getNow(List.of()).forEach(Runnable::run);
	}

	/** Return the ends of the subscriptions, still to be run. */
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
