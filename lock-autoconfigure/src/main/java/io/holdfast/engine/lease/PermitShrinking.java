package io.holdfast.engine.lease;

import java.util.concurrent.CompletableFuture;

import io.holdfast.engine.context.EngineContext;
import io.holdfast.engine.observe.EngineObserver.Command;
import io.holdfast.engine.store.LeaseStore.AcquireCommand;

/**
 * The release of some permits of a hold, whose others are kept. A command that is not
 * confirmed is sent again for as long as they are held; the store finds the token
 * whatever it has. Confined to the coordinator of the hold.
 */
public final class PermitShrinking {

	private final EngineContext context;

	private final LeaseRenewer renewer;

	private final Hold hold;

	private final CompletableFuture<Boolean> answer = new CompletableFuture<>();

	/** Create the release of some permits of a hold. */
	public PermitShrinking(EngineContext context, LeaseRenewer renewer, Hold hold) {
		this.context = context;
		this.renewer = renewer;
		this.hold = hold;
	}

	/**
	 * Return the answer to the first command.
	 * @return whether the rest is still held, or is to be kept for a least time; fails if
	 * the command does
	 */
	CompletableFuture<Boolean> answer() {
		return this.answer;
	}

	/**
	 * Release all permits but some, in an event of the coordinator.
	 * @param most how many to keep; fewer are kept if some were released before
	 */
	public void keep(int most) {
		if (this.hold.leases.count() == 0) {
			// Another thread has released the rest, which others may hold by now.
			this.answer.complete(true);
			return;
		}
		long now = this.context.scheduler.nanoTime();
		AcquireCommand before = this.hold.toCommand(now);
		int kept = this.hold.keep(most);
		if (this.hold.minHoldLeft(now) > 0) {
			// Others are kept out of them until then, but the user does not wait for
			// that.
			this.answer.complete(true);
			repeatAfter(this.hold.minHoldLeft(now), kept);
			return;
		}
		this.context.sendInTime(Command.SHRINK, () -> this.context.store.shrink(this.hold.resource(), before, kept))
			.whenComplete((held, error) -> {
				if (error != null) {
					this.answer.completeExceptionally(error);
					repeatAfter(this.context.retryDelay(), kept);
					return;
				}
				if (!held) {
					this.renewer.lose(this.hold, "the store says that nothing of it is left");
				}
				this.answer.complete(held);
			});
	}

	private void repeatAfter(long delay, int kept) {
		this.context.scheduler.schedule(() -> this.hold.coordinator.execute(() -> {
			if (this.hold.permits() == kept && this.hold.isHeld(this.context.scheduler.nanoTime())) {
				keep(kept);
			}
		}), delay);
	}

}
