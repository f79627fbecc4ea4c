package io.holdfast.redis;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;

import io.holdfast.redis.driver.LettuceWatchConnections;
import io.holdfast.redis.script.Script;
import io.lettuce.core.ScriptOutputType;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.api.async.RedisAsyncCommands;

import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;

/** Lettuce connection for confirmations. */
final class LettuceConfirmingConnection implements ReplicaConfirmations.Connection {

	private final StatefulRedisConnection<byte[], byte[]> connection;

	/**
	 * Connect to the master. Blocks.
	 * @param factory the factory of the store's connections, whose end closes this
	 * connection
	 */
	LettuceConfirmingConnection(LettuceConnectionFactory factory) {
		this.connection = LettuceWatchConnections.connect(factory, "holdfast.redis.min-replicas cannot be used");
		// WAIT has its own timeout, which may be longer than the timeout of commands.
		this.connection.setTimeout(Duration.ZERO);
	}

	@Override
	public boolean isOpen() {
		return this.connection.isOpen();
	}

	@Override
	public CompletableFuture<ReplicaConfirmations.Answer> confirm(byte[][] keys, byte[][] args, int replicas,
			long millis) {
		try {
			RedisAsyncCommands<byte[], byte[]> commands = this.connection.async();
			// EVAL, not EVALSHA: if the script were unknown to Redis, WAIT would follow
			// no write.
			CompletableFuture<List<Long>> stands = commands
				.<List<Long>>eval(Script.CONFIRM.text(), ScriptOutputType.MULTI, keys, args)
				.toCompletableFuture();
			CompletableFuture<Long> confirmed = commands.waitForReplication(replicas, millis).toCompletableFuture();
			return stands.thenCombine(confirmed, (flags,
					count) -> new ReplicaConfirmations.Answer(flags.stream().map((flag) -> flag == 1).toList(), count));
		}
		catch (RuntimeException ex) {
			return CompletableFuture.failedFuture(ex);
		}
	}

	@Override
	public void close() {
		LettuceWatchConnections.close(this.connection);
	}

}
