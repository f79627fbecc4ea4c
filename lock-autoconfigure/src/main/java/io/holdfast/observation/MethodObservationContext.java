package io.holdfast.observation;

import java.lang.reflect.Method;

import io.holdfast.aop.MethodObserver;
import io.micrometer.observation.Observation;

/**
 * Context of the observation of a call of an annotated method.
 *
 * @since 0.1.0
 */
public final class MethodObservationContext extends Observation.Context {

	private final Method method;

	private final Class<?> targetClass;

	MethodObservationContext(Method method, Class<?> targetClass) {
		this.method = method;
		this.targetClass = targetClass;
		// For conventions without names.
		setName(HoldfastObservationDocumentation.METHOD.getName());
		setContextualName(HoldfastObservationDocumentation.METHOD.getContextualName());
	}

	/**
	 * Return the called method, which may be that of an interface.
	 * @return the method
	 */
	public Method getMethod() {
		return this.method;
	}

	/**
	 * Return the class of the called object.
	 * @return the class, without proxies
	 */
	public Class<?> getTargetClass() {
		return this.targetClass;
	}

	/**
	 * Return whether the method runs without permits because the store failed.
	 * @return whether the method runs without permits; only reliable after the end of the
	 * call
	 */
	public boolean isUnguarded() {
		return Boolean.TRUE.equals(get(MethodObserver.UNGUARDED));
	}

}
