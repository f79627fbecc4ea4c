package io.holdfast.aop;

import java.lang.reflect.Method;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Future;

import org.jspecify.annotations.Nullable;

import org.springframework.core.KotlinDetector;
import org.springframework.core.ReactiveAdapterRegistry;

/**
 * Tells results from promises of results.
 */
final class ReturnTypes {

	private static final String PUBLISHER = "org.reactivestreams.Publisher";

	private ReturnTypes() {
	}

	/**
	 * Whether a method may return before its work is done. The libraries behind reactive
	 * types need not be there.
	 * @param method the method
	 * @param type what it returns
	 * @return whether its result only comes later
	 */
	static boolean isAsynchronous(Method method, Class<?> type) {
		return CompletionStage.class.isAssignableFrom(type) || Future.class.isAssignableFrom(type) || isPublisher(type)
				|| ReactiveAdapterRegistry.getSharedInstance().getAdapter(type) != null
				|| KotlinDetector.isSuspendingFunction(method);
	}

	private static boolean isPublisher(@Nullable Class<?> type) {
		if (type == null || type.getName().equals(PUBLISHER) || isPublisher(type.getSuperclass())) {
			return type != null;
		}
		for (Class<?> implemented : type.getInterfaces()) {
			if (isPublisher(implemented)) {
				return true;
			}
		}
		return false;
	}

}
