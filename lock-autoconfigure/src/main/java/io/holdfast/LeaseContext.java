package io.holdfast;

import java.util.ArrayList;
import java.util.List;

import org.jspecify.annotations.Nullable;

/**
 * The leases under which code runs, innermost first. Annotated methods, and code that a
 * service {@linkplain LockService#withLock(String, LeasedCall) runs with a lease}, have
 * theirs added to it: on the thread that runs them, and in the context of a reactive
 * chain. Immutable and thread-safe.
 *
 * <p>
 * A request for a lock within a context that has a lease of it gets a nested lease at
 * once, as a thread does that asks again for its own lock. So a context that is carried
 * to another thread carries the permission to enter: <pre class="code">
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

	/** Transactions that keep leases, the innermost first. */
	private final List<TransactionBinding.Participation> transactions;

	private LeaseContext(List<Lease> leases, List<TransactionBinding.Participation> transactions) {
		this.leases = leases;
		this.transactions = transactions;
	}

	/**
	 * The context without leases.
	 * @return the empty context
	 */
	public static LeaseContext empty() {
		return EMPTY;
	}

	/**
	 * The context of the current thread.
	 * @return the context, empty if no code with a lease is running on this thread and
	 * none was {@linkplain #open() opened}
	 */
	public static LeaseContext current() {
		Scope current = CURRENT.get();
		return (current != null) ? current.context : EMPTY;
	}

	/**
	 * Return the owner of the current thread's context. Code that knows its own coroutine
	 * is not under the leases of another one that has resumed it on this thread.
	 * @return the owner that the innermost scope was {@linkplain #open(Object) opened
	 * with}, or {@code null} if it has none, or there is no scope
	 */
	public static @Nullable Object currentOwner() {
		Scope current = CURRENT.get();
		return (current != null) ? current.owner : null;
	}

	/**
	 * Return the leases of this context, held or not any more.
	 * @return the leases, innermost first
	 */
	public List<Lease> leases() {
		return this.leases;
	}

	/**
	 * Return the leases of this context by which a request for a lock may be a nested
	 * one. They include leases that a {@linkplain #within transaction} keeps now.
	 * @param key the key of the lock, with its namespace
	 * @return the leases, those of transactions last
	 */
	public List<Lease> leases(String key) {
		// Mostly there are none, and nothing is made for them.
		List<Lease> result = List.of();
		for (Lease lease : this.leases) {
			if (lease instanceof LockLease lock && lock.keys().contains(key)) {
				result = (result.isEmpty()) ? new ArrayList<>(2) : result;
				result.add(lease);
			}
		}
		for (TransactionBinding.Participation transaction : this.transactions) {
			List<Lease> kept = transaction.leases(key);
			if (!kept.isEmpty()) {
				result = (result.isEmpty()) ? new ArrayList<>(2) : result;
				result.addAll(kept);
			}
		}
		return result;
	}

	/**
	 * Return whether this context has no leases, and no transaction that may keep some.
	 * @return whether a request within this context is like one within none
	 */
	public boolean isEmpty() {
		return this.leases.isEmpty() && this.transactions.isEmpty();
	}

	/**
	 * Return the innermost lease, of either kind.
	 * @return the lease
	 * @throws IllegalStateException if there is none
	 */
	public Lease lease() {
		return innermost(Lease.class, "lock or permit", "@DistributedLock or @Semaphore");
	}

	/**
	 * Return the innermost lease of a lock.
	 * @return the lease
	 * @throws IllegalStateException if there is none
	 */
	public LockLease lock() {
		return innermost(LockLease.class, "lock", "@DistributedLock");
	}

	/**
	 * Return the innermost lease of permits.
	 * @return the lease
	 * @throws IllegalStateException if there is none
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
	 * This context and one more lease, as the innermost.
	 * @param lease the lease
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
	 * This context within a transaction: requests find the leases that the transaction
	 * keeps at their time. These are not among the {@link #leases()}.
	 * @param transaction the part that calls take in the transaction
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
	 * Make this the context of the current thread, in place of the one it has, until the
	 * scope is closed on the same thread.
	 * @return the scope, whose end puts the former context back
	 */
	public Scope open() {
		return new Scope(this, null);
	}

	/**
	 * Make this the context of the current thread for a coroutine, while that runs on the
	 * thread. Suspending functions and flows of another coroutine, which may be resumed
	 * within the scope, are not under its leases.
	 * @param owner the opener of the scope: an element of the coroutine's context
	 * @return the scope, whose end puts the former context back
	 */
	public Scope open(Object owner) {
		return new Scope(this, owner);
	}

	@Override
	public String toString() {
		return "LeaseContext" + this.leases;
	}

	/**
	 * The time for which a context is the current one of a thread.
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
		 * Put back the context that the current thread had before.
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
