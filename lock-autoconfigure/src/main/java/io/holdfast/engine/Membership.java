package io.holdfast.engine;

import java.util.concurrent.CompletableFuture;

import io.holdfast.LockHolder;
import org.jspecify.annotations.Nullable;

/**
 * Membership of this instance in the fleet: the instances that share its store.
 * Implemented by the package {@code fleet}. No method blocks. Thread-safe.
 */
public interface Membership {

	/** Register this instance, and keep it registered. */
	void join();

	/**
	 * Remove this instance from the register.
	 * @return a future that is completed by the store's answer, or after a short time
	 * without an answer
	 */
	CompletableFuture<@Nullable Void> leave();

	/**
	 * Compare this instance's version with those of the fleet, or join a comparison that
	 * is under way.
	 * @return a future that is completed when leases may be requested, and fails if they
	 * may not
	 */
	CompletableFuture<@Nullable Void> requestAdmission();

	/** Return the reason why this instance is refused permanently, or {@code null}. */
	@Nullable String incompatibility();

	/**
	 * Return the registration of an instance, from a local copy of the register.
	 * @return the instance, or {@code null} if the copy does not have it
	 */
	@Nullable LockHolder holder(String instanceId);

}
