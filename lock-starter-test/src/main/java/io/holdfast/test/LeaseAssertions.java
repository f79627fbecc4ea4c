package io.holdfast.test;

import java.util.List;

import io.holdfast.Lease;
import io.holdfast.LeaseContext;
import io.holdfast.LockLease;
import io.holdfast.PermitLease;
import io.holdfast.memory.MemoryLeases;

/**
 * Assertions on leases: on {@linkplain #assertNothingIsHeld all of them}, and on those
 * under which code runs, by annotated methods or services. The latter are to be called in
 * that code, such as in the answer of a mock that it uses: <pre class="code">
 * given(this.stock.take("SKU0001", 3)).willAnswer((call) -&gt; {
 *     assertRunsWithLock("stock:SKU0001");
 *     return true;
 * });</pre> They look at the {@link LeaseContext} of the current thread, and not at
 * leases that code has acquired by itself. A reactive chain has its own context, to be
 * {@linkplain LeaseContext#open() opened} around them. Thread-safe.
 *
 * @since 0.1.0
 */
public final class LeaseAssertions {

	private LeaseAssertions() {
	}

	/**
	 * Assert that this code runs with a lock, which is still held.
	 * @param key the key of the lock; one of several that are locked together is enough
	 * @throws AssertionError if it does not, naming what it runs with
	 */
	public static void assertRunsWithLock(String key) {
		boolean found = held().stream()
			.anyMatch((lease) -> lease instanceof LockLease lock && lock.keys().contains(key));
		if (!found) {
			throw new AssertionError("Expected this code to run with the lock '" + key + "', " + actual());
		}
	}

	/**
	 * Assert that this code runs with permits of a semaphore, which are still held.
	 * @param key the key of the semaphore
	 * @param permits how many permits, all together if they were taken by several calls
	 * @throws AssertionError if it runs with fewer or more, naming what it runs with
	 */
	public static void assertRunsWithPermits(String key, int permits) {
		int found = held().stream()
			.filter((lease) -> lease instanceof PermitLease && lease.key().equals(key))
			.mapToInt((lease) -> ((PermitLease) lease).permits())
			.sum();
		if (found != permits) {
			throw new AssertionError(
					"Expected this code to run with permits of '" + key + "': " + permits + ", " + actual());
		}
	}

	/**
	 * Assert that this code runs with no lease that is held, as what is slow should.
	 * @throws AssertionError if it does, naming what it runs with
	 */
	public static void assertRunsWithoutLease() {
		if (!held().isEmpty()) {
			throw new AssertionError("Expected this code to run without a lease, " + actual());
		}
	}

	/**
	 * Assert that no lock or permit is held or waited for, as at the end of a test. What
	 * is kept by {@code minHold} counts as held.
	 * @param leases where all leases are kept: a bean of tests in memory
	 * @throws AssertionError if there is any, naming keys, instances and times
	 */
	public static void assertNothingIsHeld(MemoryLeases leases) {
		if (!leases.isIdle()) {
			throw new AssertionError("Expected that nothing is held or waited for, but " + leases);
		}
	}

	private static List<Lease> held() {
		return LeaseContext.current().leases().stream().filter(Lease::isHeld).toList();
	}

	private static String actual() {
		List<String> found = LeaseContext.current().leases().stream().map(LeaseAssertions::describe).toList();
		return found.isEmpty() ? "but it runs without any" : "but it runs with " + String.join(", ", found);
	}

	private static String describe(Lease lease) {
		String held = lease.isHeld() ? "" : " (not held any more)";
		return (lease instanceof PermitLease permits) ? permits.permits() + " of '" + lease.key() + "'" + held
				: "the lock '" + lease.key() + "'" + held;
	}

}
