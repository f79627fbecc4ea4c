package io.holdfast.fleet;

import java.util.Collection;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Notes of the users in this JVM.
 */
final class Notes implements Users.Diary {

	private final Collection<Hold> holds = new ConcurrentLinkedQueue<>();

	private final AtomicInteger refusals = new AtomicInteger();

	@Override
	public void began(Hold hold) {
		// The hold ends before this JVM does, and is noted then.
	}

	@Override
	public void ended(Hold hold) {
		this.holds.add(hold);
	}

	@Override
	public void refused() {
		this.refusals.incrementAndGet();
	}

	/** All that ended so far. */
	Collection<Hold> holds() {
		return this.holds;
	}

	int refusals() {
		return this.refusals.get();
	}

}
