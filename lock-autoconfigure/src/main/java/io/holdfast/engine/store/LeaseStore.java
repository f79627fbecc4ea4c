package io.holdfast.engine.store;

import java.util.List;
import java.util.concurrent.CompletableFuture;

import org.jspecify.annotations.Nullable;

/**
 * The place where leases are kept: the few commands of the protocol, each atomic and
 * idempotent per token. They are described in {@code docs/internals/protocol.md}. One of
 * the seven concepts of the engine. It owns the connections, and knows nothing of
 * callers, threads or queues in this instance. The engine calls it; stores in Redis and
 * in memory implement it.
 *
 * <p>
 * No method blocks. A future fails with {@link StoreCommandException} if the store
 * refused the command or could not be reached; it may stay open for as long as the store
 * is silent. Cancelling a future gives its command up: it is not sent if it was not sent
 * yet, and may run all the same otherwise. Replies may be completed on any thread, which
 * must not be blocked.
 */
public interface LeaseStore extends AutoCloseable {

	/**
	 * Begin to receive wake-ups for tokens of an instance, and to keep receiving them if
	 * the connection breaks. Called before any command, and again after {@link #stop()}.
	 * @param instanceId the first part of all its tokens, 32 hexadecimal digits
	 * @param notifications where they go
	 */
	void start(String instanceId, StoreNotifications notifications);

	/**
	 * Receive no more wake-ups, and close the subscription. May block for as long as the
	 * store takes. Commands are still possible.
	 */
	void stop();

	/**
	 * Set the context class loader of the threads of this store, if it has any.
	 * @param classLoader that of the application, or {@code null} if it has none
	 */
	default void setClassLoader(@Nullable ClassLoader classLoader) {
	}

	/**
	 * Return where the leases are kept, in words.
	 * @return the place, such as {@code Redis at localhost:6379}
	 */
	default String place() {
		return toString();
	}

	/**
	 * Return whether wake-ups reach this instance now, as far as is known. If not,
	 * waiters poll.
	 * @return whether wake-ups are received
	 */
	boolean isListening();

	/**
	 * Return whether wake-ups are not meant to reach this instance, because it is
	 * configured so.
	 * @return whether waiters ask at intervals at all times
	 */
	default boolean isPolling() {
		return false;
	}

	/**
	 * Return why wake-ups do not reach this instance now.
	 * @return the reason, or {@code null} if they do or it is not known
	 */
	default @Nullable String whyNotListening() {
		return null;
	}

	/**
	 * Look for dangers to leases here: the settings of the store, and the rights of this
	 * application. Changes nothing.
	 * @return the findings; fails if the store cannot be asked now
	 */
	default CompletableFuture<List<StoreDiagnostic>> examine() {
		return CompletableFuture.completedFuture(List.of());
	}

	/**
	 * Send a write that changes nothing.
	 * @return fails as a request for a lease does where the store does not write now
	 */
	default CompletableFuture<@Nullable Void> tryWrite() {
		return CompletableFuture.completedFuture(null);
	}

	/** Return how often this instance had to connect again. */
	long reconnects();

	/**
	 * Return whether a command without an answer may run behind newer ones. Between two
	 * reconnects commands run in the order in which they were given.
	 * @param since the count of {@link #reconnects} before it was sent
	 */
	default boolean mayRunLate(long since) {
		return reconnects() != since;
	}

	/**
	 * Return whether a command that has failed, or was given up, may run or have run.
	 * @param command the future that this store has returned for it; of all other
	 * futures, it may
	 */
	default boolean mayRun(CompletableFuture<?> command) {
		return true;
	}

	/**
	 * Return for how long the connection has been lost. Until there is another one,
	 * commands are kept for it, and so do not fail by themselves. Does not block.
	 * @return the time in nanoseconds; 0 if it is not lost, or that is not known
	 */
	default long unreachedNanos() {
		return 0;
	}

	/**
	 * Return the time after which ACQUIRE without an answer counts as failed. The store
	 * itself need not end it.
	 * @return the time in nanoseconds
	 */
	default long answerNanos() {
		return Long.MAX_VALUE;
	}

	/**
	 * Grant the request if the resource is free and no waiter is before this token. A
	 * free lock, or free permits, go to the waiters before it.
	 * @param resource the resource
	 * @param command the token, and its request
	 * @param enqueue whether to join the queue if nothing is granted now
	 * @return the reply
	 */
	CompletableFuture<AcquireReply> acquire(Resource resource, AcquireCommand command, boolean enqueue);

	/**
	 * End a token, whether it holds or waits: the last command that names it. Its lock or
	 * permits pass to the waiters.
	 * @param resource the resource
	 * @param ended the token, and its last request
	 * @param next the token that follows, or {@code null}: at the place in the queue of a
	 * token that waited for a lock exclusively as it does, else behind all waiters that
	 * are there already. Not brought in if the ended token neither held nor waited
	 * @return the reply
	 */
	CompletableFuture<ReleaseReply> release(Resource resource, AcquireCommand ended, @Nullable AcquireCommand next);

	/**
	 * End the leases of tokens of any instance, and tell their instances, see
	 * {@link StoreNotifications#ended}. The leases pass to the waiters. A repeated
	 * command ends nothing more, but a token that waits goes on waiting.
	 * @param resource the resource
	 * @param tokens the tokens
	 * @return for each, in order, whether it held anything
	 */
	CompletableFuture<List<Boolean>> force(Resource resource, List<String> tokens);

	/**
	 * Return the part of the store in which something is kept, and how. A failure in one
	 * part, or a slow one, must not matter to the others; so leases that are renewed
	 * together must be in one part.
	 * @param resource the resource
	 * @return the part's number
	 */
	int partOf(Resource resource);

	/**
	 * Lengthen leases, never shorten them.
	 * @param renewals the leases to renew, all in one part
	 * @return for each, in order, whether its token still holds
	 */
	CompletableFuture<List<Boolean>> renew(List<Renewal> renewals);

	/**
	 * Have a lease end at a given time by itself, sooner or later than it would: its
	 * holder is through with it, but others are to be kept out until then.
	 * @param lease the lease, and how long it is to last from now
	 * @return whether its token held it, without a next
	 */
	CompletableFuture<ReleaseReply> retain(Renewal lease);

	/**
	 * Look at a lock, without changing anything.
	 * @param resource the lock
	 * @param maxReaders how many readers to name at most
	 * @return its state
	 */
	CompletableFuture<KeyState> inspect(Resource resource, int maxReaders);

	/**
	 * Look at a semaphore, without changing anything.
	 * @param resource the semaphore
	 * @param maxHolders how many holders to name at most
	 * @return its state
	 */
	CompletableFuture<PermitState> inspectPermits(Resource resource, int maxHolders);

	/**
	 * Set or remove the limit of a semaphore that comes before those of requests. Waiters
	 * that fit are granted their permits.
	 * @param resource the semaphore
	 * @param limit the limit, or {@code null} to remove it
	 * @return whether there was one before
	 */
	CompletableFuture<Boolean> limit(Resource resource, @Nullable Integer limit);

	/**
	 * Return the view of operators: the holds and waits of all instances.
	 * @return the fleet's part of this store
	 */
	FleetStore fleet();

	/**
	 * Return the view of operators: which instances there are.
	 * @return where instances say that they are there
	 */
	InstanceStore instances();

	/**
	 * Stop receiving wake-ups and close the connections of this store. Commands fail
	 * afterwards.
	 */
	@Override
	void close();

	/**
	 * A command that acquires permits for a token. A command that ends a token names it
	 * by the same terms.
	 *
	 * @param token the token
	 * @param permits how many permits; of a lock 1 to read, {@link Resource#ALL} for an
	 * exclusive one; 0 where a token ends whose number is not known
	 * @param limit how many permits there are in all, unless an operator has set that; 0
	 * if nothing is to be granted without an operator's limit
	 * @param fair whether the waiters before it come first
	 * @param leaseMillis how long the lease is to last
	 * @param claimMillis how long a later hand-off is to last at first
	 */
	record AcquireCommand(String token, int permits, int limit, boolean fair, long leaseMillis, long claimMillis) {

		/**
		 * Return the command for the end of a token of which nothing else is known.
		 * @param token the token
		 * @param millis how long it may live on
		 * @return the command
		 */
		public static AcquireCommand unknown(String token, long millis) {
			return new AcquireCommand(token, 0, 0, true, millis, millis);
		}

	}

	/**
	 * A lease to lengthen.
	 *
	 * @param resource the resource
	 * @param token its owner
	 * @param permits how many permits it is for
	 * @param leaseMillis how long it is to last from now, at least
	 */
	record Renewal(Resource resource, String token, int permits, long leaseMillis) {
	}

	/**
	 * Answer to a token that asks.
	 */
	sealed interface AcquireReply {

		/**
		 * The request of the token is granted.
		 *
		 * @param fence the fencing token of this grant
		 * @param ttlMillis how long it holds it from now
		 */
		record Granted(long fence, long ttlMillis) implements AcquireReply {
		}

		/**
		 * Others hold it, or come first.
		 *
		 * @param ownerTtlMillis how long from now until the first of them ends if it is
		 * not renewed, -1 for no end
		 * @param fence the last fencing token given; if none is remembered, a number that
		 * all earlier ones were not above, and all later ones will be
		 * @param foreign whether the holder does not hand it over, as it is no instance
		 * of this project
		 * @param owner the id of the instance that holds a lock exclusively, {@code null}
		 * if there is none
		 * @param held how many readers hold a lock, or how many permits are held; 0 if
		 * that is not known
		 * @param limit how many permits there are in all; 0 of a lock, or if that is not
		 * known
		 */
		record Busy(long ownerTtlMillis, long fence, boolean foreign, @Nullable String owner, int held,
				int limit) implements AcquireReply {
		}

		/**
		 * More permits were asked for than there are in all. The token is not in the
		 * queue.
		 *
		 * @param limit how many there are
		 */
		record Rejected(int limit) implements AcquireReply {
		}

	}

	/**
	 * Answer to a release, or to a retention.
	 *
	 * @param released whether the token held anything
	 * @param next the reply for the token that takes its place; {@code null} if there was
	 * none, or if it was not put into the queue and has to ask by itself
	 * @param certain whether a token that held nothing had lost it before. It may not
	 * have, if the driver may have sent the command more than once, or out of order: then
	 * this may be the answer to a copy. Nor during a fail-over grace, as no other token
	 * was granted anything
	 */
	record ReleaseReply(boolean released, @Nullable AcquireReply next, boolean certain) {

		/**
		 * Return whether the token had certainly lost its lease.
		 * @return whether nothing was found that a release could end
		 */
		public boolean foundNothing() {
			return !this.released && this.certain;
		}

	}

	/**
	 * The stored state of a lock.
	 *
	 * @param owner the exclusive owner's token or, if foreign, its own value;
	 * {@code null} if there is none
	 * @param ttlMillis how long it is held from now, by the last of the readers if there
	 * is no owner; -1 for no end, 0 if it is free
	 * @param fence the last fencing token given, 0 if none is remembered
	 * @param waiting how many tokens stand in the queue
	 * @param readerCount how many tokens hold it to read
	 * @param readers some of those, in the order in which their leases end
	 */
	record KeyState(@Nullable String owner, long ttlMillis, long fence, int waiting, int readerCount,
			List<PermitHolder> readers) {
	}

	/**
	 * The stored state of a semaphore.
	 *
	 * @param limit the limit of an operator, or {@code null}
	 * @param asked the limit that the last request said, 0 if none is remembered
	 * @param used how many permits are held
	 * @param holderCount how many tokens hold them
	 * @param holders some of those, in the order in which their leases end
	 * @param waiting how many tokens stand in the queue
	 */
	record PermitState(@Nullable Integer limit, int asked, int used, int holderCount, List<PermitHolder> holders,
			int waiting) {
	}

	/**
	 * A holder of permits, or a reader.
	 *
	 * @param token its token
	 * @param permits how many
	 * @param ttlMillis how long from now
	 */
	record PermitHolder(String token, int permits, long ttlMillis) {
	}

}
