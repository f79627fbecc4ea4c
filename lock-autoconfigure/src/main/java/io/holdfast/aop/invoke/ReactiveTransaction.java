package io.holdfast.aop.invoke;

import reactor.core.publisher.Mono;

import org.springframework.transaction.NoTransactionException;
import org.springframework.transaction.reactive.TransactionSynchronization;
import org.springframework.transaction.reactive.TransactionSynchronizationManager;

/**
 * The part that leases have in a reactive transaction. Needs spring-tx.
 *
 * @param share what is held
 */
record ReactiveTransaction(TransactionShare share) implements TransactionSynchronization {

	/**
	 * Take part in the transaction of a chain.
	 * @return the chain's share, empty if it is in no transaction
	 */
	static Mono<TransactionShare> join() {
		return TransactionSynchronizationManager.forCurrentTransaction()
			.filter((current) -> current.isActualTransactionActive() && current.isSynchronizationActive())
			.map((current) -> current.getSynchronizations()
				.stream()
				.filter(ReactiveTransaction.class::isInstance)
				.map(ReactiveTransaction.class::cast)
				.findFirst()
				.orElseGet(() -> {
					ReactiveTransaction first = new ReactiveTransaction(new TransactionShare());
					current.registerSynchronization(first);
					return first;
				}))
			.map(ReactiveTransaction::share)
			.onErrorComplete(NoTransactionException.class);
	}

	@Override
	public Mono<Void> beforeCommit(boolean readOnly) {
		return Mono.fromFuture(this.share::checkBeforeCommitAsync).flatMap(Mono::error);
	}

	@Override
	public Mono<Void> afterCompletion(int status) {
		return Mono.fromFuture(() -> this.share.releaseAsync(status == STATUS_ROLLED_BACK)).then();
	}

}
