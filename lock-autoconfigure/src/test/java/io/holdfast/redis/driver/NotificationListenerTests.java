package io.holdfast.redis.driver;

import java.util.concurrent.CompletableFuture;

import io.holdfast.async.DaemonThreads;
import io.holdfast.engine.store.StoreNotifications;
import io.holdfast.redis.key.TestOptions;
import io.holdfast.testing.Slow;
import io.lettuce.core.pubsub.StatefulRedisPubSubConnection;
import io.lettuce.core.pubsub.StatefulRedisPubSubConnectionImpl;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;
import static org.mockito.Mockito.mock;
import static org.mockito.Mockito.verify;

/**
 * Closing a listener while it connects or stops.
 */
@Slow
class NotificationListenerTests {

	private static final long PATIENCE_MILLIS = 10_000;

	private final StatefulRedisPubSubConnectionImpl<byte[], byte[]> connection = mock();

	private final CompletableFuture<Boolean> connecting = new CompletableFuture<>();

	private final CompletableFuture<Boolean> connected = new CompletableFuture<>();

	private final NotificationListener listener = new NotificationListener(this::connect,
			new ScriptExecutor(mock(LettuceConnectionFactory.class), () -> {
			}, new DaemonThreads()), TestOptions.defaults(), null, NotificationListener.PING_MILLIS);

	private StatefulRedisPubSubConnection<byte[], byte[]> connect() {
		this.connecting.complete(true);
		this.connected.join();
		return this.connection;
	}

	private void startConnecting() {
		this.listener.start("0123456789abcdef0123456789abcdef", mock(StoreNotifications.class));
		this.connecting.join();
	}

	@Test
	@DisplayName("A connection that is being opened is closed before the listener is")
	void connectionIsClosed() throws Exception {
		startConnecting();
		Thread closer = new Thread(this.listener::close);
		closer.start();
		await().until(() -> isWaiting(closer) || !closer.isAlive());
		this.connected.complete(true);
		closer.join();
		verify(this.connection).closeAsync();
		assertThat(this.listener.isListening()).isFalse();
	}

	@Test
	@DisplayName("A stop ends when the listener is closed before the stop runs on its thread")
	void stopEnds() throws Exception {
		CompletableFuture<Boolean> busy = new CompletableFuture<>();
		CompletableFuture<Boolean> done = new CompletableFuture<>();
		this.listener.execute(() -> {
			busy.complete(true);
			done.join();
		});
		busy.join();
		Thread stopper = new Thread(this.listener::stop);
		stopper.setDaemon(true);
		stopper.start();
		await().until(() -> isWaiting(stopper));
		this.listener.close();
		done.complete(true);
		stopper.join(PATIENCE_MILLIS);
		assertThat(stopper.isAlive()).isFalse();
	}

	private static boolean isWaiting(Thread thread) {
		return thread.getState() == Thread.State.TIMED_WAITING;
	}

}
