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
 * Lettuce connections for sessions that watch keys: one connection per session, and some
 * idle connections for the next sessions. Thread-safe.
 *
 * <p>
 * Connections of Spring's factory would lose updates. Their sessions watch on a separate
 * connection, but read on the shared connection, which may lead to another server after a
 * fail-over, or to a replica. In addition, Lettuce reopens a broken connection and
 * repeats its commands: MULTI and EXEC would succeed without watched keys, and writes
 * after a lost MULTI would run alone. A broken connection of this class stays broken.
 * Without a pool, Spring's factory would also connect for each session.
 */
public final class LettuceWatchConnections {

	/** Maximum number of idle connections: the default of connection pools. */
	private static final int MAX_IDLE = 8;

	/**
	 * Maximum idle time: shorter than the time after which firewalls cut connections
	 * silently.
	 */
	private static final long MAX_IDLE_NANOS = 10_000_000_000L;

	private static final String CURE = "give OptimisticTransactions a connection factory of their own, for the master";

	private final LettuceConnectionFactory factory;

	private final DaemonThreads threads;

	private final Deque<Idle> idle = new ConcurrentLinkedDeque<>();

	/**
	 * Create the connections. The first session connects.
	 * @param factory the factory of the application, whose end closes the connections
	 * @param threads the factory of the threads that connect
	 */
	LettuceWatchConnections(LettuceConnectionFactory factory, DaemonThreads threads) {
		this.factory = factory;
		this.threads = threads;
	}

	/** Return the connections of a session, each opened by its first command. */
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
		// Not on this thread: if the thread were interrupted, Lettuce would leave an open
		// connection without an owner.
		return CompletableFuture.supplyAsync(() -> connect(this.factory, CURE),
				(task) -> this.threads.start(task, "holdfast-redis-connect"));
	}

	private CompletableFuture<Void> keep(StatefulConnection<?, ?> connection) {
		if (!connection.isOpen() || this.idle.size() >= MAX_IDLE) {
			return close(connection);
		}
		this.idle.push(new Idle(connection, System.nanoTime()));
		return CompletableFuture.completedFuture(null);
	}

	/**
	 * Open a connection without reconnects: a broken connection is closed.
	 * @param cure the remedy if the factory has several servers and no master
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
		connection.addListener(new RedisConnectionStateListener() {

			@Override
			public void onRedisDisconnected(RedisChannelHandler<?, ?> broken) {
				close(connection);
			}

		});
		return connection;
	}

	/** Close an open connection: Lettuce warns of a second close. */
	public static CompletableFuture<Void> close(StatefulConnection<?, ?> connection) {
		return ((RedisChannelHandler<?, ?>) connection).isClosed() ? CompletableFuture.completedFuture(null)
				: connection.closeAsync();
	}

	private record Idle(StatefulConnection<?, ?> connection, long since) {

		boolean isUsable() {
			return this.connection.isOpen() && System.nanoTime() - this.since < MAX_IDLE_NANOS;
		}

	}

	/** Connections of a session. Opens connections, or takes idle connections. */
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
			return this.ended ? keep(connection) : close(connection);
		}

	}

}
