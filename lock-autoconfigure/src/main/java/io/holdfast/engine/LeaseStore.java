package io.holdfast.engine;

import java.util.List;
import java.util.concurrent.CompletableFuture;

import org.jspecify.annotations.Nullable;

/**
 * Where leases are kept: the few commands of the protocol, each atomic and idempotent per
 * token. See {@code docs/protocol.md} for what they do.
 *
 * <p>
 * No method blocks. A future fails with {@link StoreFailure} if the store refused the
 * command or could not be reached; it may stay open for as long as the store is silent.
 * Cancelling a future gives its command up: it is not sent if it was not sent yet, and
 * may run all the same otherwise. Replies may be completed on any thread, which must not
 * be blocked. Keys are as their users named them.
 */
public interface LeaseStore extends AutoCloseable {

	/**
	 * Begin to receive wake-ups for tokens of an instance, and to keep receiving them
	 * whatever happens to the connection. Called before any command, and again after
	 * {@link #stop()}.
	 * @param instanceId the first part of all its tokens, 32 hexadecimal digits
	 * @param wakeUps where they go
	 */
	void start(String instanceId, WakeUps wakeUps);

	/**
	 * Receive no more wake-ups, and give back what was used for that. May block for as
	 * long as the store takes. Commands are still possible.
	 */
	void stop();

	/**
	 * Whether wake-ups reach this instance now, as far as is known. If not, waiters poll.
	 * @return whether wake-ups are received
	 */
	boolean isListening();

	/**
	 * Whether commands reach the store in the order in which they were given. If not, a
	 * token that an unanswered command named is released once more later.
	 * @return whether commands stay in order
	 */
	boolean isOrdered();

	/**
	 * Take the key if it is free and no one waits before this token; pass it on to the
	 * head of the queue if it is free and somebody does.
	 * @param key the key
	 * @param token who asks
	 * @param leaseMillis how long the lease is to last
	 * @param claimMillis how long a later hand-off of the key is to last at first
	 * @param enqueue whether to stand in the queue if the key is not to be had now
	 * @return the reply
	 */
	CompletableFuture<AcquireReply> acquire(String key, String token, long leaseMillis, long claimMillis,
			boolean enqueue);

	/**
	 * End a token, whether it holds the key or waits for it: the last command that names
	 * it. A key that it held passes to the head of the queue.
	 * @param key the key
	 * @param token whose part ends
	 * @param next who takes its place, at its place in the queue if it had one, or
	 * {@code null}
	 * @return the reply
	 */
	CompletableFuture<ReleaseReply> release(String key, String token, @Nullable Next next);

	/**
	 * In which part of the store a key is kept. What fails in one part, or is slow, must
	 * not matter to the others; so what is renewed together must be in one part.
	 * @param key the key
	 * @return the part's number
	 */
	int partOf(String key);

	/**
	 * Lengthen leases, never shorten them.
	 * @param renewals what to renew, all in one part
	 * @return for each, in order, whether its token still owns its key
	 */
	CompletableFuture<List<Boolean>> renew(List<Renewal> renewals);

	/**
	 * Look at a key, without changing anything.
	 * @param key the key
	 * @return its state
	 */
	CompletableFuture<KeyState> inspect(String key);

	/**
	 * Stop receiving wake-ups and free what this store opened. Commands fail afterwards.
	 */
	@Override
	void close();

	/**
	 * Who takes the place of a token that ends.
	 *
	 * @param token its token
	 * @param leaseMillis how long its lease is to last if it is granted at once
	 * @param claimMillis how long a later hand-off is to last at first
	 */
	record Next(String token, long leaseMillis, long claimMillis) {
	}

	/**
	 * A lease to lengthen.
	 *
	 * @param key the key
	 * @param token its owner
	 * @param leaseMillis how long it is to last from now, at least
	 */
	record Renewal(String key, String token, long leaseMillis) {
	}

	/**
	 * Answer to a token that asks for a key.
	 */
	sealed interface AcquireReply {

		/**
		 * The token owns the key.
		 *
		 * @param fence the fencing token of this grant
		 * @param ttlMillis how long it owns it from now
		 */
		record Granted(long fence, long ttlMillis) implements AcquireReply {
		}

		/**
		 * Somebody else owns the key.
		 *
		 * @param ownerTtlMillis how long they do from now, -1 for no end
		 * @param fence the last fencing token given for the key; if none is remembered, a
		 * number that all earlier ones were not above, and all later ones will be
		 * @param foreign whether the owner does not hand the key over: not an instance of
		 * this project
		 */
		record Busy(long ownerTtlMillis, long fence, boolean foreign) implements AcquireReply {
		}

	}

	/**
	 * Answer to a release.
	 *
	 * @param released whether the token owned the key
	 * @param next what became of the one who takes its place; {@code null} if there was
	 * none, or if it was not put into the queue and has to ask by itself
	 */
	record ReleaseReply(boolean released, @Nullable AcquireReply next) {
	}

	/**
	 * What is stored for a key.
	 *
	 * @param owner the owner's token or, if foreign, whatever it wrote; {@code null} if
	 * the key is free
	 * @param ttlMillis how long the owner has it from now, -1 for no end, 0 if it is free
	 * @param fence the last fencing token given, 0 if none is remembered
	 * @param waiting how many instances stand in the queue
	 */
	record KeyState(@Nullable String owner, long ttlMillis, long fence, int waiting) {
	}

	/**
	 * Where a store tells of grants that somebody else's command made. Called on any
	 * thread, which must not be blocked.
	 */
	interface WakeUps {

		/**
		 * A key was handed over to a token of this instance.
		 * @param key the key
		 * @param token the token that was granted
		 * @param fence the fencing token of the grant
		 * @param ttlMillis how long the grant lasts from when it was made
		 */
		void handedOver(String key, String token, long fence, long ttlMillis);

		/**
		 * Wake-ups are received from now on, perhaps after a time in which some were
		 * missed.
		 */
		void listening();

	}

}
