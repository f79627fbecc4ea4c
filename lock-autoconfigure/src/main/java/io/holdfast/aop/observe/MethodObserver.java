package io.holdfast.aop.observe;

import java.lang.reflect.Method;

import org.jspecify.annotations.Nullable;

/**
 * Observes the calls of annotated methods, from before what they need is acquired until
 * it is released. What it throws is logged, the first time as a warning, and disturbs no
 * call. Thread-safe.
 */
public interface MethodObserver {

	/**
	 * Under what key Reactor's context has what a chain is observed as. Throws nothing.
	 * @return the key, always the same
	 */
	Object contextKey();

	/**
	 * A call begins that needs a lock or permits. Called on the thread of the caller or,
	 * for reactive types, of the subscriber.
	 * @param method the method, as it was called
	 * @param targetClass the class of the object that is called
	 * @param parent what Reactor's context has under the {@linkplain #contextKey() key};
	 * {@code null} if that is nothing, or there is no such context
	 * @return the call
	 */
	Call began(Method method, Class<?> targetClass, @Nullable Object parent);

	/**
	 * One call, or one subscription.
	 */
	interface Call {

		/**
		 * Make it what the current thread observes, until the scope is closed on the same
		 * thread.
		 * @return the scope
		 */
		ObservationScope open();

		/**
		 * Return what Reactor's context is to have under the key. Throws nothing.
		 * @return the value
		 */
		Object contextValue();

		/**
		 * It is over.
		 * @param failure what the caller gets instead of a result, or {@code null}
		 */
		void ended(@Nullable Throwable failure);

	}

	/**
	 * The time for which a call is what a thread observes.
	 */
	interface ObservationScope {

		/** Put back what the thread observed before. */
		void close();

	}

}
