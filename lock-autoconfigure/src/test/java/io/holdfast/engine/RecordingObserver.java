package io.holdfast.engine;

import java.util.ArrayList;
import java.util.List;

import io.holdfast.NotAcquiredException;
import io.holdfast.engine.store.Resource.Kind;
import org.jspecify.annotations.Nullable;

public class RecordingObserver implements EngineObserver {

	private final List<String> lines = new ArrayList<>();

	/** Return the events since the last call. */
	public List<String> events() {
		List<String> events = List.copyOf(this.lines);
		this.lines.clear();
		return events;
	}

	protected void record(String line) {
		this.lines.add(line);
	}

	@Override
	public RequestObserver requested(ObservedRequest request) {
		String keys = String.join("+", request.keys());
		return new RequestObserver() {

			@Override
			public void began() {
				record(keys + " began");
			}

			@Override
			public void handedOver(HandOver way) {
				record("handed over " + request.kind() + " " + way);
			}

			@Override
			public void granted(List<Long> fences) {
				record(keys + " granted " + fences);
			}

			@Override
			public void failed(RuntimeException why) {
				record(keys + " failed "
						+ ((why instanceof NotAcquiredException ex) ? ex.getReason() : why.getClass().getSimpleName()));
			}

			@Override
			public void ended(HoldEnd end) {
				record(keys + " ended " + end);
			}

		};
	}

	@Override
	public void lost(Kind kind, @Nullable String name) {
		record("lost " + kind + " " + name);
	}

	@Override
	public void renewed(Kind kind, RenewalOutcome outcome) {
		record("renewal " + kind + " " + outcome);
	}

	@Override
	public void failed(Command command) {
		record("failed " + command);
	}

}
