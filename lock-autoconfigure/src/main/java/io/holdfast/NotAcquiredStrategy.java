package io.holdfast;

import java.lang.reflect.Method;

import org.jspecify.annotations.Nullable;

/**
 * Answer to calls of annotated methods that did not get their lock or permits, for the
 * whole application: a bean of this type is asked where the annotation has neither
 * {@code onTimeout} nor {@code fallback}. A bean with a scope is that of the call, also
 * for futures and chains. Without such a bean, or outside of its scope, the caller gets
 * the exception.
 *
 * @since 0.1.0
 */
@FunctionalInterface
public interface NotAcquiredStrategy {

	/**
	 * Give a result in place of the method, or throw an exception of the application's
	 * own. Not asked for an interrupted wait, nor for a thread that would block itself.
	 * Runs on the thread of the call, or for futures and chains on one of Holdfast's, and
	 * must be thread-safe.
	 * @param method the method that was called, and has not run
	 * @param ex why it was not acquired, with key and reason
	 * @return the result: of the method's return type, so a future or chain for methods
	 * that return one, and for a suspending function of Kotlin the result itself;
	 * {@code null} only where that is allowed
	 * @throws Throwable for the caller
	 */
	@Nullable Object answer(Method method, NotAcquiredException ex) throws Throwable;

}
