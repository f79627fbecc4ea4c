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
 * Releases what others hold, in their names. Blocks until the store answers. Thread-safe.
 */
public final class ForcedRelease {

	/** How many are released before it is looked for more. */
	private static final int HOLDERS = 1000;

	private final EngineContext context;

	private final LeaseRenewer renewer;

	/** Create the forced releases of an instance. */
	public ForcedRelease(EngineContext context, LeaseRenewer renewer) {
		this.context = context;
		this.renewer = renewer;
	}

	/**
	 * Release holders of a semaphore or a read-write lock.
	 * @param resource the semaphore or lock
	 * @param selection which holders to release
	 * @return how many were released
	 */
	public int releaseAll(Resource resource, Predicate<PermitHolder> selection) {
		int all = 0;
		// Those that stay must not hide others.
		int staying = 0;
		boolean more;
		do {
			int most = HOLDERS + staying;
			List<PermitHolder> holders = this.context
				.answer(this.context.send(Command.INSPECT, () -> this.context.store.inspectPermits(resource, most)),
						resource, "The inspection")
				.holders();
			List<PermitHolder> selected = holders.stream().filter(selection).toList();
			all += release(resource, selected);
			staying = holders.size() - selected.size();
			more = holders.size() == most;
		}
		while (more);
		return all;
	}

	private int release(Resource resource, List<PermitHolder> holders) {
		if (holders.isEmpty()) {
			return 0;
		}
		List<Boolean> released = this.context.answer(
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
	 * Release what one token holds.
	 * @return whether it held anything
	 */
	public boolean release(Resource resource, String token, int permits) {
		AcquireCommand ended = new AcquireCommand(token, permits, permits, true, null, 0, 0);
		boolean released = this.context
			.answer(this.context.send(Command.RELEASE, () -> this.context.store.release(resource, ended, null)),
					resource, "The forced release")
			.released();
		if (released) {
			this.renewer.onTokenLost(token, "it was released by force");
		}
		return released;
	}

}
