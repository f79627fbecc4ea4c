package io.holdfast.engine.release;

import java.util.concurrent.CompletableFuture;

/** Keeps account of the releases that are on their way. */
interface ReleaseOwner {

	/** A release is about to be sent. */
	void began(String token, CompletableFuture<?> outcome);

	/** The first command was answered, or will not be in time. */
	void answered(CompletableFuture<?> outcome);

	/** No command is sent for the token any more. */
	void ended(String token);

}
