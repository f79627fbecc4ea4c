package io.holdfast.engine;

import java.util.ArrayList;
import java.util.List;

/**
 * Observer that checks the order of events: each begun request fails or is granted once,
 * and each grant ends once.
 */
final class OrderlyObserver implements EngineObserver {

	private int open;

	private final List<String> problems = new ArrayList<>();

	/** Return the violations of the order, including requests without an end. */
	List<String> problems() {
		List<String> all = new ArrayList<>(this.problems);
		if (this.open != 0) {
			all.add(this.open + " requests have no end");
		}
		return all;
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

			@Override
			public void began() {
				change("new", "begun");
				OrderlyObserver.this.open++;
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
				OrderlyObserver.this.open--;
			}

			@Override
			public void ended(HoldEnd end) {
				change("granted", "ended");
				OrderlyObserver.this.open--;
			}

		};
	}

}
