package io.holdfast.engine;

import java.util.ArrayList;
import java.util.List;

import io.holdfast.NotAcquiredException;
import io.holdfast.engine.store.Resource.Kind;
import org.jspecify.annotations.Nullable;

/**
 * Notes all that it is told, each event as one line.
 */
public class RecordingObserver implements EngineObserver {

	private final List<String> lines = new ArrayList<>();

	/** What it has been told since the last call. */
	public List<String> told() {
		List<String> told = List.copyOf(this.lines);
		this.lines.clear();
		return told;
	}

	protected void tell(String line) {
		this.lines.add(line);
	}

	@Override
	public RequestObserver requested(ObservedRequest request) {
		String what = String.join("+", request.keys());
		return new RequestObserver() {

			@Override
			public void began() {
				tell(what + " began");
			}

			@Override
			public void handedOver(HandOver way) {
				tell("handed over " + request.kind() + " " + way);
			}

			@Override
			public void granted(List<Long> fences) {
				tell(what + " granted " + fences);
			}

			@Override
			public void failed(RuntimeException why) {
				tell(what + " failed "
						+ ((why instanceof NotAcquiredException ex) ? ex.getReason() : why.getClass().getSimpleName()));
			}

			@Override
			public void ended(HoldEnd end) {
				tell(what + " ended " + end);
			}

		};
	}

	@Override
	public void lost(Kind kind, @Nullable String name) {
		tell("lost " + kind + " " + name);
	}

	@Override
	public void renewed(Kind kind, RenewalOutcome outcome) {
		tell("renewal " + kind + " " + outcome);
	}

	@Override
	public void failed(Command command) {
		tell("failed " + command);
	}

}
