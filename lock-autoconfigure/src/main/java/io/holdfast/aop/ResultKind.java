package io.holdfast.aop;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Future;

import org.jspecify.annotations.Nullable;

import org.springframework.core.KotlinDetector;
import org.springframework.core.ReactiveAdapter;
import org.springframework.core.ReactiveAdapterRegistry;
import org.springframework.util.ClassUtils;

/**
 * How a method gives its result.
 */
enum ResultKind {

	/** By returning it. */
	PLAIN,

	/** By a stage that is completed later. */
	STAGE,

	/** By a reactive type, for each subscription anew. */
	REACTIVE,

	/** Later, in a way that cannot be followed. */
	UNSUPPORTED;

	private static final String PUBLISHER = "org.reactivestreams.Publisher";

	private static final boolean REACTOR = ClassUtils.isPresent("reactor.core.publisher.Flux",
			ResultKind.class.getClassLoader());

	/**
	 * How a method gives its result. The libraries behind reactive types need not be
	 * there.
	 * @param declaration an annotation of the method
	 * @return the kind
	 */
	static ResultKind of(Declaration<?> declaration) {
		Class<?> type = declaration.returned().toClass();
		if (KotlinDetector.isSuspendingFunction(declaration.method())) {
			return UNSUPPORTED;
		}
		if (CompletionStage.class.isAssignableFrom(type) && type.isAssignableFrom(CompletableFuture.class)) {
			return STAGE;
		}
		ReactiveAdapter adapter = ReactiveAdapterRegistry.getSharedInstance().getAdapter(type);
		if (REACTOR && adapter != null && adapter.getDescriptor().isDeferred()
				&& type.isAssignableFrom(adapter.getReactiveType())) {
			return REACTIVE;
		}
		boolean later = adapter != null || CompletionStage.class.isAssignableFrom(type)
				|| Future.class.isAssignableFrom(type) || isPublisher(type);
		return later ? UNSUPPORTED : PLAIN;
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
