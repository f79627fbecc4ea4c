package io.holdfast.engine.store;

import io.holdfast.engine.store.LeaseStore.AcquireCommand;
import io.holdfast.engine.store.Resource.Kind;

/**
 * Share of a resource, for the rules that locks, readers and permits have in common.
 */
public enum Share {

	/** The exclusive lock. */
	EXCLUSIVE,

	/** The lock of a reader. */
	READER,

	/** All permits of a semaphore. */
	PERMITS;

	/** Return the share that excludes this share, and each other share. */
	Share whole() {
		return (this == READER) ? EXCLUSIVE : this;
	}

	Resource resource() {
		return new Resource((this == PERMITS) ? Kind.SEMAPHORE : Kind.LOCK, StoreContract.KEY);
	}

	int permits() {
		return switch (this) {
			case EXCLUSIVE -> Resource.ALL;
			case READER -> 1;
			case PERMITS -> PermitStoreContract.LIMIT;
		};
	}

	AcquireCommand command(String token, long leaseMillis, long claimMillis) {
		return new AcquireCommand(token, permits(), (this == PERMITS) ? permits() : Resource.ALL, true, leaseMillis,
				claimMillis);
	}

}
