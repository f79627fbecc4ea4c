package io.holdfast.aop;

import java.lang.annotation.Annotation;
import java.lang.reflect.Method;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Predicate;
import java.util.function.Supplier;

import io.holdfast.HoldfastException;
import io.holdfast.KeyNamespace;
import io.holdfast.Lease;
import io.holdfast.LeaseContext;
import io.holdfast.LeaseRequest;
import io.holdfast.LeaseStoreException;
import io.holdfast.NotAcquiredException;
import io.holdfast.NotAcquiredException.Reason;
import io.holdfast.NotAcquiredStrategy;
import io.holdfast.annotation.OnStoreFailure;
import io.holdfast.annotation.ReleaseAfter;
import io.holdfast.aop.expression.Condition;
import io.holdfast.aop.invoke.HeldMethodLease;
import io.holdfast.aop.invoke.MethodLease;
import io.holdfast.aop.invoke.MethodLeaseSource;
import io.holdfast.aop.invoke.SpringTransactionBinding;
import io.holdfast.aop.invoke.TransactionShare;
import io.holdfast.aop.metadata.LeaseOperation;
import io.holdfast.aop.metadata.LeaseOperationSource;
import io.holdfast.aop.method.InvalidDeclarationException;
import io.holdfast.aop.method.ReturnKind;
import io.holdfast.aop.outcome.NotAcquiredHandler;
import io.holdfast.aop.outcome.StrategyHandler;
import io.holdfast.async.CallResult;
import org.aopalliance.intercept.MethodInvocation;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

import org.springframework.beans.factory.BeanFactory;
import org.springframework.beans.factory.config.AutowireCapableBeanFactory;
import org.springframework.core.annotation.MergedAnnotations;
import org.springframework.core.annotation.MergedAnnotations.SearchStrategy;

/**
 * One of the annotations: where it is declared, and which service grants its leases.
 * Thread-safe.
 *
 * @param <A> the annotation's type
 * @param <R> the type of the requests
 * @param <S> the type of the service that grants them
 */
final class LeaseAnnotationHandler<A extends Annotation, R extends LeaseRequest<R>, S> {

	private static final Log logger = LogFactory.getLog(LeaseAnnotationHandler.class);

	private static final String SCHEDULED = "org.springframework.scheduling.annotation.Scheduled";

	private final LeaseOperationSource<A, LeaseOperation<R>> operations;

	private final LeaseServiceResolver<S> services;

	private final LeaseSource<S, R> source;

	private @Nullable BeanFactory beanFactory;

	private @Nullable ApplicationBean<KeyNamespace> namespace;

	private @Nullable ApplicationBean<NotAcquiredStrategy> strategy;

	/**
	 * The services that failed when they were asked last, of which a warning was logged.
	 */
	private final Set<S> failing = ConcurrentHashMap.newKeySet();

	/** The fenced methods of which a warning was logged. */
	private final Set<Method> unchecked = ConcurrentHashMap.newKeySet();

	LeaseAnnotationHandler(LeaseOperationSource<A, LeaseOperation<R>> operations, LeaseServiceResolver<S> services,
			LeaseSource<S, R> source) {
		this.operations = operations;
		this.services = services;
		this.source = source;
	}

	LeaseOperationSource<A, LeaseOperation<R>> operations() {
		return this.operations;
	}

	void setBeanFactory(BeanFactory beanFactory) {
		this.beanFactory = beanFactory;
		this.services.setBeanFactory(beanFactory);
		if (beanFactory instanceof AutowireCapableBeanFactory beans) {
			this.namespace = new ApplicationBean<>(beans, KeyNamespace.class);
			this.strategy = new ApplicationBean<>(beans, NotAcquiredStrategy.class);
		}
	}

	/**
	 * Check the beans that calls will need, once all beans are there.
	 * @throws InvalidDeclarationException if a service is not there, or one of several is
	 * to be chosen
	 */
	void checkBeans() {
		this.services.checkExpected();
		if (this.namespace != null) {
			this.namespace.find();
		}
		if (this.strategy != null) {
			this.strategy.find();
		}
	}

	/**
	 * Check all that a type declares.
	 * @param classProxy whether the proxy is a subclass of the type
	 * @param callback whether the container calls a method past the proxy
	 * @throws InvalidDeclarationException if something cannot be applied
	 */
	void check(Class<?> type, boolean classProxy, Predicate<Method> callback) {
		this.operations.check(type, classProxy, callback).forEach(this.services::expect);
	}

	/**
	 * Return what the annotation asks for around the calls of a method. Searches each
	 * time.
	 * @return what it asks for, or {@code null} if the method has no such annotation
	 * @throws InvalidDeclarationException if it cannot be applied
	 */
	@Nullable MethodOperation find(Method method, Class<?> targetClass) {
		LeaseOperation<R> operation = this.operations.find(method, targetClass);
		return (operation != null) ? new HandledOperation(operation) : null;
	}

	/** Return the kind of the leases, for messages. */
	String noun() {
		return this.source.noun();
	}

	/** Warn once of a fenced method whose call began no transaction that was checked. */
	void warnOfUnchecked(LeaseOperation<?> operation) {
		if (this.unchecked.add(operation.annotatedMethod().method())) {
			logger.warn(operation.annotatedMethod() + " is fenced, but a call began no transaction that was checked: "
					+ "what it wrote without one, in a read-only one or on another thread, a late holder writes, too. "
					+ "Write in a transaction of the fenced DataSource, or leave out fenced. Further calls are not logged");
		}
	}

	/** Return the handler of a call of the current thread that gets no lease. */
	private NotAcquiredHandler handler(LeaseOperation<?> operation) {
		NotAcquiredHandler declared = operation.notAcquiredHandler();
		ApplicationBean<NotAcquiredStrategy> bean = this.strategy;
		if (declared != NotAcquiredHandler.THROW || bean == null) {
			return declared;
		}
		try {
			return bean.find()
				.<NotAcquiredHandler>map((strategy) -> new StrategyHandler(strategy.get(), operation.returnKind(),
						operation.annotatedMethod()))
				.orElse(declared);
		}
		catch (Throwable missing) {
			// It may never be needed, and does not hide why a call got no lease.
			return (call, ex) -> {
				ex.addSuppressed(missing);
				throw ex;
			};
		}
	}

	/** An annotation of one method, and the service for it. Thread-safe. */
	interface MethodOperation {

		/** Return what the annotation says. */
		LeaseOperation<?> operation();

		/**
		 * Return whether the call of the method at the start prepares all of its runs.
		 */
		boolean isScheduled();

		/**
		 * Return what is to be acquired for a call.
		 * @return the lease, or {@code null} if the call needs nothing
		 * @throws IllegalArgumentException if the call yields no key, or a condition that
		 * is neither true nor false
		 */
		@Nullable MethodLease lease(MethodInvocation invocation);

		/**
		 * Return the source of the leases of a call, one for each subscription to its
		 * result. The namespace and the strategy of the current thread serve them all:
		 * later threads may be out of their scope.
		 */
		MethodLeaseSource leases(MethodInvocation invocation);

	}

	private final class HandledOperation implements MethodOperation {

		private final LeaseOperation<R> operation;

		private final boolean scheduled;

		private final boolean keptAfterFailure;

		/** Known from the first call on. */
		private volatile @Nullable S service;

		/** Gives it to each call. Known from the first call on. */
		private volatile @Nullable Optional<Supplier<KeyNamespace>> namespace;

		HandledOperation(LeaseOperation<R> operation) {
			this.operation = operation;
			this.scheduled = MergedAnnotations.from(operation.annotatedMethod().method(), SearchStrategy.TYPE_HIERARCHY)
				.isPresent(SCHEDULED);
			this.keptAfterFailure = LeaseAnnotationHandler.this.source.keptAfterFailure();
		}

		@Override
		public LeaseOperation<?> operation() {
			return this.operation;
		}

		@Override
		public boolean isScheduled() {
			return this.scheduled;
		}

		@Override
		public @Nullable MethodLease lease(MethodInvocation invocation) {
			R request = request(invocation);
			if (request == null) {
				return null;
			}
			// By the caller's thread: a second lease may be asked for on another one.
			KeyNamespace namespace = namespace().map(Supplier::get).orElse(null);
			return new CallLease(invocation, this.operation, (namespace != null) ? namespace.apply(request) : request,
					service(), (this.operation.returnKind() != ReturnKind.PLAIN) ? handler(this.operation) : null,
					this.keptAfterFailure ? CallAttempts.of(invocation) : null);
		}

		@Override
		public MethodLeaseSource leases(MethodInvocation invocation) {
			NotAcquiredHandler handler = handler(this.operation);
			// The runs of a scheduled method are no retries of one another.
			CallAttempts attempts = (this.keptAfterFailure && !this.scheduled) ? new CallAttempts() : null;
			KeyNamespace namespace = null;
			try {
				KeyNamespace bean = namespace().map(Supplier::get).orElse(null);
				if (bean != null) {
					String current = bean.current();
					namespace = () -> current;
				}
			}
			catch (Throwable missing) {
				// A call whose condition is false does not need it.
				return () -> {
					if (request(invocation) != null) {
						throw missing;
					}
					return null;
				};
			}
			KeyNamespace kept = namespace;
			return () -> {
				R request = request(invocation);
				return (request != null) ? new CallLease(invocation, this.operation,
						(kept != null) ? kept.apply(request) : request, service(), handler, attempts) : null;
			};
		}

		/** Return {@code null} if the call needs nothing. */
		private @Nullable R request(MethodInvocation invocation) {
			Condition condition = this.operation.condition();
			return (condition == null || condition.holds(invocation.getThis(), invocation.getArguments()))
					? this.operation.requests().request(invocation.getThis(), invocation.getArguments()) : null;
		}

		private Optional<Supplier<KeyNamespace>> namespace() {
			Optional<Supplier<KeyNamespace>> known = this.namespace;
			if (known == null) {
				ApplicationBean<KeyNamespace> bean = LeaseAnnotationHandler.this.namespace;
				known = (bean != null) ? bean.find() : Optional.empty();
				this.namespace = known;
			}
			return known;
		}

		private S service() {
			S known = this.service;
			if (known == null) {
				known = LeaseAnnotationHandler.this.services.find(this.operation);
				this.service = known;
			}
			return known;
		}

	}

	/**
	 * The lease of one call.
	 */
	private final class CallLease implements MethodLease {

		private final MethodInvocation invocation;

		private final LeaseOperation<R> operation;

		private final R request;

		private final S service;

		/** {@code null} if the caller's thread will ask for it. */
		private final @Nullable NotAcquiredHandler handler;

		/** Attempts of the call, if its permits are kept after a failure. */
		private final @Nullable CallAttempts attempts;

		CallLease(MethodInvocation invocation, LeaseOperation<R> operation, R request, S service,
				@Nullable NotAcquiredHandler handler, @Nullable CallAttempts attempts) {
			this.invocation = invocation;
			this.operation = operation;
			this.request = request;
			this.service = service;
			this.handler = handler;
			this.attempts = attempts;
		}

		@Override
		public boolean joinsTransaction() {
			return SpringTransactionBinding.POSSIBLE && LeaseAnnotationHandler.this.source.within() != null;
		}

		@Override
		public HeldMethodLease acquire() {
			TransactionShare transaction = joinsTransaction() ? SpringTransactionBinding.current() : null;
			R asked = (transaction != null) ? LeaseAnnotationHandler.this.source.within(this.request,
					LeaseContext.current().within(transaction)) : this.request;
			if (this.operation.fenced() && leavesTokenToTransaction()) {
				asked = LeaseAnnotationHandler.this.source.fencedByTransaction().apply(asked);
			}
			Lease lease;
			try {
				lease = LeaseAnnotationHandler.this.source.blocking().apply(this.service, asked);
				onAnswer();
			}
			catch (HoldfastException ex) {
				lease = unguarded(ex, transaction);
			}
			return held(lease, transaction);
		}

		private boolean leavesTokenToTransaction() {
			BeanFactory beans = LeaseAnnotationHandler.this.beanFactory;
			return beans != null && OwnTransaction.raisesToken(this.invocation,
					this.operation.annotatedMethod().targetClass(), beans);
		}

		/** Note that the store has answered: its next failure is to be warned of. */
		private void onAnswer() {
			if (!LeaseAnnotationHandler.this.failing.isEmpty()) {
				LeaseAnnotationHandler.this.failing.remove(this.service);
			}
		}

		/** Return a lease that is not held if the method is to run without, or throw. */
		private Lease unguarded(HoldfastException ex, @Nullable TransactionShare transaction) {
			if (ex instanceof NotAcquiredException refused) {
				if (transaction != null) {
					transaction.explain(refused);
				}
				if (refused.getReason() == Reason.TIMED_OUT || refused.getReason() == Reason.EXCEEDS_LIMIT) {
					// The store has told so, not this instance alone.
					onAnswer();
				}
			}
			if (!(ex instanceof LeaseStoreException failure)
					|| this.operation.onStoreFailure() != OnStoreFailure.PROCEED) {
				throw ex;
			}
			Lease lease = LeaseAnnotationHandler.this.source.unguarded().apply(this.request, failure);
			if (LeaseAnnotationHandler.this.failing.add(this.service)) {
				logger.warn(this.operation.annotatedMethod()
						+ " lets the method run without a permit, as onStoreFailure is PROCEED. Further calls that do so "
						+ "are not logged until the store answers again. " + ex.getMessage());
			}
			return lease;
		}

		@Override
		public CompletableFuture<HeldMethodLease> acquireAsync(LeaseContext context,
				@Nullable TransactionShare transaction) {
			LeaseSource<S, R> source = LeaseAnnotationHandler.this.source;
			@Nullable CompletableFuture<? extends Lease> granted = source.asynchronous()
				.apply(this.service, source.within(this.request, context));
			if (granted == null) {
				return CompletableFuture.failedFuture(new IllegalStateException(
						this.service + " gave no future for " + this.request + ": if it is a mock, let it give one"));
			}
			CompletableFuture<HeldMethodLease> result = granted.newIncompleteFuture();
			granted.whenComplete((lease, failure) -> {
				HeldMethodLease held;
				try {
					if (failure == null) {
						onAnswer();
					}
					held = held((failure != null) ? unguarded(failure, transaction) : lease, transaction);
				}
				catch (Throwable ex) {
					result.completeExceptionally(ex);
					return;
				}
				if (!result.complete(held)) {
					held.discard();
				}
			});
			result.whenComplete((held, failure) -> {
				if (result.isCancelled()) {
					granted.cancel(true);
				}
			});
			return result;
		}

		private Lease unguarded(Throwable failure, @Nullable TransactionShare transaction) throws Throwable {
			Throwable cause = CallResult.cause(failure);
			if (cause instanceof HoldfastException ex) {
				return unguarded(ex, transaction);
			}
			throw cause;
		}

		private AcquiredLease held(@Nullable Lease lease, @Nullable TransactionShare transaction) {
			if (lease == null) {
				throw new IllegalStateException(
						this.service + " gave no lease for " + this.request + ": if it is a mock, let it give one");
			}
			TransactionShare keeper = (this.operation.releaseAfter() == ReleaseAfter.TRANSACTION) ? transaction : null;
			long keptUntil = (this.attempts != null) ? System.nanoTime() + this.request.minHold().toNanos() : 0;
			AcquiredLease held = new AcquiredLease(lease, LeaseAnnotationHandler.this, this.operation, keeper,
					this.attempts, keptUntil);
			if (keeper != null) {
				keeper.add(held);
			}
			return held;
		}

		@Override
		public @Nullable Object instead(HoldfastException ex) throws Throwable {
			Throwable failed = failedBefore(ex);
			if (failed != null) {
				failed.addSuppressed(ex);
				throw failed;
			}
			if (!isHandled(ex)) {
				throw ex;
			}
			NotAcquiredHandler known = this.handler;
			return ((known != null) ? known : handler(this.operation)).take(this.invocation, ex);
		}

		/** Return the failure of the attempt before, whose permits this one lacks. */
		private @Nullable Throwable failedBefore(HoldfastException ex) {
			return (this.attempts != null && ex instanceof NotAcquiredException notAcquired
					&& notAcquired.getReason() == Reason.TIMED_OUT) ? this.attempts.failure() : null;
		}

		private boolean isHandled(HoldfastException ex) {
			if (ex instanceof NotAcquiredException notAcquired) {
				return switch (notAcquired.getReason()) {
					case TIMED_OUT, SHUTDOWN, EXCEEDS_LIMIT, TOO_MANY_WAITERS -> true;
					case INTERRUPTED, SELF_BLOCKED -> false;
				};
			}
			return ex instanceof LeaseStoreException && this.operation.onStoreFailure() == OnStoreFailure.FALLBACK;
		}

	}

}
