package io.holdfast.engine.store;

import io.holdfast.engine.store.LeaseStore.AcquireCommand;
import io.holdfast.engine.store.LeaseStore.ReleaseReply;

/**
 * Shortcuts for commands and replies of a {@link LeaseStore}.
 */
public final class Commands {

	private Commands() {
	}

	/** Return the command that acquires a lock exclusively. */
	public static AcquireCommand forLock(String token, long leaseMillis, long claimMillis) {
		return new AcquireCommand(token, Resource.ALL, Resource.ALL, true, leaseMillis, claimMillis);
	}

	/** Return the command that acquires a lock to read. */
	public static AcquireCommand forReader(String token, long leaseMillis, long claimMillis) {
		return new AcquireCommand(token, 1, Resource.ALL, true, leaseMillis, claimMillis);
	}

	/** Return a reply that may belong to a copy of the command. */
	public static ReleaseReply uncertain(ReleaseReply reply) {
		return new ReleaseReply(reply.released(), reply.next(), false);
	}

}
