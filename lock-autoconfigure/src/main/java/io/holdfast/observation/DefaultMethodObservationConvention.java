package io.holdfast.observation;

import io.holdfast.aop.MethodObserver;
import io.holdfast.observation.HoldfastObservationDocumentation.Tag;
import io.micrometer.common.KeyValues;

/**
 * Default convention for {@link HoldfastObservationDocumentation#METHOD}. Thread-safe.
 *
 * @since 0.1.0
 */
public class DefaultMethodObservationConvention implements MethodObservationConvention {

	@Override
	public String getName() {
		return HoldfastObservationDocumentation.METHOD.getName();
	}

	@Override
	public String getContextualName(MethodObservationContext context) {
		return context.getTargetClass().getSimpleName() + "#" + MethodObserver.sourceName(context.getMethod());
	}

	@Override
	public KeyValues getLowCardinalityKeyValues(MethodObservationContext context) {
		return KeyValues.of(Tag.CLASS.withValue(context.getTargetClass().getName()),
				Tag.METHOD.withValue(MethodObserver.sourceName(context.getMethod())),
				Tag.UNGUARDED.withValue(Boolean.toString(context.isUnguarded())));
	}

}
