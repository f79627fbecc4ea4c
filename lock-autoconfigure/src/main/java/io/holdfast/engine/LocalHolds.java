package io.holdfast.engine;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

import io.holdfast.engine.store.Resource;
import io.holdfast.engine.store.Resource.Kind;
import org.jspecify.annotations.Nullable;

/**
 * The holds of this instance on one resource. Data of a {@link ResourceQueue}, confined
 * to its events.
 */
final class LocalHolds {

	private static final int MOST_COUNTED = 100;

	private final Resource resource;

	private final Set<Hold> holds = new LinkedHashSet<>(2);

	/** The holds of each thread that reads, of which there may be thousands. */
	private Map<Thread, Set<Hold>> readers = Map.of();

	/** Number of permits of the holds. */
	private long permits;

	/** Lost holds that their threads still count on, and are to be told of. */
	private Set<Hold> lost = Set.of();

	LocalHolds(Resource resource) {
		this.resource = resource;
	}

	void add(Hold hold) {
		this.holds.add(hold);
		this.permits += hold.permits();
		if (isReader(hold)) {
			this.readers = this.readers.isEmpty() ? new HashMap<>() : this.readers;
			this.readers.computeIfAbsent(hold.thread, (thread) -> new LinkedHashSet<>(2)).add(hold);
		}
	}

	private boolean isReader(Hold hold) {
		return this.resource.kind() == Kind.LOCK && hold.request.reads() && hold.thread != null;
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
		if (this.resource.kind() == Kind.LOCK && hold.mustTellThread()) {
			this.lost = this.lost.isEmpty() ? new LinkedHashSet<>() : this.lost;
			this.lost.add(hold);
		}
	}

	private void removeHold(Hold hold) {
		if (this.holds.remove(hold)) {
			this.permits -= hold.permits();
			if (isReader(hold)) {
				this.readers.computeIfPresent(hold.thread,
						(thread, own) -> (own.remove(hold) && own.isEmpty()) ? null : own);
			}
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

	/**
	 * Return the holds that matter to a thread: its own ones, and any that exclude it.
	 */
	private Set<Hold> of(@Nullable Thread thread) {
		return isExclusive() ? this.holds : (thread != null) ? this.readers.getOrDefault(thread, Set.of()) : Set.of();
	}

	/** Return the holds that are over, and in the way of a thread. */
	List<Hold> expired(@Nullable Thread thread, long now) {
		List<Hold> expired = List.of();
		for (Hold hold : of(thread)) {
			if ((!hold.request.reads() || hold.isOf(thread)) && !hold.isHeld(now)) {
				expired = expired.isEmpty() ? new ArrayList<>(1) : expired;
				expired.add(hold);
			}
		}
		return expired;
	}

	/** Return the valid hold of a thread, or of the leases that its request is under. */
	@Nullable Hold own(@Nullable Thread thread, List<Hold> enclosing, long now) {
		for (Hold hold : of(thread)) {
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

	/**
	 * Return whether the permits are those of the holds, for assertions after each event:
	 * very many are not counted.
	 */
	boolean isSound() {
		return this.holds.size() > MOST_COUNTED || this.permits == this.holds.stream().mapToLong(Hold::permits).sum();
	}

}
