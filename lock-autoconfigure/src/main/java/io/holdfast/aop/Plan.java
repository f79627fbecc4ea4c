package io.holdfast.aop;

import org.jspecify.annotations.Nullable;

/**
 * What an annotation says of the calls of a method. Thread-safe.
 *
 * @param <R> the type of the requests
 * @param declaration the annotation
 * @param resultKind how the method gives its result
 * @param condition tells which calls need it, or {@code null} if all do
 * @param requests what is asked for
 * @param wayOut what becomes of calls that cannot have it
 */
record Plan<R>(Declaration<?> declaration, ResultKind resultKind, @Nullable Condition condition,
		RequestTemplate<R> requests, WayOut wayOut) {

}
