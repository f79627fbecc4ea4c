package io.holdfast.aop;

import java.lang.reflect.Method;

import io.micrometer.observation.Observation;
import org.jspecify.annotations.Nullable;

/**
 * Observes the calls of annotated methods, from before their leases are acquired until
 * these are released. An exception of an observer is logged, the first time as a warning,
 * and disturbs no call. Thread-safe.
 *
 * @since 0.1.0
 */
@FunctionalInterface
public interface MethodObserver {

	/**
	 * The key of {@link Boolean#TRUE} in the context of an observation whose method runs
	 * without its permits.
	 */
	String UNGUARDED = "io.holdfast.unguarded";

	/**
	 * Start to observe a call that needs a lock or permits. Called on the thread of the
	 * caller or, for reactive types, of the subscriber.
	 * @param method the method, as it was called
	 * @param targetClass the class of the object that is called
	 * @param parent the observation in the context of Reactor; {@code null} for that of
	 * the thread
	 * @return the observation, which has been started
	 */
	Observation start(Method method, Class<?> targetClass, @Nullable Observation parent);

	/**
	 * Return the name of a method as it is written: in byte code, Kotlin adds a hash for
	 * value classes, and to internal functions the name of their module.
	 * @param method the method
	 * @return the name
	 */
	static String sourceName(Method method) {
		return AnnotatedMethod.sourceName(method);
	}

}
