package io.holdfast.aop;

import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BiFunction;
import java.util.function.Supplier;

import io.holdfast.LeaseContext;
import io.holdfast.aop.LeaseInterceptor.Evaluation;

import io.holdfast.reactive.Holding;
import io.micrometer.observation.Observation;
import io.micrometer.observation.contextpropagation.ObservationThreadLocalAccessor;
import org.aopalliance.intercept.MethodInvocation;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Publisher;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

import org.springframework.aop.ProxyMethodInvocation;
import org.springframework.core.ReactiveAdapter;
import org.springframework.transaction.NoTransactionException;
import org.springframework.transaction.reactive.TransactionSynchronization;
import org.springframework.transaction.reactive.TransactionSynchronizationManager;

/**
 * Call of a method that returns a reactive type, or of a suspending function. Each
 * subscription to the caller's result evaluates the expressions, acquires the leases and
 * calls the method again. The first subscription uses the evaluation of the call. The
 * proxy of a suspending function subscribes once, and cancels its subscription with the
 * caller.
 */
final class ReactiveInvocation {

	private final ProxyMethodInvocation invocation;

	private final AnnotatedMethod method;

	private final Evaluation<List<MethodLease>> leases;

	private final BiFunction<List<MethodLease>, @Nullable Observation, MethodCall> calls;

	private final LeaseContext callerLeases;

	private final boolean suspending;

	private final boolean flow;

	private final ReactiveAdapter adapter;

	/**
	 * Evaluation for the next subscription. For the first subscription, it has the result
	 * of the call's evaluation.
	 */
	private final AtomicReference<Evaluation<List<MethodLease>>> nextLeases;

	/** The method's result if the call needed no lease, or {@code null}. */
	private volatile @Nullable Object unleased;

	/**
	 * Create the invocation.
	 * @param leases evaluates the annotations, for each subscription
	 * @param calls creates the call of a subscription, which needs leases, and starts its
	 * observation as a child of the observation in the subscriber's context
	 */
	ReactiveInvocation(ProxyMethodInvocation invocation, AnnotatedMethod method, Evaluation<List<MethodLease>> leases,
			BiFunction<List<MethodLease>, @Nullable Observation, MethodCall> calls) {
		this.invocation = invocation;
		this.method = method;
		this.leases = leases;
		this.calls = calls;
		this.suspending = method.isSuspending();
		this.callerLeases = this.suspending ? CoroutineBody.callerLeases(invocation) : LeaseContext.current();
		this.adapter = method.reactiveAdapter();
		this.flow = this.adapter.getReactiveType().getName().equals(ReturnKind.FLOW);
		this.nextLeases = new AtomicReference<>(leases);
	}

	/**
	 * Evaluate the expressions now, for the first subscription. If the call needs no
	 * lease, the method is called at once on the current thread.
	 * @return the result for the caller
	 * @throws Throwable the exception of a method that needs no lease
	 */
	@Nullable Object start() throws Throwable {
		List<MethodLease> first;
		try {
			first = this.leases.run();
		}
		catch (Throwable ex) {
			this.nextLeases.set(() -> {
				throw ex;
			});
			return startLater();
		}
		if (first.isEmpty()) {
			Object returned = proceed();
			if (returned == null) {
				return returned;
			}
			this.unleased = returned;
		}
		this.nextLeases.set(() -> first);
		return startLater();
	}

	/**
	 * Evaluate the expressions only by subscriptions.
	 * @return the result for the caller
	 */
	Object startLater() {
		return this.flow ? CoroutineBody.anew(this::next) : published(Flux.defer(() -> (Publisher<?>) next()));
	}

	/** Return the chain or flow for the next subscription. */
	private Object next() {
		try {
			List<MethodLease> next = this.nextLeases.getAndSet(this.leases).run();
			if (!next.isEmpty()) {
				return under(next);
			}
			Object returned = (this.unleased != null) ? this.unleased : proceed();
			return (this.flow && returned != null) ? returned : publisher(returned, null, "");
		}
		catch (Throwable ex) {
			return this.flow ? published(Flux.error(ex)) : Flux.error(ex);
		}
	}

	private @Nullable Object proceed() throws Throwable {
		return this.invocation.invocableClone().proceed();
	}

	private Object published(Flux<?> chain) {
		return this.adapter.fromPublisher(this.adapter.isMultiValue() ? chain : chain.singleOrEmpty());
	}

	private Object under(List<MethodLease> next) {
		Flux<Object> chain = Flux.deferContextual((view) -> {
			Object parent = view.getOrDefault(ObservationThreadLocalAccessor.KEY, null);
			return observed(this.calls.apply(next, (parent instanceof Observation observation) ? observation : null));
		});
		return this.flow ? CoroutineBody.inStep((collector) -> published(within(collector, chain)))
				: within(this.callerLeases, chain);
	}

	/** Put the caller's leases into the context, unless the subscriber has leases. */
	private static Flux<Object> within(LeaseContext caller, Flux<Object> chain) {
		return chain
			.contextWrite((outer) -> outer.hasKey(LeaseContext.class) ? outer : outer.put(LeaseContext.class, caller));
	}

	/**
	 * Return the chain of a call. Its observation is in the context of the chain, and
	 * ends before the subscriber gets the end.
	 */
	private Flux<Object> observed(MethodCall call) {
		Flux<Object> chain = (!call.joinsTransaction()) ? new Leases(call, null).aroundMethod()
				: Transaction.join()
					.singleOptional()
					.flatMapMany((share) -> new Leases(call, share.orElse(null)).aroundMethod());
		return call.observation.isNoop() ? chain
				: Flux
					.usingWhen(Mono.just(call), (begun) -> chain, (begun) -> ended(begun, null),
							ReactiveInvocation::ended, (begun) -> ended(begun, null))
					.contextWrite((outer) -> outer.put(ObservationThreadLocalAccessor.KEY, call.observation));
	}

	private static Mono<Void> ended(MethodCall call, @Nullable Throwable failure) {
		return Mono.create((sink) -> call.endObservation(failure, sink::success));
	}

	/**
	 * Return the handler that returns the empty result of a method, or {@code null} if
	 * its type cannot be empty.
	 * @param value the empty value, or {@code null} for none
	 */
	static @Nullable NotAcquiredHandler emptyResult(AnnotatedMethod method, @Nullable Object value) {
		ReactiveAdapter adapter = method.reactiveAdapter();
		if (value != null && !adapter.isMultiValue()) {
			return (call, ex) -> adapter.fromPublisher(Mono.just(value));
		}
		return adapter.supportsEmpty() ? (call, ex) -> adapter.fromPublisher(Mono.empty()) : null;
	}

	private <T> Publisher<T> publisher(@Nullable Object returned, @Nullable CoroutineBody body, String whose) {
		if (this.suspending && !(returned instanceof Publisher)) {
			// A fallback may return a plain result.
			return this.adapter.toPublisher(Mono.justOrEmpty(returned));
		}
		if (returned == null) {
			throw new IllegalStateException(
					whose + this.method + " returned null: it has to return a reactive type, which may be empty");
		}
		return this.flow ? CoroutineBody.publisher(returned, body) : this.adapter.toPublisher(returned);
	}

	/**
	 * Leases of one subscription.
	 */
	private final class Leases extends Holding<LeaseContext> {

		private final MethodCall call;

		private final @Nullable TransactionShare transaction;

		/** Supplies the end of the work; {@code null} before the method is called. */
		private volatile @Nullable Supplier<CompletableFuture<@Nullable Void>> workEnd;

		Leases(MethodCall call, @Nullable TransactionShare transaction) {
			this.call = call;
			this.transaction = transaction;
		}

		Flux<Object> aroundMethod() {
			Flux<Object> chain = around(Flux.deferContextual((view) -> callMethod(view.get(LeaseContext.class))));
			TransactionShare share = this.transaction;
			return (share == null) ? chain : chain.contextWrite((outer) -> outer.put(LeaseContext.class,
					outer.<LeaseContext>get(LeaseContext.class).within(share)));
		}

		private Publisher<Object> callMethod(LeaseContext current) {
			ReactiveInvocation all = ReactiveInvocation.this;
			CoroutineBody body = (all.suspending || all.flow) ? new CoroutineBody(current, this.call) : null;
			this.workEnd = (body != null) ? body::ended : () -> CompletableFuture.completedFuture(null);
			LeaseContext.Scope scope = all.suspending ? current.open() : current.open(this.call);
			try {
				MethodInvocation clone = (body != null && all.suspending)
						? all.invocation.invocableClone(body.runningIn(all.invocation.getArguments()))
						: all.invocation.invocableClone();
				return publisher(this.call.observed(() -> clone.proceed()), body, "");
			}
			catch (Throwable ex) {
				return Mono.error(ex);
			}
			finally {
				scope.close();
			}
		}

		@Override
		protected CompletableFuture<LeaseContext> acquire(LeaseContext context) {
			return this.call.acquireAsync(context, this.transaction);
		}

		@Override
		protected <T> Publisher<T> instead(Throwable failure) {
			try {
				return publisher(this.call.observed(() -> this.call.instead(failure)), null, "The fallback of ");
			}
			catch (Throwable ex) {
				return Mono.error(ex);
			}
		}

		@Override
		protected LeaseContext inside(LeaseContext held, LeaseContext outer) {
			return held;
		}

		@Override
		protected void onLoss(LeaseContext held, Runnable action) {
			this.call.onLoss(action);
		}

		@Override
		protected CompletableFuture<@Nullable Throwable> end(LeaseContext held, @Nullable Throwable failure,
				boolean completed) {
			Supplier<CompletableFuture<@Nullable Void>> end = this.workEnd;
			if (end == null) {
				// Cancelled before the call of the method.
				this.call.discard();
				return CompletableFuture.completedFuture(failure);
			}
			return end.get().thenCompose((ended) -> this.call.endAsync(failure, completed));
		}

	}

	/**
	 * Participation of leases in a reactive transaction. Needs spring-tx.
	 *
	 * @param manager the resources of the transaction. The share is bound as a resource,
	 * because Spring sorts all synchronizations, of which there may be thousands, for
	 * each access to them
	 * @param share the leases
	 * @param replaced whether a replacement was registered behind this synchronization
	 */
	private record Transaction(TransactionSynchronizationManager manager, TransactionShare share,
			AtomicBoolean replaced) implements TransactionSynchronization {

		Transaction(TransactionSynchronizationManager manager, TransactionShare share) {
			this(manager, share, new AtomicBoolean());
		}

		/**
		 * Join the transaction of a chain.
		 * @return the share of the chain, empty if the chain is in no transaction
		 */
		static Mono<TransactionShare> join() {
			return TransactionSynchronizationManager.forCurrentTransaction()
				.mapNotNull(Transaction::of)
				.onErrorComplete(NoTransactionException.class);
		}

		private static @Nullable TransactionShare of(TransactionSynchronizationManager current) {
			// Callbacks after the commit run without synchronization, but under the kept
			// leases.
			TransactionShare bound = (TransactionShare) current.getResource(Transaction.class);
			if (!current.isActualTransactionActive()) {
				return TransactionShare.outside(bound);
			}
			return (bound != null && !bound.suspended) ? bound : current.isSynchronizationActive()
					? new Transaction(current, new TransactionShare(bound)).begin() : null;
		}

		private TransactionShare begin() {
			this.manager.registerSynchronization(this);
			bind(this.share);
			return this.share;
		}

		private void bind(@Nullable TransactionShare next) {
			this.manager.unbindResourceIfPossible(Transaction.class);
			if (next != null) {
				this.manager.bindResource(Transaction.class, next);
			}
		}

		/**
		 * Leave the share bound for the next transaction, whose calls are nested in its
		 * leases. After {@link #beforeCompletion()}, there are two synchronizations with
		 * the same share.
		 */
		@Override
		public Mono<Void> suspend() {
			return Mono.fromRunnable(() -> this.share.suspended = true);
		}

		@Override
		public Mono<Void> resume() {
			return Mono.fromRunnable(() -> {
				this.share.suspended = false;
				bind(this.share);
			});
		}

		@Override
		public Mono<Void> beforeCommit(boolean readOnly) {
			return Mono.fromFuture(this.share::checkBeforeCommitAsync).flatMap(Mono::error);
		}

		/**
		 * Move this synchronization behind later ones, which would otherwise run without
		 * the locks.
		 */
		@Override
		public Mono<Void> beforeCompletion() {
			return Mono.fromRunnable(() -> {
				this.replaced.set(true);
				this.manager.registerSynchronization(new Transaction(this.manager, this.share));
			});
		}

		@Override
		public Mono<Void> afterCompletion(int status) {
			if (this.replaced.get()) {
				return Mono.empty();
			}
			bind(this.share.outer);
			return Mono.fromFuture(() -> this.share.releaseAsync(status == STATUS_ROLLED_BACK)).then();
		}

	}

}
