package io.holdfast.engine;

import java.util.concurrent.CompletableFuture;

import io.holdfast.engine.store.Resource;

/** Keeps account of the releases that are on their way. */
interface ReleaseOwner {

	/**
	 * Note that a release is about to be sent.
	 * @param resource the resource of the token
	 * @param outcome completed when the first command was answered, or will not be in
	 * time
	 */
	void onReleasing(Resource resource, String token, CompletableFuture<?> outcome);

	/** Note that no command is sent for a token any more, and the outcome is known. */
	void onReleaseOver(String token);

}
