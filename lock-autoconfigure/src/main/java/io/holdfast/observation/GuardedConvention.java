package io.holdfast.observation;

import java.util.Objects;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Function;

import io.micrometer.common.KeyValues;
import io.micrometer.observation.Observation;
import io.micrometer.observation.ObservationConvention;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

/**
 * A user's convention, in whose place the default answers where it throws: an observation
 * whose convention throws would never end. Thread-safe.
 *
 * @param <T> the contexts that it is for
 */
final class GuardedConvention<T extends Observation.Context> implements ObservationConvention<T> {

	private static final Log logger = LogFactory.getLog(GuardedConvention.class);

	private static final AtomicBoolean warned = new AtomicBoolean();

	private final ObservationConvention<T> convention;

	private final ObservationConvention<T> fallback;

	private GuardedConvention(ObservationConvention<T> convention, ObservationConvention<T> fallback) {
		this.convention = convention;
		this.fallback = fallback;
	}

	/**
	 * Guard a convention.
	 * @param convention the convention to ask first, or {@code null} for none
	 * @param fallback answers where that throws
	 * @return the guarded convention, or {@code null} if there is nothing to guard
	 */
	static <T extends Observation.Context> @Nullable ObservationConvention<T> of(
			@Nullable ObservationConvention<T> convention, ObservationConvention<T> fallback) {
		return (convention != null) ? new GuardedConvention<>(convention, fallback) : null;
	}

	/** Return whether it is for a context. One that throws is not. */
	static boolean supports(ObservationConvention<?> convention, Observation.Context context) {
		try {
			return convention.supportsContext(context);
		}
		catch (RuntimeException | Error ex) {
			warn(convention, ex);
			return false;
		}
	}

	private <V extends @Nullable Object> V ask(Function<ObservationConvention<T>, V> question) {
		try {
			return question.apply(this.convention);
		}
		catch (RuntimeException | Error ex) {
			warn(this.convention, ex);
			return question.apply(this.fallback);
		}
	}

	private static void warn(ObservationConvention<?> convention, Throwable ex) {
		String message = "The observation convention " + convention.getClass().getName()
				+ " failed; the default was used instead";
		if (warned.compareAndSet(false, true)) {
			logger.warn(message + ". Further failures of conventions are logged as DEBUG", ex);
		}
		else {
			logger.debug(message, ex);
		}
	}

	@Override
	public boolean supportsContext(Observation.Context context) {
		return supports(this.convention, context);
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
				"No low cardinality key values"));
	}

	@Override
	public KeyValues getHighCardinalityKeyValues(T context) {
		return ask((convention) -> Objects.requireNonNull(convention.getHighCardinalityKeyValues(context),
				"No high cardinality key values"));
	}

}
