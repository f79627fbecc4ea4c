package io.holdfast.redis.driver;

import java.util.Deque;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentLinkedDeque;

import io.holdfast.async.DaemonThreads;
import io.lettuce.core.RedisChannelHandler;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisConnectionStateListener;
import io.lettuce.core.api.StatefulConnection;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.codec.ByteArrayCodec;

import org.springframework.data.redis.connection.RedisConnection;
import org.springframework.data.redis.connection.lettuce.LettuceConnection;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionProvider;

/**
 * Lettuce's connections to watch keys on, one per session, and a few idle ones for the
 * next. Thread-safe.
 *
 * <p>
 * Those of Spring's factory would not do. They watch on one connection and read on the
 * shared one, which may be another server's after a fail-over, or a replica's. And when a
 * connection breaks, Lettuce opens it again and goes on with its commands: MULTI and EXEC
 * would succeed where nothing is watched any more. Here a broken connection stays broken.
 */
public final class LettuceWatchConnections {

	/** As many as a pool of connections keeps by default. */
	private static final int MAX_IDLE = 8;

	/** Connections that idle are cut sooner or later, not always so that one sees it. */
	private static final long MAX_IDLE_NANOS = 10_000_000_000L;

	private static final String CURE = "give OptimisticTransactions a connection factory of their own, for the master";

	private static final RedisConnectionStateListener CLOSE_WHEN_BROKEN = new RedisConnectionStateListener() {

		@Override
		public void onRedisDisconnected(RedisChannelHandler<?, ?> connection) {
			LettuceWatchConnections.close(connection);
		}

	};

	private final LettuceConnectionFactory factory;

	private final DaemonThreads threads;

	private final Deque<Idle> idle = new ConcurrentLinkedDeque<>();

	/**
	 * Create them. Nothing is connected before it is used.
	 * @param factory tells where Redis is; when it is closed, so are these
	 * @param threads makes the threads that connect
	 */
	LettuceWatchConnections(LettuceConnectionFactory factory, DaemonThreads threads) {
		this.factory = factory;
		this.threads = threads;
	}

	/** Return connections for one session, each opened by its first command. */
	SessionConnections session() {
		return new Session();
	}

	private CompletableFuture<StatefulConnection<?, ?>> open() {
		for (Idle last = this.idle.poll(); last != null; last = this.idle.poll()) {
			if (last.isUsable()) {
				return CompletableFuture.completedFuture(last.connection());
			}
			close(last.connection());
		}
		// Not on this thread: if it was interrupted, Lettuce would leave an open
		// connection without an owner.
		return CompletableFuture.supplyAsync(() -> connect(this.factory, CURE),
				(task) -> this.threads.start(task, "holdfast-redis-connect"));
	}

	private void keep(StatefulConnection<?, ?> connection) {
		if (connection.isOpen() && this.idle.size() < MAX_IDLE) {
			this.idle.push(new Idle(connection, System.nanoTime()));
		}
		else {
			close(connection);
		}
	}

	/**
	 * Open a connection that is closed when it breaks, instead of being opened again.
	 * @param cure the cure where the factory knows several servers, and no master
	 */
	public static StatefulRedisConnection<byte[], byte[]> connect(LettuceConnectionFactory factory, String cure) {
		RedisClient client = (RedisClient) factory.getRequiredNativeClient();
		StatefulRedisConnection<byte[], byte[]> connection;
		try {
			connection = client.connect(ByteArrayCodec.INSTANCE);
		}
		catch (IllegalStateException ex) {
			throw new IllegalStateException(
					"Lettuce has no address of the master. With a static master/replica configuration " + cure);
		}
		connection.addListener(CLOSE_WHEN_BROKEN);
		return connection;
	}

	/** Close a connection. */
	public static void close(StatefulConnection<?, ?> connection) {
		close((RedisChannelHandler<?, ?>) connection);
	}

	/** Lettuce warns of connections that are closed twice. */
	private static void close(RedisChannelHandler<?, ?> connection) {
		if (!connection.isClosed()) {
			connection.closeAsync();
		}
	}

	private record Idle(StatefulConnection<?, ?> connection, long since) {

		boolean isUsable() {
			return this.connection.isOpen() && System.nanoTime() - this.since < MAX_IDLE_NANOS;
		}

	}

	/**
	 * Opens the connection of a session, or takes it from the idle ones.
	 */
	private final class Session extends SessionConnections implements LettuceConnectionProvider {

		private Session() {
			super(LettuceWatchConnections.this.factory);
		}

		@Override
		public RedisConnection getConnection() {
			LettuceConnectionFactory factory = LettuceWatchConnections.this.factory;
			return new LettuceConnection(null, this, factory.getTimeout(), factory.getDatabase());
		}

		@Override
		public <T extends StatefulConnection<?, ?>> CompletionStage<T> getConnectionAsync(Class<T> type) {
			return open().thenApply(type::cast);
		}

		@Override
		public CompletableFuture<Void> releaseAsync(StatefulConnection<?, ?> connection) {
			if (isEnded()) {
				keep(connection);
			}
			else {
				close(connection);
			}
			return CompletableFuture.completedFuture(null);
		}

	}

}
