package com.acme;

import java.util.concurrent.atomic.AtomicInteger;

/**
 * Counts wrong unless it is used by one thread at a time.
 */
public class Stock {

	private final AtomicInteger users = new AtomicInteger();

	private final AtomicInteger mostAtOnce = new AtomicInteger();

	private final AtomicInteger sold = new AtomicInteger();

	private volatile int left;

	public Stock(int left) {
		this.left = left;
	}

	public void take() {
		int now = this.users.incrementAndGet();
		this.mostAtOnce.accumulateAndGet(now, Math::max);
		int before = this.left;
		if (before > 0) {
			// Time for others to read the same number, where they may.
			Thread.yield();
			this.left = before - 1;
			this.sold.incrementAndGet();
		}
		this.users.decrementAndGet();
	}

	public int sold() {
		return this.sold.get();
	}

	public int mostAtOnce() {
		return this.mostAtOnce.get();
	}

}
