package io.holdfast.engine;

import java.util.ArrayList;
import java.util.List;

/**
 * Sees to it that each request that has begun fails or is granted, and that what was
 * granted ends, each of them once.
 */
final class OrderlyObserver implements EngineObserver {

	private int open;

	private final List<String> problems = new ArrayList<>();

	/** What was not in order; what is still open is not by the end. */
	List<String> problems() {
		List<String> all = new ArrayList<>(this.problems);
		if (this.open != 0) {
			all.add(this.open + " requests have not come to their end");
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
