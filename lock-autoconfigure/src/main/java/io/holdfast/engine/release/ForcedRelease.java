package io.holdfast.engine.release;

import java.util.List;
import java.util.function.Predicate;

import io.holdfast.engine.context.EngineContext;
import io.holdfast.engine.lease.LeaseRenewer;
import io.holdfast.engine.observe.EngineObserver.Command;
import io.holdfast.engine.store.LeaseStore.AcquireCommand;
import io.holdfast.engine.store.LeaseStore.PermitHolder;
import io.holdfast.engine.store.Resource;

/**
 * Releases leases of any instance, in its name. Blocks until the store answers.
 * Thread-safe.
 */
public final class ForcedRelease {

	/** So that one script does not keep the store from serving others for long. */
	private static final int BATCH = 1000;

	private final EngineContext context;

	private final LeaseRenewer renewer;

	/** Create the forced releases of an instance. */
	public ForcedRelease(EngineContext context, LeaseRenewer renewer) {
		this.context = context;
		this.renewer = renewer;
	}

	/**
	 * Release holders of a semaphore or a read-write lock. Waiters that get their permits
	 * are not released.
	 * @return how many were released
	 */
	public int releaseAll(Resource resource, Predicate<PermitHolder> selection) {
		// All before the first is released: each release lets others in.
		List<PermitHolder> holders = this.context
			.awaitAnswer(
					this.context.send(Command.INSPECT,
							() -> this.context.store.inspectPermits(resource, Integer.MAX_VALUE)),
					resource, "The inspection")
			.holders()
			.stream()
			.filter(selection)
			.toList();
		int all = 0;
		for (int from = 0; from < holders.size(); from += BATCH) {
			all += release(resource, holders.subList(from, Math.min(from + BATCH, holders.size())));
		}
		return all;
	}

	private int release(Resource resource, List<PermitHolder> holders) {
		List<Boolean> released = this.context.awaitAnswerToChange(
				this.context.send(Command.RELEASE, () -> this.context.store.releaseAll(resource, holders)), resource,
				"The forced release");
		int count = 0;
		for (int i = 0; i < holders.size(); i++) {
			if (released.get(i)) {
				this.renewer.onTokenLost(holders.get(i).token(), "it was released by force");
				count++;
			}
		}
		return count;
	}

	/**
	 * Release an exclusive lock.
	 * @return whether the token held it
	 */
	public boolean release(Resource resource, String token) {
		AcquireCommand ended = AcquireCommand.unknown(token, 0);
		boolean released = this.context
			.awaitAnswerToChange(
					this.context.send(Command.RELEASE, () -> this.context.store.release(resource, ended, null)),
					resource, "The forced release")
			.released();
		if (released) {
			this.renewer.onTokenLost(token, "it was released by force");
		}
		return released;
	}

}
