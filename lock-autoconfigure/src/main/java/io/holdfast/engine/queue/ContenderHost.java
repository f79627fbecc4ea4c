package io.holdfast.engine.queue;

import java.util.concurrent.CompletableFuture;

import io.holdfast.engine.context.EngineContext;
import io.holdfast.engine.store.LeaseStore.AcquireCommand;
import io.holdfast.engine.store.LeaseStore.AcquireReply.Busy;
import io.holdfast.engine.store.Resource;
import org.jspecify.annotations.Nullable;

/** The coordinator of a contender. */
public interface ContenderHost {

	EngineContext context();

	Resource resource();

	/** Run an event: now, or after the one that runs. */
	void execute(Runnable event);

	/**
	 * Number a request that was sent.
	 * @return its number, or 0 if nothing depends on when it is over
	 */
	default long onRequestSent() {
		return 0;
	}

	/** Note that the request of a number was answered, or has failed. */
	default void onRequestOver(long number) {
		throw new IllegalStateException("not numbered");
	}

	/**
	 * Return the releases of this instance for the key that have no answer.
	 * @return completed by the last answer; {@code null} if there are none
	 */
	@Nullable CompletableFuture<?> unansweredReleases();

	/**
	 * Note that the comparison of the fleet's versions has ended.
	 * @param error why it failed, or {@code null}
	 */
	void onCompared(@Nullable Throwable error);

	/** Note that others hold the resource. */
	void onBusy(Busy busy);

	/** Note the owner that an answer names, for the exceptions of those who time out. */
	void noteOwner(Busy busy);

	/** Release a token whose wait is over, as the store may have granted it since. */
	void releaseIfOver(AcquireCommand ended);

}
