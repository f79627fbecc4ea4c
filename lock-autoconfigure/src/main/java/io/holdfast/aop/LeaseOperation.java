package io.holdfast.aop;

import java.util.List;

import io.holdfast.LeaseRequest;
import io.holdfast.LockRequest;
import io.holdfast.SemaphoreRequest;
import io.holdfast.annotation.OnLoss;
import io.holdfast.annotation.OnStoreFailure;
import io.holdfast.annotation.ReleaseAfter;
import org.aopalliance.intercept.MethodInvocation;
import org.jspecify.annotations.Nullable;

/**
 * The lease that an annotation asks for around calls of a method. Thread-safe.
 *
 * @param annotatedMethod the annotation
 * @param returnKind how the method gives its result
 * @param condition tells which calls need it, or {@code null} if all do
 * @param key gives the key of a call, or {@code null} if all calls have the same
 * @param keyPrefix the text before each key of a call
 * @param same the request of all calls, if there is no key
 * @param notAcquiredHandler answers calls that do not get the lease
 * @param onStoreFailure the consequence of a failure of the store: {@code FALLBACK}
 * leaves the call to the handler; never {@code DEFAULT}
 * @param onLoss the consequence of a loss
 * @param releaseAfter when it is released
 * @param service the name of the bean that grants it, or empty
 * @param fenced whether databases refuse the transactions of a late holder
 * @param inTurns whether this is a scheduled method that each instance runs in its turn:
 * it waits for its lock, and the end of one run lets the next instance in
 */
record LeaseOperation(AnnotatedMethod annotatedMethod, ReturnKind returnKind, @Nullable CallExpression condition,
		@Nullable CallExpression key, String keyPrefix, LeaseRequest<?> same, NotAcquiredHandler notAcquiredHandler,
		OnStoreFailure onStoreFailure, OnLoss onLoss, ReleaseAfter releaseAfter, String service, boolean fenced,
		boolean inTurns) {

	/** Return the request for another key, with the same terms. */
	static LeaseRequest<?> only(LeaseRequest<?> request, String key) {
		return (request instanceof LockRequest lock) ? lock.only(key) : ((SemaphoreRequest) request).only(key);
	}

	/** Return whether it is a lock; else it is permits. */
	boolean isLock() {
		return this.same instanceof LockRequest;
	}

	/**
	 * Return the request of a call, or {@code null} if the call needs no lease.
	 * @throws IllegalArgumentException if the call yields no key, or a condition that is
	 * neither true nor false
	 */
	@Nullable LeaseRequest<?> request(MethodInvocation invocation) {
		@Nullable Object[] arguments = invocation.getArguments();
		if (this.condition != null && !this.condition.holds(invocation.getThis(), arguments)) {
			return null;
		}
		if (this.key == null) {
			return this.same;
		}
		List<String> keys = this.key.keys(invocation.getThis(), arguments, this.keyPrefix, isLock());
		try {
			return (this.same instanceof LockRequest lock && keys.size() > 1) ? lock.only(keys)
					: only(this.same, keys.get(0));
		}
		catch (IllegalArgumentException ex) {
			throw this.key.failed("text that cannot be a key: " + ex.getMessage(), ex);
		}
	}

}
