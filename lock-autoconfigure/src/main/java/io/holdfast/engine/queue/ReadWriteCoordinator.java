package io.holdfast.engine.queue;

import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.stream.Stream;

import io.holdfast.NotAcquiredException.Reason;
import io.holdfast.engine.lease.Hold;
import io.holdfast.engine.request.EngineExceptions;
import io.holdfast.engine.request.ResolvedRequest;
import io.holdfast.engine.store.Resource;
import org.jspecify.annotations.Nullable;

/**
 * The coordinator of a read-write lock: permits of which a reader takes one and a writer
 * all. It knows what each thread holds, for re-entry.
 */
final class ReadWriteCoordinator extends PermitCoordinator {

	/**
	 * By thread: at most one hold for reading and one for writing, and some lost, or left
	 * to those who entered by a context. Written by events only; read by threads that
	 * look for holds of their own.
	 */
	private final Map<Thread, List<Hold>> holds = new ConcurrentHashMap<>();

	ReadWriteCoordinator(CoordinatorParts parts, Resource resource) {
		super(parts, resource);
	}

	@Override
	void arrive(Waiter waiter) {
		// Looked at once: what ends from here on has not ended yet.
		long now = this.context.scheduler.nanoTime();
		dropInvalidHolds(waiter.reentrantThread(), now);
		List<Hold> own = holdsOf(waiter, now);
		int permits = waiter.request.permits();
		Hold same = find(own, permits);
		Hold written = find(own, Resource.ALL);
		if (own.stream().anyMatch((hold) -> !hold.isHeld(now))) {
			fail(waiter, EngineExceptions.lostBefore(this.resource));
		}
		else if (same != null) {
			// Also during a shut-down: it is part of the work in flight.
			nest(waiter, same);
		}
		else if (written != null) {
			// What is granted beside it may last longer, and has a higher fence.
			written.markNestedReader();
			contend(waiter, written.token).sendAcquire();
		}
		else if (!own.isEmpty()) {
			fail(waiter, waiter.notAcquired(Reason.SELF_BLOCKED));
		}
		else {
			super.arrive(waiter);
		}
	}

	private void dropInvalidHolds(@Nullable Thread thread, long now) {
		heldBy(thread).filter((hold) -> !hold.isHeld(now)).forEach((hold) -> {
			renewer().lose(hold, hold.whyExpired(now));
			onHoldLost(hold);
		});
	}

	/** Return what the thread of a waiter holds, or has lost and still counts on. */
	private List<Hold> holdsOf(Waiter waiter, long now) {
		Stream<Hold> enclosing = waiter.enclosingHolds()
			.stream()
			.filter((hold) -> hold.isHeld(now) || hold.isRenewed());
		return Stream.concat(heldBy(waiter.reentrantThread()), enclosing).distinct().toList();
	}

	private Stream<Hold> heldBy(@Nullable Thread thread) {
		List<Hold> holds = (thread != null) ? this.holds.getOrDefault(thread, List.of()) : List.of();
		return holds.stream().filter((hold) -> hold.isOf(thread));
	}

	private static @Nullable Hold find(List<Hold> holds, int permits) {
		return holds.stream().filter((hold) -> hold.permits() == permits).findFirst().orElse(null);
	}

	/**
	 * Return false for readers: each has a place of its own in the store, where they may
	 * be let in together.
	 */
	@Override
	boolean handsOver(ResolvedRequest request) {
		return request.permits() == Resource.ALL && super.handsOver(request);
	}

	/** Return true also while a writer here holds: the next one follows it. */
	@Override
	boolean needNotContend(ResolvedRequest request, int released) {
		return held() >= Resource.ALL || super.needNotContend(request, released);
	}

	@Override
	@Nullable Waiter nextEligibleWaiter(Hold hold, long now) {
		return hold.hasNestedReader() ? null : super.nextEligibleWaiter(hold, now);
	}

	@Override
	void onHoldBegun(Hold hold) {
		super.onHoldBegun(hold);
		if (hold.thread != null) {
			this.holds.computeIfAbsent(hold.thread, (thread) -> new CopyOnWriteArrayList<>()).add(hold);
		}
	}

	@Override
	void onHoldEnded(Hold hold) {
		super.onHoldEnded(hold);
		if (hold.thread != null) {
			this.holds.computeIfPresent(hold.thread, (thread, own) -> {
				own.remove(hold);
				return own.isEmpty() ? null : own;
			});
		}
	}

	@Override
	boolean isHeldBy(Thread thread) {
		return heldBy(thread).anyMatch((hold) -> hold.isHeld(this.context.scheduler.nanoTime()));
	}

	@Override
	public void onHoldLost(Hold hold) {
		discount(hold);
		if (!hold.mustTellThread()) {
			onHoldEnded(hold);
			detach(hold);
		}
		advance();
	}

}
