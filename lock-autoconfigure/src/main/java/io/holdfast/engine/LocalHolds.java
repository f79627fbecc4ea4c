package io.holdfast.engine;

import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;

import io.holdfast.engine.store.Resource;
import io.holdfast.engine.store.Resource.Kind;
import org.jspecify.annotations.Nullable;

/**
 * The holds of this instance on one resource. Data of a {@link ResourceQueue}, confined
 * to its events.
 */
final class LocalHolds {

	private final Resource resource;

	private final Set<Hold> holds = new LinkedHashSet<>();

	/** Number of permits of the holds. */
	private long permits;

	/** Lost holds that their threads still count on, and are to be told of. */
	private List<Hold> lost = List.of();

	LocalHolds(Resource resource) {
		this.resource = resource;
	}

	void add(Hold hold) {
		this.holds.add(hold);
		this.permits += hold.permits();
	}

	/** Remove a hold that was released. */
	void remove(Hold hold) {
		removeHold(hold);
		if (!this.lost.isEmpty()) {
			this.lost.remove(hold);
		}
	}

	/** Remove a hold that was lost, but keep it in mind while its thread counts on it. */
	void lose(Hold hold) {
		removeHold(hold);
		if (this.resource.kind() == Kind.LOCK && hold.mustTellThread() && !this.lost.contains(hold)) {
			this.lost = this.lost.isEmpty() ? new ArrayList<>(1) : this.lost;
			this.lost.add(hold);
		}
	}

	private void removeHold(Hold hold) {
		if (this.holds.remove(hold)) {
			this.permits -= hold.permits();
		}
	}

	/** Return whether nothing is held, or to be told. */
	boolean isEmpty() {
		return this.holds.isEmpty() && this.lost.isEmpty();
	}

	/** Return the number of permits that are held. */
	long permits() {
		return this.permits;
	}

	/** Return whether a lock is held exclusively. */
	boolean isExclusive() {
		return this.resource.kind() == Kind.LOCK && this.permits >= Resource.ALL;
	}

	/** Return the holds that are over, and in the way of a thread. */
	List<Hold> expired(@Nullable Thread thread, long now) {
		List<Hold> expired = List.of();
		for (Hold hold : this.holds) {
			if ((!hold.request.reads() || hold.isOf(thread)) && !hold.isHeld(now)) {
				expired = expired.isEmpty() ? new ArrayList<>(1) : expired;
				expired.add(hold);
			}
		}
		return expired;
	}

	/** Return the valid hold of a thread, or of the leases that its request is under. */
	@Nullable Hold own(@Nullable Thread thread, List<Hold> enclosing, long now) {
		for (Hold hold : this.holds) {
			if (hold.isOf(thread)) {
				return hold;
			}
		}
		for (Hold hold : enclosing) {
			if (hold.isHeld(now)) {
				return hold;
			}
		}
		return null;
	}

	/** Return whether a thread has lost a hold, or its request is under a lost lease. */
	boolean hasLost(@Nullable Thread thread, List<Hold> enclosing, long now) {
		for (Hold hold : this.lost) {
			if (hold.isOf(thread)) {
				return true;
			}
		}
		for (Hold hold : enclosing) {
			if (!hold.isHeld(now) && hold.isRenewed()) {
				return true;
			}
		}
		return false;
	}

	/** Return whether the permits are those of the holds, for assertions. */
	boolean isSound() {
		return this.permits == this.holds.stream().mapToLong(Hold::permits).sum();
	}

}
