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
import io.holdfast.redis.driver.LettuceWatchConnections;
import io.holdfast.redis.key.RedisKeys;
import io.holdfast.redis.key.RedisStoreOptions.Replicas;
import io.holdfast.redis.script.RedisFailures;
import io.holdfast.redis.script.Script;
import io.lettuce.core.ScriptOutputType;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.api.async.RedisAsyncCommands;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

/**
 * Confirmations of grants by replicas. The answer to a grant is held back until enough
 * replicas have the grant, by WAIT on a separate connection, where no other command has
 * to wait. A single WAIT is under way at a time. The grants until its end share the next
 * WAIT. Thread-safe.
 *
 * <p>
 * The separate connection may lead to a server other than the server of the grants.
 * Therefore, a script first checks whether each grant exists at this server, and writes a
 * key. The write follows the grants in the stream of changes, and WAIT waits for the
 * writes of its own connection.
 */
final class ReplicaConfirmations implements AutoCloseable {

	private static final Log logger = LogFactory.getLog(ReplicaConfirmations.class);

	/** Maximum number of grants per script, after which Redis serves other clients. */
	private static final int MAX_BATCH = 500;

	/** Time for the answer after the timeout of WAIT. */
	private static final long ANSWER_MILLIS = 1000;

	private final Supplier<StatefulRedisConnection<byte[], byte[]>> connector;

	private final Replicas replicas;

	private final DaemonThreads threads;

	/** Grants for the next batches. Guarded by this. */
	private final Queue<Grant> waiting = new ArrayDeque<>();

	/**
	 * Whether a batch is under way. Only the thread that has set this flag sends. Guarded
	 * by this.
	 */
	private boolean sending;

	/** Last attempt to connect. Guarded by this. */
	private CompletableFuture<StatefulRedisConnection<byte[], byte[]>> connection = CompletableFuture
		.failedFuture(RedisFailures.closed());

	private volatile boolean closed;

	/** Whether the last WAIT found too few replicas. Confined to the sending thread. */
	private boolean missing;

	/**
	 * Create the confirmations. Connects at the first use.
	 * @param connector the source of connections, which blocks. The connections are never
	 * reopened: WAIT on a new connection would concern other writes
	 * @param replicas the required number of replicas, and the timeout
	 * @param threads the factory of the threads that connect
	 */
	ReplicaConfirmations(Supplier<StatefulRedisConnection<byte[], byte[]>> connector, Replicas replicas,
			DaemonThreads threads) {
		this.threads = threads;
		this.connector = connector;
		this.replicas = replicas;
	}

	/**
	 * Start connecting, so that the first grant does not have to wait for the connection.
	 */
	void prepare() {
		connected();
	}

	private synchronized CompletableFuture<StatefulRedisConnection<byte[], byte[]>> connected() {
		boolean usable = this.connection.handle((open, error) -> error == null && open.isOpen()).getNow(true);
		if (!usable) {
			this.connection = CompletableFuture.supplyAsync(this::connect,
					(task) -> this.threads.start(task, "holdfast-redis-connect"));
		}
		return this.connection;
	}

	private StatefulRedisConnection<byte[], byte[]> connect() {
		if (this.closed) {
			throw RedisFailures.closed();
		}
		return this.connector.get();
	}

	/**
	 * Hold a grant back until its confirmation. Other answers are passed on.
	 * @param command the ACQUIRE, which is cancelled together with the returned future
	 * @param keys the keys of the lock or semaphore
	 * @param holder the value or entry of the grant at the key
	 * @return a future of the command's answer. Fails with an
	 * {@link StoreCommandException#unconfirmed unconfirmed} failure if a grant is not
	 * confirmed in time
	 */
	CompletableFuture<AcquireReply> confirmed(CompletableFuture<AcquireReply> command, RedisKeys keys, String holder) {
		Grant grant = new Grant(command, keys, holder);
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

	/**
	 * Add a grant. Return whether the caller has to send, because no other thread does.
	 */
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
		// Fails in the future if no thread can be started: this thread has to proceed.
		CompletableFuture<?> begin = CompletableFuture.completedFuture(null);
		begin.thenCompose((none) -> connected())
			.thenCompose((open) -> confirm(open, batch))
			.whenComplete((none, error) -> {
				if (error != null) {
					fail(batch, error);
				}
				proceed();
			});
	}

	/** Take the next batch. After an empty batch, the caller sends no more. */
	private synchronized List<Grant> take() {
		List<Grant> batch = new ArrayList<>();
		Grant next = this.waiting.poll();
		while (next != null) {
			// Abandoned grants need no confirmation.
			if (!next.isDone()) {
				batch.add(next);
			}
			next = (batch.size() < MAX_BATCH) ? this.waiting.poll() : null;
		}
		this.sending = !batch.isEmpty();
		return batch;
	}

	private CompletableFuture<Void> confirm(StatefulRedisConnection<byte[], byte[]> open, List<Grant> batch) {
		long millis = this.replicas.timeout().toMillis();
		byte[][] keys = batch.stream().map((grant) -> grant.keys.all()[0]).toArray(byte[][]::new);
		byte[][] args = RedisKeys.bytes(batch.stream().flatMap(Grant::args).toArray(String[]::new));
		RedisAsyncCommands<byte[], byte[]> commands = open.async();
		// EVAL, not EVALSHA: if the script were unknown to Redis, WAIT would follow no
		// write.
		return commands.<List<Long>>eval(Script.CONFIRM.text(), ScriptOutputType.MULTI, keys, args)
			.thenCombine(commands.waitForReplication(this.replicas.min(), millis), Answer::new)
			.toCompletableFuture()
			.orTimeout(millis + ANSWER_MILLIS, TimeUnit.MILLISECONDS)
			.whenComplete((answer, error) -> {
				if (error != null || answer.stands().contains(0L)) {
					// A late answer must not be taken for the answer to the next batch.
					// If a grant is missing, this may be the connection to a former
					// master.
					LettuceWatchConnections.close(open);
				}
			})
			.thenAccept((answer) -> settle(batch, answer));
	}

	private void settle(List<Grant> batch, Answer answer) {
		boolean enough = answer.replicas() >= this.replicas.min();
		if (answer.stands().contains(1L)) {
			logChange(enough, answer.replicas());
		}
		for (int i = 0; i < batch.size(); i++) {
			Grant grant = batch.get(i);
			if (answer.stands().get(i) == 0) {
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
	private void logChange(boolean enough, long confirmed) {
		if (this.missing && enough) {
			logger.info("The replicas of Redis confirm grants again");
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
		batch.forEach((grant) -> grant.completeExceptionally(RedisFailures.of(reason, grant.keys.name())));
	}

	@Override
	public synchronized void close() {
		this.closed = true;
		this.connection.thenAccept(LettuceWatchConnections::close);
	}

	/**
	 * Answer of Redis.
	 *
	 * @param stands for each grant, whether the grant exists (0 or 1)
	 * @param replicas the number of replicas that have the grants
	 */
	private record Answer(List<Long> stands, long replicas) {
	}

	/**
	 * Return the command whose answer is held back, or the given future otherwise.
	 */
	static CompletableFuture<?> commandOf(CompletableFuture<?> answer) {
		return (answer instanceof Grant grant) ? grant.command : answer;
	}

	/** Held-back answer to a command. */
	private static final class Grant extends CompletableFuture<AcquireReply> {

		private final CompletableFuture<AcquireReply> command;

		private final RedisKeys keys;

		private final String holder;

		private @Nullable Granted reply;

		Grant(CompletableFuture<AcquireReply> command, RedisKeys keys, String holder) {
			this.command = command;
			this.keys = keys;
			this.holder = holder;
		}

		Stream<String> args() {
			long lease = (this.reply != null) ? this.reply.ttlMillis() : 0;
			return Stream.of(this.holder, Long.toString(lease));
		}

		@Override
		public boolean cancel(boolean mayInterruptIfRunning) {
			// Before the future ends, because its dependents may send the next command.
			this.command.cancel(mayInterruptIfRunning);
			return super.cancel(mayInterruptIfRunning);
		}

	}

}
