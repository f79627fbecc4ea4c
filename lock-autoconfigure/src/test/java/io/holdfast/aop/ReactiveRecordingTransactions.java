package io.holdfast.aop;

import reactor.core.publisher.Mono;

import org.springframework.transaction.TransactionDefinition;
import org.springframework.transaction.reactive.AbstractReactiveTransactionManager;
import org.springframework.transaction.reactive.GenericReactiveTransaction;
import org.springframework.transaction.reactive.TransactionSynchronizationManager;

/**
 * Reactive transactions of nothing, written down among what the locks record.
 */
class ReactiveRecordingTransactions extends AbstractReactiveTransactionManager {

	private static final long serialVersionUID = 1L;

	private final transient RecordingLocks recorder;

	ReactiveRecordingTransactions(RecordingLocks recorder) {
		this.recorder = recorder;
	}

	@Override
	protected Object doGetTransaction(TransactionSynchronizationManager manager) {
		return this;
	}

	@Override
	protected Mono<Void> doBegin(TransactionSynchronizationManager manager, Object transaction,
			TransactionDefinition definition) {
		return Mono.fromRunnable(() -> this.recorder.record("begin"));
	}

	@Override
	protected Mono<Void> doCommit(TransactionSynchronizationManager manager, GenericReactiveTransaction status) {
		return Mono.fromRunnable(() -> this.recorder.record("commit"));
	}

	@Override
	protected Mono<Void> doRollback(TransactionSynchronizationManager manager, GenericReactiveTransaction status) {
		return Mono.fromRunnable(() -> this.recorder.record("rollback"));
	}

	@Override
	protected Mono<Void> doCleanupAfterCompletion(TransactionSynchronizationManager manager, Object transaction) {
		return Mono.empty();
	}

}
