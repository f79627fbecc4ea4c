package io.holdfast.optimistic;

import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Objects;
import java.util.stream.IntStream;

import io.holdfast.LeaseStoreException;
import io.holdfast.optimistic.OptimisticTransaction.Attempt;
import io.holdfast.redis.driver.Drivers;
import io.holdfast.redis.key.RedisKeys;
import io.holdfast.redis.script.RedisFailures;
import io.holdfast.redis.script.Script;
import org.jspecify.annotations.Nullable;

import org.springframework.dao.DataAccessException;
import org.springframework.data.redis.connection.RedisConnection;
import org.springframework.data.redis.connection.RedisConnectionFactory;
import org.springframework.data.redis.core.RedisConnectionUtils;
import org.springframework.data.redis.core.StringRedisTemplate;
import org.springframework.data.redis.core.script.RedisScript;

/**
 * The connection of one transaction, on which all its attempts watch, read and write. For
 * one thread, to which the connection is bound.
 */
final class WatchSession implements AutoCloseable {

	/** Values are compared while all others wait for Redis: not big ones. */
	private static final String MAX_COMPARED_BYTES = "65536";

	@SuppressWarnings("rawtypes")
	private static final RedisScript<List> FINGERPRINTS = RedisScript
		.of(new String(Script.FINGERPRINTS.text(), StandardCharsets.UTF_8), List.class);

	private final List<String> keys;

	private final RedisConnectionFactory connections;

	private final StringRedisTemplate template;

	private final RedisConnection connection;

	private List<?> fingerprints = List.of();

	private boolean watching;

	/** Whether it is not known what the connection watches, or has queued. */
	private boolean dubious;

	WatchSession(UnboundConnections connections, List<String> keys) {
		this.keys = keys;
		this.connections = connections;
		this.template = new StringRedisTemplate(connections);
		try {
			this.connection = RedisConnectionUtils.bindConnection(connections);
		}
		catch (RuntimeException ex) {
			throw trouble("was not begun", ex);
		}
	}

	/**
	 * Begin an attempt.
	 * @param comparable whether it should be possible to tell later which keys changed
	 * @return to note its writes
	 */
	QueuedTransaction watch(boolean comparable) {
		try {
			this.connection.watch(this.keys.stream().map(RedisKeys::bytes).toArray(byte[][]::new));
		}
		catch (RuntimeException ex) {
			throw trouble("was not begun", ex);
		}
		this.watching = true;
		this.fingerprints = (comparable && this.keys.size() > 1) ? fingerprints() : List.of();
		return new QueuedTransaction(this.template);
	}

	<T extends @Nullable Object> T read(QueuedTransaction transaction, Attempt<T> attempt) {
		try {
			return transaction.run(attempt);
		}
		catch (DataAccessException ex) {
			// If Redis is silent, it need not be waited for once more.
			this.dubious = true;
			throw ex;
		}
	}

	/**
	 * Write what was noted.
	 * @return whether it was written, rather than a key changed
	 */
	boolean commit(QueuedTransaction transaction) {
		try {
			this.connection.multi();
			// Where nothing was queued, EXEC answers Spring as if a key had changed.
			this.connection.keyCommands().exists(RedisKeys.bytes(this.keys.get(0)));
		}
		catch (RuntimeException ex) {
			throw trouble("was not run, and nothing written", ex);
		}
		transaction.queueWrites();
		try {
			boolean written = this.connection.exec() != null;
			this.watching = false;
			return written;
		}
		catch (RuntimeException ex) {
			throw failure(ex);
		}
	}

	private LeaseStoreException failure(RuntimeException error) {
		if (!Drivers.isAnswer(error)) {
			return trouble("was given to Redis, which did not answer: it is not known whether it was run", error);
		}
		if (RedisFailures.isAborted(error)) {
			return trouble("was not run, and nothing written, as Redis refused one of its commands", error);
		}
		return trouble("was run, except for a command that failed; Redis does not roll the others back", error);
	}

	private LeaseStoreException trouble(String course, RuntimeException error) {
		this.dubious = true;
		return new LeaseStoreException(String.join(", ", this.keys),
				"The optimistic transaction on " + this.keys + " " + course + ": " + RedisFailures.deepest(error),
				error);
	}

	/**
	 * Those of the keys that are not what they were when the last attempt began.
	 * @return the keys, none if it cannot be told
	 */
	List<String> changedKeys() {
		if (this.keys.size() == 1) {
			return this.keys;
		}
		List<?> before = this.fingerprints;
		List<?> after = before.isEmpty() ? before : fingerprints();
		return IntStream.range(0, after.size())
			.filter((i) -> isKnown(before.get(i)) && isKnown(after.get(i)))
			.filter((i) -> !Objects.equals(before.get(i), after.get(i)))
			.mapToObj(this.keys::get)
			.toList();
	}

	private static boolean isKnown(Object fingerprint) {
		return !"".equals(fingerprint);
	}

	private List<?> fingerprints() {
		try {
			return Objects.requireNonNullElse(this.template.execute(FINGERPRINTS, this.keys, MAX_COMPARED_BYTES),
					List.of());
		}
		catch (DataAccessException ex) {
			// No right to do so, say. It is only for the message.
			return List.of();
		}
	}

	@Override
	public void close() {
		try {
			leaveNothing();
		}
		finally {
			RedisConnectionUtils.unbindConnection(this.connections);
		}
	}

	private void leaveNothing() {
		try {
			if (this.dubious && Drivers.abandon(this.connection)) {
				return;
			}
			if (this.connection.isQueueing()) {
				this.connection.discard();
			}
			else if (this.watching) {
				this.connection.unwatch();
			}
		}
		catch (RuntimeException ex) {
			Drivers.abandon(this.connection);
		}
	}

}
