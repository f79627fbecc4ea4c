package io.holdfast.observation;

import java.lang.reflect.Method;

import io.holdfast.aop.MethodObserver;
import io.micrometer.observation.Observation;

/**
 * The context of the observation of a call of an annotated method.
 *
 * @since 0.1.0
 */
public final class MethodObservationContext extends Observation.Context {

	private final Method method;

	private final Class<?> targetClass;

	MethodObservationContext(Method method, Class<?> targetClass) {
		this.method = method;
		this.targetClass = targetClass;
		// For conventions that have no names.
		setName(HoldfastObservationDocumentation.METHOD.getName());
		setContextualName(HoldfastObservationDocumentation.METHOD.getContextualName());
	}

	/**
	 * Return the method, as it was called: perhaps of an interface.
	 * @return the method
	 */
	public Method getMethod() {
		return this.method;
	}

	/**
	 * Return the class of the object that is called.
	 * @return the class, not that of a proxy
	 */
	public Class<?> getTargetClass() {
		return this.targetClass;
	}

	/**
	 * Return whether the method runs without its permits, as the store failed.
	 * @return whether it does; known when the call is over
	 */
	public boolean isUnguarded() {
		return Boolean.TRUE.equals(get(MethodObserver.UNGUARDED));
	}

}
