package io.holdfast.aop;

import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Future;

import org.jspecify.annotations.Nullable;

import org.springframework.core.KotlinDetector;
import org.springframework.core.ReactiveAdapter;
import org.springframework.core.ReactiveAdapterRegistry;
import org.springframework.core.ResolvableType;
import org.springframework.util.ClassUtils;

/**
 * Kind of a method's result.
 */
enum ReturnKind {

	/** The method returns when its work is done. */
	PLAIN,

	/** The method returns a stage that is completed later. */
	STAGE,

	/** The method returns a reactive type, or is a suspending function. */
	REACTIVE,

	/** The work goes on after the return, and its end cannot be observed. */
	UNSUPPORTED;

	static final String FLOW = "kotlinx.coroutines.flow.Flow";

	/** Spring adapts this type to a publisher, although it is a job under way. */
	private static final String DEFERRED = "kotlinx.coroutines.Deferred";

	private static final String SERVLET_ASYNC = "org.springframework.web.context.request.async.";

	private static final String SERVLET_STREAMING = "org.springframework.web.servlet.mvc.method.annotation.";

	/**
	 * Types of results whose work goes on after the return without a sign of its end,
	 * each with a type to return instead.
	 */
	private static final Map<String, String> OPEN_ENDED = Map.ofEntries(
			Map.entry("java.util.stream.BaseStream", "a List or a Flux"),
			Map.entry("java.util.Iterator", "a List or a Flux"), Map.entry("java.util.Spliterator", "a List or a Flux"),
			Map.entry("kotlin.sequences.Sequence", "a List"), Map.entry(FLOW, "a Flow itself"),
			Map.entry("kotlinx.coroutines.Job", "the result itself, from a suspending function"),
			Map.entry("kotlinx.coroutines.channels.ReceiveChannel", "a Flow"),
			Map.entry("kotlin.Lazy", "the result itself"), Map.entry("kotlin.Function", "the result itself"),
			Map.entry("java.util.concurrent.Callable", "the result itself or a CompletableFuture"),
			Map.entry("java.util.function.Supplier", "the result itself or a CompletableFuture"),
			Map.entry("org.reactivestreams.Publisher", "a Mono or Flux"),
			Map.entry(SERVLET_ASYNC + "WebAsyncTask", "the result itself or a CompletableFuture"),
			Map.entry(SERVLET_ASYNC + "DeferredResult", "a CompletableFuture or a Mono"),
			Map.entry(SERVLET_STREAMING + "StreamingResponseBody", "the whole body or a Flux"),
			Map.entry(SERVLET_STREAMING + "ResponseBodyEmitter", "the whole body or a Flux"));

	/** Collection types that are also suppliers. */
	private static final Set<String> STREAMABLE = Set.of("org.springframework.data.util.Streamable");

	/** Types that wrap a result. */
	private static final Set<String> WRAPPERS = Set.of("java.util.Optional", "org.springframework.http.HttpEntity");

	private static final boolean COROUTINES_REACTOR = ClassUtils.isPresent("kotlinx.coroutines.reactor.MonoKt",
			ReturnKind.class.getClassLoader());

	private static final boolean REACTOR = ClassUtils.isPresent("reactor.core.publisher.Flux",
			ReturnKind.class.getClassLoader());

	/**
	 * Return the kind of a method's result. The library of the result's type may be
	 * absent.
	 * @param annotatedMethod an annotation of the method
	 * @return the kind
	 */
	static ReturnKind of(AnnotatedMethod annotatedMethod) {
		if (missingLibrary(annotatedMethod) != null) {
			return UNSUPPORTED;
		}
		ReturnKind kind = of(annotatedMethod.returned());
		if (!annotatedMethod.isSuspending()) {
			return kind;
		}
		return (kind == PLAIN && isKotlin(annotatedMethod)) ? REACTIVE : UNSUPPORTED;
	}

	/**
	 * Return whether a method is written in Kotlin. Java methods may have a continuation,
	 * too.
	 */
	private static boolean isKotlin(AnnotatedMethod annotatedMethod) {
		return KotlinDetector.isKotlinType(annotatedMethod.method().getDeclaringClass());
	}

	/**
	 * Return the missing library for coroutines, or {@code null}.
	 */
	private static @Nullable String missingLibrary(AnnotatedMethod annotatedMethod) {
		boolean flow = FLOW.equals(annotatedMethod.returned().toClass().getName());
		if ((flow || annotatedMethod.isSuspending()) && !COROUTINES_REACTOR) {
			return "kotlinx-coroutines-reactor";
		}
		return (annotatedMethod.isSuspending() && !KotlinDetector.isKotlinReflectPresent()) ? "kotlin-reflect" : null;
	}

	private static ReturnKind of(ResolvableType returned) {
		ReturnKind kind = of(returned.toClass());
		boolean wraps = kind == STAGE || kind == REACTIVE || named(returned.toClass(), WRAPPERS) != null;
		// A nested result that is completed after the release would not be covered by the
		// lock.
		return (wraps && of(returned.getGeneric()) != PLAIN) ? UNSUPPORTED : kind;
	}

	/**
	 * Return the kind of a result by its type alone.
	 * @param type the type of the result
	 * @return the kind
	 */
	static ReturnKind of(Class<?> type) {
		if (CompletionStage.class.isAssignableFrom(type) && type.isAssignableFrom(CompletableFuture.class)) {
			return STAGE;
		}
		ReactiveAdapter adapter = ReactiveAdapterRegistry.getSharedInstance().getAdapter(type);
		if (REACTOR && adapter != null && adapter.getDescriptor().isDeferred()
				&& type.isAssignableFrom(adapter.getReactiveType()) && !type.getName().equals(DEFERRED)) {
			return REACTIVE;
		}
		boolean later = adapter != null || CompletionStage.class.isAssignableFrom(type)
				|| Future.class.isAssignableFrom(type) || openEnded(type) != null;
		return later ? UNSUPPORTED : PLAIN;
	}

	/**
	 * Return the exception for a method with an unsupported result.
	 * @param annotatedMethod an annotation of the method
	 * @return the exception
	 */
	static InvalidDeclarationException unsupported(AnnotatedMethod annotatedMethod) {
		boolean suspends = annotatedMethod.isSuspending();
		String missing = missingLibrary(annotatedMethod);
		String does = suspends && of(annotatedMethod.returned()) == PLAIN ? "suspends"
				: "returns " + annotatedMethod.returned();
		String why = (missing != null) ? ", and " + missing + " is not on the class path" : "";
		return annotatedMethod.invalid("would not last until the work is done, because the method " + does + why,
				(missing != null) ? "Add " + missing
						: "Return " + instead(annotatedMethod) + ", or annotate the method that does the work");
	}

	/**
	 * Return a description of the type to return in place of an unsupported result.
	 * @param annotatedMethod an annotation of the method
	 * @return the description
	 */
	static String instead(AnnotatedMethod annotatedMethod) {
		String name = openEnded(annotatedMethod.returned().toClass());
		String instead = (name != null) ? OPEN_ENDED.get(name) : null;
		if (annotatedMethod.isSuspending()) {
			boolean plain = of(annotatedMethod.returned()) != UNSUPPORTED;
			return !isKotlin(annotatedMethod) ? "a Mono"
					: plain ? "the result itself, or leave out suspend" : "the result itself";
		}
		return (instead != null) ? instead : "the result itself, a CompletableFuture, CompletionStage, Mono or Flux";
	}

	private static @Nullable String openEnded(Class<?> type) {
		return (named(type, STREAMABLE) != null) ? null : named(type, OPEN_ENDED.keySet());
	}

	/**
	 * Return the first of the given names that a type or one of its supertypes has, or
	 * {@code null}.
	 */
	private static @Nullable String named(@Nullable Class<?> type, Set<String> names) {
		if (type == null || names.contains(type.getName())) {
			return (type != null) ? type.getName() : null;
		}
		String found = named(type.getSuperclass(), names);
		for (Class<?> implemented : type.getInterfaces()) {
			found = (found != null) ? found : named(implemented, names);
		}
		return found;
	}

}
