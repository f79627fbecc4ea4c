package io.holdfast;

import java.lang.reflect.Method;

import org.jspecify.annotations.Nullable;

/**
 * Application-wide handling of calls of annotated methods whose lock or permits were not
 * acquired. A bean of this type applies to annotations with neither {@code onTimeout} nor
 * {@code fallback}. A scoped bean is resolved in the scope of the call, also for futures
 * and reactive chains. Without a bean, or outside the bean's scope, the caller gets the
 * exception.
 *
 * @since 0.1.0
 */
@FunctionalInterface
public interface NotAcquiredStrategy {

	/**
	 * Return a result in place of the method's result, or throw an exception. Not called
	 * after an interrupted wait, nor for a thread that would wait for itself. Runs on the
	 * calling thread, or on a Holdfast thread for futures and reactive chains. Must be
	 * thread-safe.
	 * @param method the annotated method, which has not run
	 * @param ex the exception, with the key and the reason
	 * @return the result, of the method's return type: a future or a reactive type for
	 * methods that return one, but the plain result for a suspending function of Kotlin.
	 * {@code null} only where the method may return {@code null}. Another result fails
	 * the call with an {@link IllegalStateException}
	 * @throws Throwable an exception for the caller
	 */
	@Nullable Object answer(Method method, NotAcquiredException ex) throws Throwable;

}
