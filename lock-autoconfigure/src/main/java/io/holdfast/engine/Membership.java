package io.holdfast.engine;

import java.util.concurrent.CompletableFuture;

import io.holdfast.LockHolder;
import org.jspecify.annotations.Nullable;

/**
 * Membership of this instance in the fleet, the instances that share its store. The
 * fleet's side of the engine implements it. Nothing here blocks. Thread-safe.
 */
public interface Membership {

	/** Register this instance, from now on. */
	void join();

	/**
	 * Remove this instance from the register.
	 * @return completed when the store knows, or after a moment without its answer
	 */
	CompletableFuture<@Nullable Void> leave();

	/**
	 * Have the versions of the fleet compared, or join the comparison under way.
	 * @return completed once leases may be asked for; fails if they may not
	 */
	CompletableFuture<@Nullable Void> requestAdmission();

	/** Return why the instance is not admitted for good, or {@code null}. */
	@Nullable String misfit();

	/**
	 * Return the name of an instance, from a copy of the register.
	 * @return the instance; {@code null} if the copy does not have it
	 */
	@Nullable LockHolder holder(String instanceId);

}
