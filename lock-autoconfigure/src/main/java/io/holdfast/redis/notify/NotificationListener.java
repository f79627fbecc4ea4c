package io.holdfast.redis.notify;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Future;
import java.util.function.Supplier;

import io.holdfast.async.BlockingWait;
import io.holdfast.engine.store.StoreCommandException;
import io.holdfast.engine.store.StoreNotifications;
import io.holdfast.redis.driver.ScriptExecutor;
import io.holdfast.redis.key.RedisKeys;
import io.holdfast.redis.script.RedisFailures;
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

	private static final long PING_MILLIS = 15_000;

	/** How often to look for masters that have come, gone, or have other slots. */
	private static final long FOLLOW_MILLIS = 5_000;

	private final Supplier<StatefulRedisPubSubConnection<byte[], byte[]>> connector;

	private final ScriptExecutor executor;

	private final String channelPrefix;

	private final @Nullable ShardedChannels shards;

	private final long pingMillis;

	private final NotificationThread thread;

	private final ChannelWatch watch;

	private volatile boolean listening;

	private String channel = "";

	private @Nullable StoreNotifications notifications;

	/** The next look at the masters of the cluster. */
	private @Nullable Future<?> following;

	/** Whether a warning was logged since notifications were received last. */
	private boolean warned;

	private volatile @Nullable String trouble;

	/**
	 * Create a listener, which listens once it is started.
	 * @param connector opens the connection for the subscription; blocks
	 * @param clusterKey in a cluster a key that is not used, of another slot than the
	 * channel's
	 * @param shards the channels at the masters of a cluster
	 */
	public NotificationListener(Supplier<StatefulRedisPubSubConnection<byte[], byte[]>> connector,
			ScriptExecutor executor, String channelPrefix, @Nullable String clusterKey,
			@Nullable ShardedChannels shards) {
		this(connector, executor, channelPrefix, clusterKey, shards, PING_MILLIS);
	}

	/** Create a listener, which listens once it is started. */
	public NotificationListener(Supplier<StatefulRedisPubSubConnection<byte[], byte[]>> connector,
			ScriptExecutor executor, String channelPrefix, @Nullable String clusterKey,
			@Nullable ShardedChannels shards, long pingMillis) {
		this.pingMillis = pingMillis;
		this.thread = new NotificationThread(executor.threads());
		this.connector = connector;
		this.executor = executor;
		this.channelPrefix = channelPrefix;
		this.shards = shards;
		this.watch = (clusterKey != null) ? new ChannelWatch(this, false, RedisKeys.bytes(clusterKey))
				: new ChannelWatch(this, false);
	}

	/** Begin to listen, in the background. */
	public void start(String instanceId, StoreNotifications notifications) {
		this.channel = this.channelPrefix + instanceId;
		this.notifications = notifications;
		this.thread.execute(() -> this.watch.subscribe(this.channel));
	}

	/** Return whether grant notifications are received, as far as is known. */
	public boolean isListening() {
		// The first one is told by the driver before the thread gets to it.
		return this.listening && this.watch.isListening();
	}

	/**
	 * Return why nothing is received.
	 * @return the reason, or {@code null} if all is well, or not known to be otherwise
	 */
	public @Nullable String trouble() {
		return this.trouble;
	}

	Supplier<StatefulRedisPubSubConnection<byte[], byte[]>> connector() {
		return this.connector;
	}

	ScriptExecutor executor() {
		return this.executor;
	}

	NotificationThread thread() {
		return this.thread;
	}

	long pingMillis() {
		return this.pingMillis;
	}

	/** Return what an error means that concerns a channel. */
	StoreCommandException failure(Throwable error) {
		return RedisFailures.of(error, this.channelPrefix + "*");
	}

	/** Note that the state of a channel has changed. */
	void onChange() {
		boolean before = this.listening;
		boolean bus = this.watch.isListening();
		this.listening = bus && (this.shards == null || !this.shards.isInDoubt());
		if (this.listening) {
			this.trouble = null;
			if (this.warned) {
				this.warned = false;
				logger.info("Wake-ups are received from Redis again");
			}
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
		this.following = this.thread.later(() -> follow(shards), FOLLOW_MILLIS);
		shards.follow(this.channel, this);
		// A master that has gone is not waited for.
		onChange();
	}

	/** Note that a channel does not work, and perhaps why. */
	void onTrouble(@Nullable String reason) {
		String advice = (reason != null && reason.contains(OTHER_SLOT))
				? "Redis lets a script publish to channels in the slot of its keys only; set holdfast.wake-up.mode to"
						+ " polling: " + reason
				: reason;
		this.trouble = advice;
		if (!this.warned) {
			this.warned = true;
			logger.warn("Wake-ups are not received from Redis; until they are, waiters ask at intervals. " + advice);
		}
	}

	/** Take a message, on any thread. */
	void onText(String text) {
		if (!NotificationText.tell(text, notifications())) {
			// Not with its text, which may contain a token.
			logger.debug("A message on the wake-up channel was not understood");
		}
	}

	/**
	 * Listen no more, until started again. Blocks until the subscription has ended.
	 */
	public void stop() {
		CompletableFuture<List<NotificationSubscription>> ended = CompletableFuture.supplyAsync(this::end,
				this.thread::execute);
		// Steps that have not begun when the thread is closed are left out.
		BlockingWait.join(CompletableFuture.anyOf(ended, this.thread.awaitEnd()));
		close(ended.getNow(List.of()));
	}

	private List<NotificationSubscription> end() {
		this.listening = false;
		if (this.following != null) {
			this.following.cancel(false);
			this.following = null;
		}
		List<NotificationSubscription> open = new ArrayList<>();
		NotificationSubscription last = this.watch.stop();
		if (last != null) {
			open.add(last);
		}
		if (this.shards != null) {
			open.addAll(this.shards.end());
		}
		return open;
	}

	private void close(List<NotificationSubscription> open) {
		open.forEach(NotificationSubscription::close);
		if (this.shards != null) {
			this.shards.stop();
		}
	}

	@Override
	public void close() {
		this.thread.close();
		close(end());
	}

	private StoreNotifications notifications() {
		StoreNotifications target = this.notifications;
		if (target == null) {
			throw new IllegalStateException("Not started");
		}
		return target;
	}

}
