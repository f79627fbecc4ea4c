package io.holdfast.aop;

/**
 * What an annotation says of the calls of a method. Thread-safe.
 *
 * @param <R> the type of the requests
 * @param declaration the annotation
 * @param resultKind how the method gives its result
 * @param requests what is asked for
 */
record Plan<R>(Declaration<?> declaration, ResultKind resultKind, RequestTemplate<R> requests) {

}
