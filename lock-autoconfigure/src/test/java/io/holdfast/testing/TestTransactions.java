package io.holdfast.testing;

import java.util.function.Consumer;

import org.springframework.transaction.TransactionDefinition;
import org.springframework.transaction.support.AbstractPlatformTransactionManager;
import org.springframework.transaction.support.DefaultTransactionStatus;

/**
 * Transactions without a resource, only with synchronizations, which report begin, commit
 * and rollback.
 */
public class TestTransactions extends AbstractPlatformTransactionManager {

	private static final long serialVersionUID = 1L;

	private final transient Consumer<String> events;

	/** Create a manager whose transactions report nothing. */
	public TestTransactions() {
		this((event) -> {
		});
	}

	/**
	 * Create a manager.
	 * @param events the receiver of {@code begin}, {@code commit} and {@code rollback}
	 */
	public TestTransactions(Consumer<String> events) {
		this.events = events;
	}

	@Override
	protected Object doGetTransaction() {
		return new Object();
	}

	@Override
	protected void doBegin(Object transaction, TransactionDefinition definition) {
		this.events.accept("begin");
	}

	@Override
	protected void doCommit(DefaultTransactionStatus status) {
		this.events.accept("commit");
	}

	@Override
	protected void doRollback(DefaultTransactionStatus status) {
		this.events.accept("rollback");
	}

}
