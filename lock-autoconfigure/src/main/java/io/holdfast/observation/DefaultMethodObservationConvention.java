package io.holdfast.observation;

import java.lang.reflect.Proxy;

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
		return namedClass(context).getSimpleName() + "#" + MethodObserver.sourceName(context.getMethod());
	}

	@Override
	public KeyValues getLowCardinalityKeyValues(MethodObservationContext context) {
		return KeyValues.of(Tag.CLASS.withValue(namedClass(context).getName()),
				Tag.METHOD.withValue(MethodObserver.sourceName(context.getMethod())),
				Tag.UNGUARDED.withValue(Boolean.toString(context.isUnguarded())));
	}

	/**
	 * Return the called object's class. The names of lambdas and proxies vary from
	 * process to process, and would add new tags with each start.
	 */
	private static Class<?> namedClass(MethodObservationContext context) {
		Class<?> type = context.getTargetClass();
		return (type.isHidden() || Proxy.isProxyClass(type)) ? context.getMethod().getDeclaringClass() : type;
	}

}
