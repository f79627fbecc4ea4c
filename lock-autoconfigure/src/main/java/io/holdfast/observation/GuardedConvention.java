package io.holdfast.observation;

import java.util.List;
import java.util.Objects;
import java.util.function.Function;

import io.holdfast.async.Guard;
import io.micrometer.common.KeyValues;
import io.micrometer.observation.Observation;
import io.micrometer.observation.ObservationConvention;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

/**
 * A user's convention, in whose place the default answers where it throws: an observation
 * whose convention throws would never end. Thread-safe.
 *
 * @param convention the user's convention
 * @param fallback the default
 * @param <T> the contexts that it is for
 */
record GuardedConvention<T extends Observation.Context>(ObservationConvention<T> convention,
		ObservationConvention<T> fallback) implements ObservationConvention<T> {

	private static final Guard guard = new Guard(LogFactory.getLog(GuardedConvention.class),
			"An observation convention failed", "the default was used instead");

	/**
	 * Find the first that supports a context, and guard it; {@code null} if none does.
	 */
	static <T extends Observation.Context> @Nullable ObservationConvention<T> find(
			List<? extends ObservationConvention<T>> conventions, T context, ObservationConvention<T> fallback) {
		for (ObservationConvention<T> convention : conventions) {
			GuardedConvention<T> guarded = new GuardedConvention<>(convention, fallback);
			if (guarded.supportsContext(context)) {
				return guarded;
			}
		}
		return null;
	}

	private <V extends @Nullable Object> V ask(Function<ObservationConvention<T>, V> question) {
		return guard.get(() -> question.apply(this.convention), () -> question.apply(this.fallback));
	}

	@Override
	public boolean supportsContext(Observation.Context context) {
		return ask((asked) -> asked != this.fallback && asked.supportsContext(context));
	}

	@Override
	public @Nullable String getName() {
		return ask(ObservationConvention::getName);
	}

	@Override
	public @Nullable String getContextualName(T context) {
		return ask((asked) -> asked.getContextualName(context));
	}

	@Override
	public KeyValues getLowCardinalityKeyValues(T context) {
		return ask((asked) -> Objects.requireNonNull(asked.getLowCardinalityKeyValues(context),
				() -> asked.getClass().getName() + " has no low cardinality key values"));
	}

	@Override
	public KeyValues getHighCardinalityKeyValues(T context) {
		return ask((asked) -> Objects.requireNonNull(asked.getHighCardinalityKeyValues(context),
				() -> asked.getClass().getName() + " has no high cardinality key values"));
	}

}
