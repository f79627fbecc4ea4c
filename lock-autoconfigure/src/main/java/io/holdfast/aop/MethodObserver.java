package io.holdfast.aop;

import java.lang.reflect.Method;

import io.micrometer.observation.Observation;
import org.jspecify.annotations.Nullable;

/**
 * Observer of the calls of annotated methods, from before the acquisition of their leases
 * until after the release. Exceptions of observers are logged, the first time as a
 * warning, and do not affect calls. Thread-safe.
 *
 * @since 0.1.0
 */
@FunctionalInterface
public interface MethodObserver {

	/**
	 * Key in the context of an observation, with the value {@link Boolean#TRUE}, if the
	 * method runs without permits.
	 */
	String UNGUARDED = "io.holdfast.unguarded";

	/**
	 * Start the observation of a call that needs a lock or permits. Called on the
	 * caller's thread or, for reactive types, on the subscriber's thread.
	 * @param method the called method
	 * @param targetClass the class of the called object
	 * @param parent the observation in Reactor's context, or {@code null} for the
	 * thread's observation
	 * @return the started observation
	 */
	Observation start(Method method, Class<?> targetClass, @Nullable Observation parent);

	/**
	 * Return the name of a method in its source code. In byte code, Kotlin appends a hash
	 * for value classes, and the name of the module for internal functions.
	 * @param method the method
	 * @return the name
	 */
	static String sourceName(Method method) {
		return AnnotatedMethod.sourceName(method);
	}

}
