package io.holdfast.aop;

import io.holdfast.annotation.OnLoss;
import io.holdfast.annotation.OnStoreFailure;
import io.holdfast.annotation.ReleaseAfter;
import org.jspecify.annotations.Nullable;

/**
 * The lease that an annotation asks for around calls of a method. Thread-safe.
 *
 * @param <R> the type of the requests
 * @param annotatedMethod the annotation
 * @param returnKind how the method gives its result
 * @param condition tells which calls need it, or {@code null} if all do
 * @param key gives the request of a call, or {@code null} if all calls have the same
 * @param same the request of all calls, if there is no key
 * @param notAcquiredHandler answers calls that do not get the lease
 * @param onStoreFailure the consequence of a failure of the store: {@code FALLBACK}
 * leaves the call to the handler; never {@code DEFAULT}
 * @param onLoss the consequence of a loss
 * @param releaseAfter when it is released
 * @param service the name of the bean that grants it, or empty
 * @param fenced whether databases refuse the transactions of a late holder
 */
record LeaseOperation<R>(AnnotatedMethod<?> annotatedMethod, ReturnKind returnKind, @Nullable CallExpression condition,
		@Nullable KeyExpression<R> key, R same, NotAcquiredHandler notAcquiredHandler, OnStoreFailure onStoreFailure,
		OnLoss onLoss, ReleaseAfter releaseAfter, String service, boolean fenced) {

}
