package io.holdfast.testing;

import java.util.function.Consumer;

import org.springframework.transaction.TransactionDefinition;
import org.springframework.transaction.support.AbstractPlatformTransactionManager;
import org.springframework.transaction.support.DefaultTransactionStatus;

/**
 * Transactions of nothing but what is synchronized with them: they tell when they begin,
 * commit and roll back.
 */
public class TestTransactions extends AbstractPlatformTransactionManager {

	private static final long serialVersionUID = 1L;

	private final transient Consumer<String> events;

	/** Create a manager whose transactions are not told. */
	public TestTransactions() {
		this((event) -> {
		});
	}

	/**
	 * Create a manager.
	 * @param events is told {@code begin}, {@code commit} or {@code rollback}
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
