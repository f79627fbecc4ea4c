package io.holdfast.aop;

import java.lang.annotation.Annotation;
import java.util.function.BiFunction;
import java.util.function.Supplier;

import io.holdfast.Lease;
import io.holdfast.ReleaseResult;
import org.aopalliance.intercept.MethodInvocation;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

/**
 * One of the annotations: where it is declared, and who grants what it asks for.
 * Thread-safe.
 *
 * @param <A> the annotation's type
 * @param <R> the type of the requests
 * @param <S> the type of the service that grants them
 */
final class Guard<A extends Annotation, R, S> {

	private static final Log logger = LogFactory.getLog(Guard.class);

	private final String noun;

	private final Declarations<A, RequestTemplate<R>> declarations;

	private final Supplier<S> services;

	private final BiFunction<S, R, Lease> acquisition;

	private volatile @Nullable S service;

	/**
	 * Create the guard.
	 * @param noun what is held, for messages: the key follows
	 * @param declarations where the annotation is declared
	 * @param services gives the service; asked at the first call of an annotated method
	 * @param acquisition how the service is asked
	 */
	Guard(String noun, Declarations<A, RequestTemplate<R>> declarations, Supplier<S> services,
			BiFunction<S, R, Lease> acquisition) {
		this.noun = noun;
		this.declarations = declarations;
		this.services = services;
		this.acquisition = acquisition;
	}

	Declarations<A, RequestTemplate<R>> declarations() {
		return this.declarations;
	}

	/**
	 * Acquire what a call needs. Blocks for the declared wait time at most.
	 * @param invocation the call
	 * @param targetClass the class of the object that is called
	 * @return what is to be released, or {@code null} if nothing is declared
	 */
	@Nullable Held acquire(MethodInvocation invocation, Class<?> targetClass) {
		RequestTemplate<R> template = this.declarations.find(invocation.getMethod(), targetClass);
		if (template == null) {
			return null;
		}
		R request = template.request(invocation.getThis(), invocation.getArguments());
		Lease lease = this.acquisition.apply(service(), request);
		return new Held(this.noun, lease, template.declaration());
	}

	/**
	 * Asked for at the first call, so that advised beans may be created before it. Not
	 * guarded: a lock held while a bean is looked up could wait for its creator.
	 */
	private S service() {
		S known = this.service;
		if (known == null) {
			known = this.services.get();
			this.service = known;
		}
		return known;
	}

	/**
	 * What was acquired for one call.
	 *
	 * @param noun what it is, for messages
	 * @param lease its lease
	 * @param declaration what asked for it
	 */
	record Held(String noun, Lease lease, Declaration<?> declaration) {

		/** Throws nothing, so as not to hide what the method threw. */
		void release() {
			try {
				if (this.lease.release() == ReleaseResult.LOST) {
					logger.warn(what() + " was lost while " + this.declaration.qualifiedMethodName()
							+ " ran: others may have held it at the same time");
				}
			}
			catch (RuntimeException ex) {
				logger.warn(what() + " of " + this.declaration.qualifiedMethodName()
						+ " was not released at once; it ends with its lease at the latest", ex);
			}
		}

		private String what() {
			return this.noun + " '" + this.lease.key() + "'";
		}

	}

}
