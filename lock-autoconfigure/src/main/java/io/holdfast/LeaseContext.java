package io.holdfast;

import java.util.ArrayList;
import java.util.List;

import org.jspecify.annotations.Nullable;

/**
 * The leases under which code runs, innermost first. The leases of annotated methods, and
 * of code that a service {@linkplain LockService#withLock(String, LeasedCall) runs with a
 * lease}, are added to the context of the running thread, or of the reactive chain.
 * Immutable and thread-safe.
 *
 * <p>
 * A request for a lock within a context that has a lease of this lock gets a nested lease
 * at once, as a thread gets for its own lock. A context that is opened on another thread
 * gives this thread access to the locks of the context: <pre class="code">
 * LeaseContext context = LeaseContext.current();
 * executor.execute(() -&gt; {
 *     try (LeaseContext.Scope scope = context.open()) { ... }
 * });</pre>
 *
 * @since 0.1.0
 */
public final class LeaseContext {

	private static final LeaseContext EMPTY = new LeaseContext(List.of(), List.of());

	private static final ThreadLocal<Scope> CURRENT = new ThreadLocal<>();

	private final List<Lease> leases;

	/** Transactions that keep leases, innermost first. */
	private final List<TransactionBinding.Participation> transactions;

	private LeaseContext(List<Lease> leases, List<TransactionBinding.Participation> transactions) {
		this.leases = leases;
		this.transactions = transactions;
	}

	/**
	 * Return the context without leases.
	 * @return the empty context
	 */
	public static LeaseContext empty() {
		return EMPTY;
	}

	/**
	 * Return the context of the current thread.
	 * @return the context, empty if this thread runs no code with a lease and has
	 * {@linkplain #open() opened} no context
	 */
	public static LeaseContext current() {
		Scope current = CURRENT.get();
		return (current != null) ? current.context : EMPTY;
	}

	/**
	 * Return the owner of the current thread's context. The owner tells a coroutine
	 * whether the context is its own, or that of another coroutine which has resumed it
	 * on this thread.
	 * @return the owner of the innermost {@linkplain #open(Object) open scope}, or
	 * {@code null} if there is no scope or the scope has no owner
	 */
	public static @Nullable Object currentOwner() {
		Scope current = CURRENT.get();
		return (current != null) ? current.owner : null;
	}

	/**
	 * Return the leases of this context, held or not.
	 * @return the leases, innermost first, without leases that a transaction keeps
	 */
	public List<Lease> leases() {
		return this.leases;
	}

	/**
	 * Return the leases of this context in which a request for a lock may be nested.
	 * Includes the leases that a {@linkplain #within transaction} keeps now.
	 * @param key the key of the lock, with its namespace
	 * @return the leases, those of transactions last
	 */
	public List<Lease> leases(String key) {
		if (isEmpty()) {
			return List.of();
		}
		List<Lease> result = new ArrayList<>();
		for (Lease lease : this.leases) {
			if (lease instanceof LockLease lock && lock.keys().contains(key)) {
				result.add(lease);
			}
		}
		this.transactions.forEach((transaction) -> result.addAll(transaction.leases(key)));
		return result;
	}

	/**
	 * Return whether this context has no leases and no transaction that may keep leases.
	 * @return whether this context makes no difference to requests
	 */
	public boolean isEmpty() {
		return this.leases.isEmpty() && this.transactions.isEmpty();
	}

	/**
	 * Return the innermost lease of a lock or permits.
	 * @return the lease
	 * @throws IllegalStateException if there is no lease
	 */
	public Lease lease() {
		return innermost(Lease.class, "lock or permit", "@DistributedLock or @Semaphore");
	}

	/**
	 * Return the innermost lease of a lock.
	 * @return the lease
	 * @throws IllegalStateException if there is no such lease
	 */
	public LockLease lock() {
		return innermost(LockLease.class, "lock", "@DistributedLock");
	}

	/**
	 * Return the innermost lease of permits.
	 * @return the lease
	 * @throws IllegalStateException if there is no such lease
	 */
	public PermitLease permits() {
		return innermost(PermitLease.class, "permit", "@Semaphore");
	}

	private <L extends Lease> L innermost(Class<L> type, String what, String annotation) {
		for (Lease lease : this.leases) {
			if (type.isInstance(lease)) {
				return type.cast(lease);
			}
		}
		throw new IllegalStateException("There is no lease of a " + what
				+ " here: this thread runs neither a method with " + annotation
				+ " that was called through its bean, nor code that a service runs with a lease. On another thread"
				+ " open the LeaseContext of that code; in a chain of Reactor, ask ReactiveLeaseContext.current()");
	}

	/**
	 * Return this context with one more lease.
	 * @param lease the new innermost lease
	 * @return the new context
	 */
	public LeaseContext with(Lease lease) {
		if (this.leases.isEmpty()) {
			return new LeaseContext(List.of(lease), this.transactions);
		}
		Lease[] more = new Lease[this.leases.size() + 1];
		more[0] = lease;
		for (int i = 1; i < more.length; i++) {
			more[i] = this.leases.get(i - 1);
		}
		return new LeaseContext(List.of(more), this.transactions);
	}

	/**
	 * Return this context within a transaction. Requests are then also nested in the
	 * leases that the transaction keeps when the request is made. {@link #leases()} does
	 * not include these leases.
	 * @param transaction the participation in the transaction
	 * @return the new context
	 */
	public LeaseContext within(TransactionBinding.Participation transaction) {
		if (this.transactions.contains(transaction)) {
			return this;
		}
		List<TransactionBinding.Participation> more = new ArrayList<>(this.transactions);
		more.add(0, transaction);
		return new LeaseContext(this.leases, List.copyOf(more));
	}

	/**
	 * Make this the context of the current thread until the scope is closed. The scope
	 * must be closed on the same thread.
	 * @return the scope, which restores the former context when it is closed
	 */
	public Scope open() {
		return new Scope(this, null);
	}

	/**
	 * Make this the context of the current thread while a coroutine runs on the thread.
	 * Another coroutine that is resumed within the scope is not under the scope's leases.
	 * @param owner the owner of the scope: an element of the coroutine's context. The
	 * scope of an annotated method has the method's call as its owner
	 * @return the scope, which restores the former context when it is closed
	 */
	public Scope open(Object owner) {
		return new Scope(this, owner);
	}

	@Override
	public String toString() {
		return "LeaseContext" + this.leases;
	}

	/**
	 * Scope in which a context is the current context of a thread.
	 */
	public static final class Scope implements AutoCloseable {

		private final LeaseContext context;

		private final @Nullable Object owner;

		private final @Nullable Scope former;

		private Scope(LeaseContext context, @Nullable Object owner) {
			this.context = context;
			this.owner = owner;
			this.former = CURRENT.get();
			CURRENT.set(this);
		}

		/**
		 * Restore the former context of the current thread.
		 */
		@Override
		public void close() {
			if (this.former != null) {
				CURRENT.set(this.former);
			}
			else {
				CURRENT.remove();
			}
		}

	}

}
