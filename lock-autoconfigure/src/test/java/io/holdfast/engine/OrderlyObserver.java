package io.holdfast.engine;

import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Observer that checks the order of events: each begun request fails or is granted once,
 * and each grant ends once. Thread-safe.
 */
final class OrderlyObserver implements EngineObserver {

	private final AtomicInteger open = new AtomicInteger();

	private final AtomicInteger finished = new AtomicInteger();

	private final Queue<String> problems = new ConcurrentLinkedQueue<>();

	/** Return the violations of the order, including requests without an end. */
	List<String> problems() {
		List<String> all = new ArrayList<>(this.problems);
		if (this.open.get() != 0) {
			all.add(this.open + " requests have no end");
		}
		return all;
	}

	/** Return the number of requests that have ended. */
	int finished() {
		return this.finished.get();
	}

	@Override
	public RequestObserver requested(ObservedRequest request) {
		return new RequestObserver() {

			private String state = "new";

			private void change(String from, String to) {
				if (!this.state.equals(from)) {
					OrderlyObserver.this.problems.add(request.keys() + " is " + this.state + " and now " + to);
				}
				this.state = to;
			}

			private void finish() {
				OrderlyObserver.this.open.decrementAndGet();
				OrderlyObserver.this.finished.incrementAndGet();
			}

			@Override
			public void began() {
				change("new", "begun");
				OrderlyObserver.this.open.incrementAndGet();
			}

			@Override
			public void granted(List<Long> fences) {
				change("begun", "granted");
				if (fences.size() != request.keys().size()) {
					OrderlyObserver.this.problems.add(request.keys() + " has fences " + fences);
				}
			}

			@Override
			public void failed(RuntimeException why) {
				change("begun", "failed");
				finish();
			}

			@Override
			public void ended(HoldEnd end) {
				change("granted", "ended");
				finish();
			}

		};
	}

}
