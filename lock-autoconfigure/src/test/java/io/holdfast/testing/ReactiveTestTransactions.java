package io.holdfast.testing;

import java.util.function.Consumer;

import reactor.core.publisher.Mono;

import org.springframework.transaction.TransactionDefinition;
import org.springframework.transaction.reactive.AbstractReactiveTransactionManager;
import org.springframework.transaction.reactive.GenericReactiveTransaction;
import org.springframework.transaction.reactive.TransactionSynchronizationManager;

/**
 * Reactive transactions without a resource, only with synchronizations, which report
 * begin, commit and rollback.
 */
public class ReactiveTestTransactions extends AbstractReactiveTransactionManager {

	private static final long serialVersionUID = 1L;

	private final transient Consumer<String> events;

	/**
	 * Create a manager.
	 * @param events the receiver of {@code begin}, {@code commit} and {@code rollback}
	 */
	public ReactiveTestTransactions(Consumer<String> events) {
		this.events = events;
	}

	private Mono<Void> tell(String event) {
		return Mono.fromRunnable(() -> this.events.accept(event));
	}

	@Override
	protected Object doGetTransaction(TransactionSynchronizationManager manager) {
		return this;
	}

	@Override
	protected Mono<Void> doBegin(TransactionSynchronizationManager manager, Object transaction,
			TransactionDefinition definition) {
		return tell("begin");
	}

	@Override
	protected Mono<Void> doCommit(TransactionSynchronizationManager manager, GenericReactiveTransaction status) {
		return tell("commit");
	}

	@Override
	protected Mono<Void> doRollback(TransactionSynchronizationManager manager, GenericReactiveTransaction status) {
		return tell("rollback");
	}

	@Override
	protected Mono<Void> doCleanupAfterCompletion(TransactionSynchronizationManager manager, Object transaction) {
		return Mono.empty();
	}

}
