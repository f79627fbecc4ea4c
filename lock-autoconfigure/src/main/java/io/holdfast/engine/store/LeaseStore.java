package io.holdfast.engine.store;

import java.util.List;
import java.util.concurrent.CompletableFuture;

import io.holdfast.engine.store.Resource.Kind;
import org.jspecify.annotations.Nullable;

/**
 * Store of leases: the commands of the protocol, each atomic and idempotent per token.
 * See {@code docs/internals/protocol.md}. One of the seven concepts of the engine. The
 * store owns the connections, and is independent of callers, threads and queues of this
 * instance. Implemented for Redis and in memory.
 *
 * <p>
 * No method blocks, unless stated otherwise. A future fails with
 * {@link StoreCommandException} if the store refused the command or could not be reached.
 * While the store does not answer, a future may stay open without limit. Cancelling a
 * future prevents its command only if the command was not sent yet. Futures may be
 * completed on any thread, which dependents must not block.
 */
public interface LeaseStore extends AutoCloseable {

	/**
	 * Start receiving notifications for an instance, also across lost connections. Called
	 * before all commands, and again after {@link #stop()}.
	 * @param instanceId the id of the instance and prefix of its tokens, 32 hexadecimal
	 * digits
	 * @param notifications the receiver of the notifications
	 */
	void start(String instanceId, StoreNotifications notifications);

	/**
	 * Stop receiving notifications, and close the subscription. May block until the store
	 * answers. Commands are still possible.
	 */
	void stop();

	/**
	 * Set the context class loader of this store's threads, if it has any.
	 * @param classLoader the application's class loader, or {@code null} for the class
	 * loader of Holdfast's classes
	 */
	default void setClassLoader(@Nullable ClassLoader classLoader) {
	}

	/**
	 * Return a description of the store.
	 * @return the description, such as {@code Redis at localhost:6379}
	 */
	default String place() {
		return toString();
	}

	/**
	 * Return whether this instance receives notifications now, as far as is known.
	 * Otherwise, waiters poll.
	 * @return whether notifications are received
	 */
	boolean isListening();

	/**
	 * Return whether this instance is configured to poll instead of receiving
	 * notifications.
	 * @return whether waiters always poll
	 */
	default boolean isPolling() {
		return false;
	}

	/**
	 * Return the reason why this instance does not receive notifications.
	 * @return the reason, or {@code null} if notifications are received or the reason is
	 * not known
	 */
	default @Nullable String whyNotListening() {
		return null;
	}

	/**
	 * Check the store's settings and this application's rights for dangers to leases.
	 * Changes nothing.
	 * @return a future of the findings, which fails if the store cannot be asked
	 */
	default CompletableFuture<List<StoreDiagnostic>> examine() {
		return CompletableFuture.completedFuture(List.of());
	}

	/**
	 * Send a write that changes nothing.
	 * @return a future that fails, as a request for a lease does, if the store accepts no
	 * writes
	 */
	default CompletableFuture<@Nullable Void> tryWrite() {
		return CompletableFuture.completedFuture(null);
	}

	/** Return the number of reconnects of this instance. */
	long reconnects();

	/**
	 * Return whether an unanswered command may run after newer commands. Between two
	 * reconnects, commands run in the order of their calls.
	 * @param since the number of {@link #reconnects} before the command was sent
	 */
	default boolean mayRunLate(long since) {
		return reconnects() != since;
	}

	/**
	 * Return whether a failed or cancelled command may have run, or may still run.
	 * @param command the future that this store has returned for the command;
	 * {@code true} for all other futures
	 */
	default boolean mayRun(CompletableFuture<?> command) {
		return true;
	}

	/**
	 * Return the time for which the connection has been lost. During this time, commands
	 * are kept for the next connection, and do not fail by themselves.
	 * @return the time in nanoseconds; 0 if the connection is not lost, as far as is
	 * known
	 */
	default long unreachedNanos() {
		return 0;
	}

	/**
	 * Return the timeout of ACQUIRE, which the caller must enforce.
	 * @return the time in nanoseconds
	 */
	default long answerNanos() {
		return Long.MAX_VALUE;
	}

	/**
	 * Grant a request if the resource is free and no waiter comes first. A free lock, or
	 * free permits, are granted to earlier waiters first.
	 * @param resource the resource
	 * @param command the token and its request
	 * @param enqueue whether to queue the token if the request is not granted now
	 * @return the reply
	 */
	CompletableFuture<AcquireReply> acquire(Resource resource, AcquireCommand command, boolean enqueue);

	/**
	 * End a token that holds or waits. Its lock or permits are granted to waiters. This
	 * is the last command for a token.
	 * @param resource the resource
	 * @param ended the token and its last request
	 * @param next a token to queue by the same command, or {@code null}. If both tokens
	 * waited for the lock exclusively, the next token takes the ended token's place in
	 * the queue; otherwise it is queued behind all waiters. It is not queued if the ended
	 * token neither held nor waited
	 * @return the reply
	 */
	CompletableFuture<ReleaseReply> release(Resource resource, AcquireCommand ended, @Nullable AcquireCommand next);

	/**
	 * End the leases of tokens of any instance, and notify their instances by
	 * {@link StoreNotifications#ended}. The resource is granted to waiters. Tokens that
	 * only wait are not changed, so that repeating the command is harmless.
	 * @param resource the resource
	 * @param tokens the tokens
	 * @return a future that has, for each token in order, whether the token held anything
	 */
	CompletableFuture<List<Boolean>> force(Resource resource, List<String> tokens);

	/**
	 * Return the number of the part of the store that keeps a resource. Only leases in
	 * one part are renewed together, so that a failed or slow part does not affect the
	 * others.
	 * @param resource the resource
	 * @return the number of the part
	 */
	int partOf(Resource resource);

	/**
	 * Renew leases. Never shortens a lease.
	 * @param renewals the leases to renew, all in one part
	 * @return a future that has, for each lease in order, whether its token still holds
	 * the resource
	 */
	CompletableFuture<List<Boolean>> renew(List<Renewal> renewals);

	/**
	 * Set the end of a lease, sooner or later than its current end. The holder has
	 * finished, but other owners must be kept out until then.
	 * @param lease the lease, with its time from now on
	 * @return a future of the reply, without a next token
	 */
	CompletableFuture<ReleaseReply> retain(Renewal lease);

	/**
	 * Return the holders and waiters of a resource at one moment. Changes nothing.
	 * @param resource the lock or semaphore
	 * @param maxHolders the maximum number of readers, or of holders of permits, to
	 * return
	 * @param maxWaiters the maximum number of queue entries to return. With 0, the future
	 * fails if a client other than Holdfast has put a value of another type at the
	 * resource; otherwise such values count as nothing
	 * @return a future of the holders and waiters
	 */
	CompletableFuture<Standing> inspect(Resource resource, int maxHolders, int maxWaiters);

	/**
	 * Set or remove the operator's limit of a semaphore, which replaces the limits of
	 * requests. Grants permits to waiters as far as the new limit allows.
	 * @param resource the semaphore
	 * @param limit the limit, or {@code null} to remove it
	 * @return a future that has whether there was an operator's limit before
	 */
	CompletableFuture<Boolean> limit(Resource resource, @Nullable Integer limit);

	/**
	 * Return the operators' view of holds and waits of all instances.
	 * @return the view
	 */
	FleetStore fleet();

	/**
	 * Return the register of instances.
	 * @return the register
	 */
	InstanceStore instances();

	/**
	 * Stop receiving notifications, and close the connections of this store. Commands
	 * fail afterwards.
	 */
	@Override
	void close();

	/**
	 * A token and the terms of its request. Used to acquire and to end a token.
	 *
	 * @param token the token
	 * @param permits the number of permits; for a lock 1 for reading and
	 * {@link Resource#ALL} for an exclusive lock; 0 to end a token whose number of
	 * permits is not known
	 * @param limit the limit of the request; 0 if nothing is granted without an
	 * operator's limit
	 * @param fair whether earlier waiters come first
	 * @param leaseMillis the lease time of a direct grant, in milliseconds
	 * @param claimMillis the initial lease time of a later grant from the queue, in
	 * milliseconds
	 */
	record AcquireCommand(String token, int permits, int limit, boolean fair, long leaseMillis, long claimMillis) {

		/**
		 * Return the terms for ending a token whose request is not known.
		 * @param token the token
		 * @param millis the maximum time left of the token, in milliseconds
		 * @return the token with unknown terms
		 */
		public static AcquireCommand unknown(String token, long millis) {
			return new AcquireCommand(token, 0, 0, true, millis, millis);
		}

	}

	/**
	 * A lease to renew.
	 *
	 * @param resource the resource
	 * @param token the token of the lease
	 * @param permits the number of permits
	 * @param leaseMillis the minimum time from now, in milliseconds
	 */
	record Renewal(Resource resource, String token, int permits, long leaseMillis) {
	}

	/**
	 * Reply to a request.
	 */
	sealed interface AcquireReply {

		/**
		 * The request is granted.
		 *
		 * @param fence the fencing token of the grant
		 * @param ttlMillis the duration of the grant from now, in milliseconds
		 */
		record Granted(long fence, long ttlMillis) implements AcquireReply {
		}

		/**
		 * Other owners hold the resource, or earlier waiters come first.
		 *
		 * @param ownerTtlMillis the time until the first owner's lease ends without
		 * renewal, in milliseconds; -1 without expiry
		 * @param fence the last fencing token. If the store has none, a number not below
		 * all earlier tokens and below all later tokens
		 * @param foreign whether the holder is a client other than Holdfast, which does
		 * not notify waiters
		 * @param owner the id of the instance that holds a lock exclusively, {@code null}
		 * if there is none
		 * @param held the number of readers, or of held permits; 0 if it is not known
		 * @param limit the limit of a semaphore; 0 for a lock, or if the limit is not
		 * known
		 * @param inGrace whether nothing is granted because of a fail-over grace
		 */
		record Busy(long ownerTtlMillis, long fence, boolean foreign, @Nullable String owner, int held, int limit,
				boolean inGrace) implements AcquireReply {
		}

		/**
		 * The request is for more permits than the limit. The token is not queued.
		 *
		 * @param limit the limit
		 */
		record Rejected(int limit) implements AcquireReply {
		}

	}

	/**
	 * Reply to a release or a retention.
	 *
	 * @param released whether the token held anything
	 * @param next the reply for the next token; {@code null} if there was none, or if it
	 * was not queued and has to ask by itself
	 * @param certain whether a token that held nothing has certainly lost its lease
	 * before. Not certain if the driver may have sent the command more than once or out
	 * of order, and during the grace time after a fail-over, when no other token is
	 * granted anything
	 */
	record ReleaseReply(boolean released, @Nullable AcquireReply next, boolean certain) {

		/**
		 * Return whether the token had certainly lost its lease.
		 * @return whether the store found nothing to release
		 */
		public boolean foundNothing() {
			return !this.released && this.certain;
		}

	}

	/**
	 * Holders and queue of a resource.
	 *
	 * @param resource the resource
	 * @param ttlMillis the time until the exclusive owner's or the last reader's lease
	 * ends, in milliseconds; -1 without expiry, 0 for a free lock and for semaphores
	 * @param fence the last fencing token of a lock, 0 if the store has none
	 * @param limit the operator's limit of a semaphore, or {@code null}
	 * @param asked the limit of the last request for a semaphore, 0 if the store has none
	 * @param used the number of held permits of a semaphore
	 * @param holderCount the number of holders
	 * @param holders the exclusive owner, or the first holders in the order of the ends
	 * of their leases
	 * @param waiting the length of the queue
	 * @param queue the first entries of the queue, in order
	 */
	record Standing(Resource resource, long ttlMillis, long fence, @Nullable Integer limit, int asked, int used,
			int holderCount, List<TokenState> holders, int waiting, List<TokenState> queue) {

		/**
		 * Return the state of an unused resource.
		 * @param resource the resource
		 * @return the state, without holders, waiters and limit
		 */
		public static Standing unused(Resource resource) {
			return new Standing(resource, 0, 0, null, 0, 0, 0, List.of(), 0, List.of());
		}

		/**
		 * Return the exclusive owner of a lock.
		 * @return the owner's token, or the value of a foreign owner; {@code null} if
		 * there is none
		 */
		public @Nullable String owner() {
			boolean owned = this.resource.kind() == Kind.LOCK && !this.holders.isEmpty()
					&& this.holders.get(0).permits() == Resource.ALL;
			return owned ? this.holders.get(0).token() : null;
		}

		/**
		 * Return the number of readers of a lock.
		 * @return the number of holders, 0 if there is an exclusive owner
		 */
		public int readerCount() {
			return (owner() != null) ? 0 : this.holderCount;
		}

		/**
		 * Return whether the resource has no holders, no waiters and no operator's limit.
		 * @return whether the resource is unused
		 */
		public boolean isEmpty() {
			return this.holderCount == 0 && this.waiting == 0 && this.limit == null;
		}

		/**
		 * Return whether the holder is a client other than Holdfast. The fence is then
		 * that of an earlier holder.
		 * @return whether the holder is foreign
		 */
		public boolean isForeign() {
			return !this.holders.isEmpty() && !Tokens.isToken(this.holders.get(0).token());
		}

	}

	/**
	 * A holder or a queue entry.
	 *
	 * @param token the token, which is secret; the value of a foreign owner; or an empty
	 * text for another entry that is not of Holdfast
	 * @param permits the number of permits; for a lock 1 for reading
	 * @param ttlMillis the time left without renewal, in milliseconds; -1 without expiry,
	 * 0 for waiters
	 */
	record TokenState(String token, int permits, long ttlMillis) {

		/**
		 * Return the instance of the token.
		 * @return the public id of the instance, or {@code null} for a client other than
		 * Holdfast
		 */
		public @Nullable String instance() {
			return Tokens.isToken(this.token) ? Tokens.shownInstance(this.token) : null;
		}

		/**
		 * Return the number of the request within its instance.
		 * @return the number, 0 for a client other than Holdfast
		 */
		public long number() {
			return Tokens.isToken(this.token) ? Tokens.number(this.token) : 0;
		}

	}

}
