package io.holdfast.aop;

import java.lang.reflect.Method;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Future;

import org.jspecify.annotations.Nullable;

import org.springframework.core.KotlinDetector;
import org.springframework.core.ReactiveAdapterRegistry;

/**
 * How a method gives its result.
 */
enum ResultKind {

	/** By returning it. */
	PLAIN,

	/** By returning what gives it later: a future, a stage, or a reactive type. */
	LATER;

	private static final String PUBLISHER = "org.reactivestreams.Publisher";

	/**
	 * How a method gives its result. The libraries behind reactive types need not be
	 * there.
	 * @param declaration an annotation of the method
	 * @return the kind; {@link #LATER} if the method may return before its work is done
	 */
	static ResultKind of(Declaration<?> declaration) {
		return isLater(declaration.method(), declaration.returned().toClass()) ? LATER : PLAIN;
	}

	private static boolean isLater(Method method, Class<?> type) {
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
