package io.holdfast.redis;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Supplier;
import java.util.stream.Stream;

import io.holdfast.async.DaemonThreads;
import io.holdfast.engine.store.LeaseStore.AcquireReply;
import io.holdfast.engine.store.LeaseStore.AcquireReply.Granted;
import io.holdfast.engine.store.StoreCommandException;
import io.holdfast.redis.key.RedisKeys;
import io.holdfast.redis.key.RedisStoreOptions.Replicas;
import io.holdfast.redis.script.RedisFailures;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

/**
 * Holds grants back until enough replicas have them, by WAIT on a connection of its own,
 * which keeps no other command waiting. One WAIT is under way at a time; all that is
 * granted until its end shares the next. Thread-safe.
 *
 * <p>
 * The connection is not that of the grants, and may by then lead to another server. So it
 * first looks whether each grant stands where it asks, and writes something there: the
 * write comes after the grants, and WAIT on the same connection waits for it.
 */
final class ReplicaConfirmations implements AutoCloseable {

	private static final Log logger = LogFactory.getLog(ReplicaConfirmations.class);

	/** So many grants by one script; then Redis serves others. */
	private static final int MAX_BATCH = 500;

	/** Time for Redis to answer when the time of WAIT is over. */
	private static final long ANSWER_MILLIS = 1000;

	private final Supplier<Connection> connector;

	private final Replicas replicas;

	private final DaemonThreads threads;

	/** Guarded by this. */
	private final Queue<Grant> waiting = new ArrayDeque<>();

	/**
	 * Whether a batch is under way: only the thread that has set it sends. Guarded by
	 * this.
	 */
	private boolean sending;

	/** The last attempt to connect. Guarded by this. */
	private CompletableFuture<Connection> connection = CompletableFuture.failedFuture(RedisFailures.closed());

	private volatile boolean closed;

	/** Whether the last WAIT was in vain. Confined to the sender. */
	private boolean missing;

	/**
	 * Create them. Nothing is connected before it is needed.
	 * @param connector opens a connection; blocks
	 * @param replicas how many replicas are to confirm, in which time
	 * @param threads makes the threads that connect
	 */
	public ReplicaConfirmations(Supplier<Connection> connector, Replicas replicas, DaemonThreads threads) {
		this.threads = threads;
		this.connector = connector;
		this.replicas = replicas;
	}

	/**
	 * Begin to connect, so that the first grant need not wait for that.
	 */
	public void prepare() {
		connected();
	}

	private synchronized CompletableFuture<Connection> connected() {
		boolean usable = this.connection.handle((open, error) -> error == null && open.isOpen()).getNow(true);
		if (!usable) {
			this.connection = CompletableFuture.supplyAsync(this::connect,
					(task) -> this.threads.start(task, "holdfast-redis-connect"));
		}
		return this.connection;
	}

	private Connection connect() {
		if (this.closed) {
			throw RedisFailures.closed();
		}
		return this.connector.get();
	}

	/**
	 * Hold a command's answer back if it is a grant, until that is confirmed.
	 * @param command the command that asks; given up when the result is
	 * @param key where it is kept
	 * @param holder the value there if it was granted
	 * @return the command's answer; fails with an
	 * {@link StoreCommandException#unconfirmed unconfirmed} failure if it was granted and
	 * is not confirmed in time
	 */
	public CompletableFuture<AcquireReply> confirmed(CompletableFuture<AcquireReply> command, String key,
			String holder) {
		Grant grant = new Grant(command, key, holder);
		command.whenComplete((reply, error) -> {
			if (error != null) {
				grant.completeExceptionally(error);
			}
			else if (reply instanceof Granted granted) {
				grant.reply = granted;
				if (add(grant)) {
					proceed();
				}
			}
			else {
				grant.complete(reply);
			}
		});
		return grant;
	}

	/** Return whether the caller is to send, as no other thread does. */
	private synchronized boolean add(Grant grant) {
		this.waiting.add(grant);
		boolean begun = !this.sending;
		this.sending = true;
		return begun;
	}

	private void proceed() {
		List<Grant> batch = take();
		if (batch.isEmpty()) {
			return;
		}
		CompletableFuture.completedFuture(batch)
			.thenCompose((grants) -> connected())
			.thenCompose((open) -> confirm(open, batch))
			.thenAccept((answer) -> settle(batch, answer))
			.whenComplete((none, error) -> {
				if (error != null) {
					fail(batch, error);
				}
				proceed();
			});
	}

	/** Take the next batch; with an empty one, the caller sends no more. */
	private synchronized List<Grant> take() {
		List<Grant> batch = new ArrayList<>();
		Grant next = this.waiting.poll();
		while (next != null) {
			// Abandoned ones need not be confirmed.
			if (!next.isDone()) {
				batch.add(next);
			}
			next = (batch.size() < MAX_BATCH) ? this.waiting.poll() : null;
		}
		this.sending = !batch.isEmpty();
		return batch;
	}

	private CompletableFuture<Answer> confirm(Connection open, List<Grant> batch) {
		long millis = this.replicas.timeout().toMillis();
		byte[][] keys = RedisKeys.bytes(batch.stream().map((grant) -> grant.key).toArray(String[]::new));
		byte[][] args = RedisKeys.bytes(batch.stream().flatMap(Grant::args).toArray(String[]::new));
		return open.confirm(keys, args, this.replicas.min(), millis)
			.orTimeout(millis + ANSWER_MILLIS, TimeUnit.MILLISECONDS)
			.whenComplete((answer, error) -> {
				if (error != null || answer.stands().contains(false)) {
					// Late answers on it are not for the next batch; or it leads to a
					// former master.
					open.close();
				}
			});
	}

	private void settle(List<Grant> batch, Answer answer) {
		boolean enough = answer.replicas() >= this.replicas.min();
		if (answer.stands().contains(true)) {
			tell(enough, answer.replicas());
		}
		for (int i = 0; i < batch.size(); i++) {
			Grant grant = batch.get(i);
			if (!answer.stands().get(i)) {
				grant.completeExceptionally(StoreCommandException
					.unconfirmed("Redis granted it, but it was gone again before"
							+ " a replica could confirm it: another server has taken over, or it was released by force"));
			}
			else if (enough) {
				grant.complete(grant.reply);
			}
			else {
				grant.completeExceptionally(
						StoreCommandException.unconfirmed("Redis granted it, but " + shortage(answer.replicas())));
			}
		}
	}

	private String shortage(long confirmed) {
		return "within " + this.replicas.timeout().toMillis() + " ms (holdfast.redis.replica-timeout) only " + confirmed
				+ " of its replicas confirmed that, and holdfast.redis.min-replicas is " + this.replicas.min();
	}

	/** Log once when confirmations are missing, and once when they are back. */
	private void tell(boolean enough, long confirmed) {
		if (this.missing && enough) {
			logger.info("The replicas of Redis confirm again what is granted");
		}
		else if (!this.missing && !enough) {
			logger.warn("Locks and permits are not acquired for lack of replicas: Redis grants them, but "
					+ shortage(confirmed) + ". Bring its replicas back");
		}
		this.missing = !enough;
	}

	private static void fail(List<Grant> batch, Throwable error) {
		Throwable reason = (error.getCause() instanceof TimeoutException) ? StoreCommandException
			.unconfirmed("Redis granted it, but did not say in time how many of its replicas have that") : error;
		batch.forEach((grant) -> grant.completeExceptionally(RedisFailures.of(reason, grant.key)));
	}

	@Override
	public synchronized void close() {
		this.closed = true;
		this.connection.thenAccept(Connection::close);
	}

	/**
	 * A connection that is not opened again when it breaks: a WAIT on another one would
	 * tell of other changes.
	 */
	public interface Connection {

		boolean isOpen();

		/** Send the script and, right behind it, WAIT. Does not block. */
		CompletableFuture<Answer> confirm(byte[][] keys, byte[][] args, int replicas, long millis);

		/** Close it; again has no effect. */
		void close();

	}

	/**
	 * The answer of Redis.
	 *
	 * @param stands whether each grant stands
	 * @param replicas how many replicas have them
	 */
	record Answer(List<Boolean> stands, long replicas) {
	}

	/** Return the command whose answer is held back, or else the given answer. */
	static CompletableFuture<?> commandOf(CompletableFuture<?> answer) {
		return (answer instanceof Grant grant) ? grant.command : answer;
	}

	/**
	 * The answer to a command, held back.
	 */
	private static final class Grant extends CompletableFuture<AcquireReply> {

		private final CompletableFuture<AcquireReply> command;

		private final String key;

		private final String holder;

		private @Nullable Granted reply;

		Grant(CompletableFuture<AcquireReply> command, String key, String holder) {
			this.command = command;
			this.key = key;
			this.holder = holder;
		}

		Stream<String> args() {
			long lease = (this.reply != null) ? this.reply.ttlMillis() : 0;
			return Stream.of(this.holder, Long.toString(lease));
		}

		@Override
		public boolean cancel(boolean mayInterruptIfRunning) {
			// First, as its users may send the next command.
			this.command.cancel(mayInterruptIfRunning);
			return super.cancel(mayInterruptIfRunning);
		}

	}

}
