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
 * User's convention with a fallback to the default convention on exceptions. Without the
 * fallback, an observation whose convention throws an exception would never end.
 * Thread-safe.
 *
 * @param convention the user's convention
 * @param fallback the default convention
 * @param <T> the type of the context
 */
record GuardedConvention<T extends Observation.Context>(ObservationConvention<T> convention,
		ObservationConvention<T> fallback) implements ObservationConvention<T> {

	private static final Guard guard = new Guard(LogFactory.getLog(GuardedConvention.class),
			"An observation convention failed", "the default was used instead");

	/**
	 * Return the first convention that supports a context, with a fallback, or
	 * {@code null} if none does.
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
		return ask((convention) -> convention != this.fallback && convention.supportsContext(context));
	}

	@Override
	public @Nullable String getName() {
		return ask(ObservationConvention::getName);
	}

	@Override
	public @Nullable String getContextualName(T context) {
		return ask((convention) -> convention.getContextualName(context));
	}

	@Override
	public KeyValues getLowCardinalityKeyValues(T context) {
		return ask((convention) -> Objects.requireNonNull(convention.getLowCardinalityKeyValues(context),
				() -> convention.getClass().getName() + " has no low cardinality key values"));
	}

	@Override
	public KeyValues getHighCardinalityKeyValues(T context) {
		return ask((convention) -> Objects.requireNonNull(convention.getHighCardinalityKeyValues(context),
				() -> convention.getClass().getName() + " has no high cardinality key values"));
	}

}
