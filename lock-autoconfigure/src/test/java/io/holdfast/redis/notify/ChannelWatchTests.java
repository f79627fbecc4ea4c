package io.holdfast.redis.notify;

import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

import io.holdfast.async.DaemonThreads;
import io.holdfast.engine.store.StoreCommandException;
import io.holdfast.redis.driver.ScriptCall;
import io.holdfast.redis.script.RedisFailures;
import io.lettuce.core.pubsub.StatefulRedisPubSubConnection;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * What a watch does when something fails that never should.
 */
class ChannelWatchTests {

	private final NotificationThread thread = new NotificationThread(new DaemonThreads());

	private final BlockingQueue<NotificationSubscription> attempts = new LinkedBlockingQueue<>();

	private volatile boolean failing;

	private final ChannelWatch watch = new ChannelWatch(this.thread, new FailingChannel(), 15_000);

	@AfterEach
	void close() {
		this.thread.close();
	}

	private NotificationSubscription nextAttempt() throws InterruptedException {
		NotificationSubscription next = this.attempts.poll(20, TimeUnit.SECONDS);
		assertThat(next).as("an attempt to subscribe").isNotNull();
		return next;
	}

	@Test
	@DisplayName("an error while the loss of a subscription is told does not end the attempts to subscribe")
	void triesAgainAfterAnError() throws InterruptedException {
		this.thread.execute(this.watch::subscribe);
		NotificationSubscription first = nextAttempt();
		this.failing = true;
		this.watch.onLost(first, null);
		nextAttempt();
	}

	private final class FailingChannel implements ChannelWatch.Channel {

		@Override
		public NotificationSubscription subscription(NotificationSubscription.SubscriptionOwner owner) {
			CompletableFuture<StatefulRedisPubSubConnection<byte[], byte[]>> never = new CompletableFuture<>();
			NotificationSubscription next = new NotificationSubscription(never::join, new byte[0], false, owner);
			ChannelWatchTests.this.attempts.add(next);
			return next;
		}

		@Override
		public ScriptCall<Long> ping(String message) {
			throw new UnsupportedOperationException();
		}

		@Override
		public boolean countsReceivers() {
			return true;
		}

		@Override
		public StoreCommandException failure(Throwable error) {
			return RedisFailures.closed();
		}

		@Override
		public long refusalMillis() {
			return 0;
		}

		@Override
		public void onChange() {
			if (ChannelWatchTests.this.failing) {
				throw new StackOverflowError();
			}
		}

		@Override
		public void onTrouble(@Nullable String reason, boolean refused) {
		}

		@Override
		public void onText(String text) {
		}

	}

}
