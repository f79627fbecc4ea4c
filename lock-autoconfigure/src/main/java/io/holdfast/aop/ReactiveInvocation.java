package io.holdfast.aop;

import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Function;

import io.holdfast.HoldfastException;
import io.holdfast.Lease;
import io.holdfast.LeaseContext;
import io.holdfast.annotation.OnLoss;
import io.holdfast.async.CallResult;
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
import org.springframework.util.Assert;

/**
 * Call of a method that returns a reactive type, or of a suspending function. Each
 * subscription to the caller's result evaluates the expressions, acquires the leases and
 * calls the method again. The first subscription uses the evaluation of the call. The
 * proxy of a suspending function subscribes once, and cancels its subscription with the
 * caller.
 */
final class ReactiveInvocation {

	private static final Work ENDED = () -> CompletableFuture.completedFuture(null);

	private final ProxyMethodInvocation invocation;

	private final AnnotatedMethod method;

	private final List<CallResult.Code<MethodLease>> sources;

	/**
	 * Starts the observation of a subscription from the subscriber's observation, or
	 * {@code null} without observers.
	 */
	private final @Nullable Function<@Nullable Observation, MethodCallObservation> observer;

	private final LeaseContext callerLeases;

	private final boolean suspending;

	private final boolean flow;

	private final ReactiveAdapter adapter;

	/**
	 * Evaluation for the next subscription. For the first subscription, the result of the
	 * call's evaluation.
	 */
	private final AtomicReference<CallResult.Code<List<MethodLease>>> evaluation = new AtomicReference<>(
			this::evaluate);

	/** The method's result if the call needed no lease, or {@code null}. */
	private volatile @Nullable Object unleased;

	/**
	 * Create the invocation.
	 * @param sources the sources of leases, one for each annotation
	 * @param observer starts the observation of a subscription that needs a lease, from
	 * the observation in the subscriber's context; or {@code null}
	 */
	ReactiveInvocation(ProxyMethodInvocation invocation, AnnotatedMethod method,
			List<CallResult.Code<MethodLease>> sources,
			@Nullable Function<@Nullable Observation, MethodCallObservation> observer) {
		this.invocation = invocation;
		this.method = method;
		this.sources = sources;
		this.observer = observer;
		this.suspending = method.isSuspending();
		this.callerLeases = this.suspending ? CoroutineBody.callerLeases(invocation) : LeaseContext.current();
		this.adapter = method.reactiveAdapter();
		this.flow = this.adapter.getReactiveType().getName().equals(ReturnKind.FLOW);
	}

	/**
	 * Evaluate the expressions now, for the first subscription. If the call needs no
	 * lease, the method is called at once on the current thread.
	 * @return the result for the caller
	 * @throws Throwable the exception of a method that needs no lease
	 */
	@Nullable Object start() throws Throwable {
		List<MethodLease> methodLeases;
		try {
			methodLeases = evaluate();
		}
		catch (Throwable ex) {
			this.evaluation.set(() -> {
				throw ex;
			});
			return startLater();
		}
		if (methodLeases.isEmpty()) {
			Object returned = proceed();
			if (returned == null) {
				return returned;
			}
			this.unleased = returned;
		}
		this.evaluation.set(() -> methodLeases);
		return startLater();
	}

	/**
	 * Evaluate the expressions only by subscriptions.
	 * @return the result for the caller
	 */
	Object startLater() {
		return this.flow ? CoroutineBody.anew(this::next) : published(Flux.defer(() -> (Publisher<?>) next()));
	}

	private List<MethodLease> evaluate() throws Throwable {
		List<MethodLease> methodLeases = List.of();
		for (CallResult.Code<MethodLease> source : this.sources) {
			methodLeases = LeaseInterceptor.append(methodLeases, source.run());
		}
		return methodLeases;
	}

	/** Return the chain or flow for the next subscription. */
	private Object next() {
		try {
			List<MethodLease> methodLeases = this.evaluation.getAndSet(this::evaluate).run();
			Assert.state(methodLeases != null, "Not evaluated");
			return chain(methodLeases);
		}
		catch (Throwable ex) {
			return this.flow ? published(Flux.error(ex)) : Flux.error(ex);
		}
	}

	private @Nullable Object proceed() throws Throwable {
		return this.invocation.invocableClone().proceed();
	}

	private Object chain(List<MethodLease> methodLeases) throws Throwable {
		if (!methodLeases.isEmpty()) {
			return under(methodLeases);
		}
		Object returned = (this.unleased != null) ? this.unleased : proceed();
		return (this.flow && returned != null) ? returned : publisher(returned, null, "");
	}

	private Object under(List<MethodLease> methodLeases) {
		Flux<Object> chain = (this.observer != null) ? observed(methodLeases, this.observer)
				: chain(methodLeases, MethodCallObservation.NONE);
		return this.flow ? CoroutineBody.inStep((collector) -> published(within(collector, chain)))
				: within(this.callerLeases, chain);
	}

	/**
	 * Observe each subscription, as a child of the observation in the subscriber's
	 * context. The observation is put into the context of the chain, and is stopped
	 * before the subscriber gets the end.
	 */
	private Flux<Object> observed(List<MethodLease> methodLeases,
			Function<@Nullable Observation, MethodCallObservation> observer) {
		String key = ObservationThreadLocalAccessor.KEY;
		return Flux.deferContextual((view) -> {
			MethodCallObservation begun = observer
				.apply((view.getOrDefault(key, null) instanceof Observation parent) ? parent : null);
			return !begun.isObserved() ? chain(methodLeases, begun)
					: Flux
						.usingWhen(Mono.just(begun), (call) -> chain(methodLeases, call), (call) -> ended(call, null),
								ReactiveInvocation::ended, (call) -> ended(call, null))
						.contextWrite((outer) -> outer.put(key, begun.observation));
		});
	}

	private static Mono<Void> ended(MethodCallObservation call, @Nullable Throwable failure) {
		return Mono.create((sink) -> call.ended(failure, sink::success));
	}

	/** Put the caller's leases into the context, unless the subscriber has leases. */
	private static Flux<Object> within(LeaseContext caller, Flux<Object> chain) {
		return chain
			.contextWrite((outer) -> outer.hasKey(LeaseContext.class) ? outer : outer.put(LeaseContext.class, caller));
	}

	private Flux<Object> chain(List<MethodLease> methodLeases, MethodCallObservation observation) {
		return methodLeases.stream().anyMatch(MethodLease::joinsTransaction)
				? Transaction.join()
					.singleOptional()
					.flatMapMany((share) -> chain(methodLeases, observation, share.orElse(null)))
				: chain(methodLeases, observation, null);
	}

	private Flux<Object> chain(List<MethodLease> methodLeases, MethodCallObservation observation,
			@Nullable TransactionShare transaction) {
		AtomicReference<@Nullable Work> begun = new AtomicReference<>();
		Flux<Object> chain = Flux.deferContextual((view) -> call(view.get(LeaseContext.class), begun, observation));
		for (int i = methodLeases.size() - 1; i >= 0; i--) {
			chain = holding(methodLeases.get(i), begun, observation, transaction).around(chain);
		}
		return (transaction == null) ? chain : chain.contextWrite((outer) -> outer.put(LeaseContext.class,
				outer.<LeaseContext>get(LeaseContext.class).within(transaction)));
	}

	private Object published(Flux<?> chain) {
		return this.adapter.fromPublisher(this.adapter.isMultiValue() ? chain : chain.singleOrEmpty());
	}

	private Publisher<Object> call(LeaseContext current, AtomicReference<@Nullable Work> begun,
			MethodCallObservation observation) {
		CoroutineBody body = (this.suspending || this.flow) ? new CoroutineBody(current, this.invocation) : null;
		begun.set((body != null) ? body::ended : ENDED);
		LeaseContext.Scope scope = current.open();
		try {
			MethodInvocation call = (body != null && this.suspending)
					? this.invocation.invocableClone(body.runningIn(this.invocation.getArguments()))
					: this.invocation.invocableClone();
			return publisher(observation.run(() -> LeaseInterceptor.proceed(call)), body, "");
		}
		catch (Throwable ex) {
			return Mono.error(ex);
		}
		finally {
			scope.close();
		}
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

	/** Return the holding of one annotation's lease. */
	private Holding<Lease> holding(MethodLease methodLease, AtomicReference<@Nullable Work> begun,
			MethodCallObservation observation, @Nullable TransactionShare transaction) {
		return new Holding<>() {

			@Override
			protected CompletableFuture<Lease> acquire(LeaseContext context) {
				return observation.ask(() -> methodLease.acquireAsync(context, transaction));
			}

			@Override
			protected <T> Publisher<T> instead(Throwable failure) {
				if (!(failure instanceof HoldfastException ex)) {
					return Mono.error(failure);
				}
				try {
					return publisher(observation.run(() -> methodLease.resultWithoutLease(ex)), null,
							"The fallback of ");
				}
				catch (Throwable thrown) {
					return Mono.error(thrown);
				}
			}

			@Override
			protected boolean endsOnLoss() {
				return methodLease.onLoss() == OnLoss.INTERRUPT;
			}

			@Override
			protected CompletableFuture<@Nullable Throwable> end(Lease held, @Nullable Throwable failure) {
				if (methodLease.isUnguarded()) {
					observation.unguarded();
				}
				// The method was not called if an inner lease was not acquired.
				Work work = begun.get();
				if (work == null) {
					methodLease.discard();
					return CompletableFuture.completedFuture(failure);
				}
				return work.ended().thenCompose((ended) -> methodLease.endAsync(failure));
			}

		};
	}

	/** Work of a method that was called under its leases. */
	@FunctionalInterface
	private interface Work {

		/** Return a future that is completed at the end of the work. */
		CompletableFuture<@Nullable Void> ended();

	}

	/**
	 * Participation of leases in a reactive transaction. Needs spring-tx.
	 *
	 * @param manager the resources of the transaction. The share is bound as a resource,
	 * because Spring sorts all synchronizations, of which there may be thousands, for
	 * each access to them
	 * @param share the leases
	 */
	private record Transaction(TransactionSynchronizationManager manager,
			TransactionShare share) implements TransactionSynchronization {

		/**
		 * Join the transaction of a chain.
		 * @return the share of the chain, empty if the chain is in no transaction
		 */
		static Mono<TransactionShare> join() {
			return TransactionSynchronizationManager.forCurrentTransaction()
				.filter((current) -> current.isActualTransactionActive() && current.isSynchronizationActive())
				.map((current) -> (current.getResource(Transaction.class) instanceof TransactionShare bound) ? bound
						: new Transaction(current, new TransactionShare()).begin())
				.onErrorComplete(NoTransactionException.class);
		}

		private TransactionShare begin() {
			this.manager.registerSynchronization(this);
			this.manager.bindResource(Transaction.class, this.share);
			return this.share;
		}

		@Override
		public Mono<Void> suspend() {
			return Mono.fromRunnable(() -> this.manager.unbindResource(Transaction.class));
		}

		@Override
		public Mono<Void> resume() {
			return Mono.fromRunnable(() -> this.manager.bindResource(Transaction.class, this.share));
		}

		@Override
		public Mono<Void> beforeCommit(boolean readOnly) {
			return Mono.fromFuture(this.share::checkBeforeCommitAsync).flatMap(Mono::error);
		}

		@Override
		public Mono<Void> afterCompletion(int status) {
			this.manager.unbindResourceIfPossible(Transaction.class);
			return Mono.fromFuture(() -> this.share.releaseAsync(status == STATUS_ROLLED_BACK)).then();
		}

	}

}
