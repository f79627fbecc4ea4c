package io.holdfast.engine.release;

import java.util.concurrent.CompletableFuture;

/** Keeps account of the releases that are on their way. */
interface ReleaseOwner {

	/**
	 * A release is about to be sent.
	 * @param outcome completed when the first command was answered, or will not be in
	 * time
	 */
	void began(String token, CompletableFuture<?> outcome);

	/** No command is sent for the token any more, and the outcome is known. */
	void ended(String token);

}
