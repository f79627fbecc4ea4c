package io.holdfast.test;

import java.util.List;

import io.holdfast.Lease;
import io.holdfast.LeaseContext;
import io.holdfast.LockLease;
import io.holdfast.PermitLease;
import io.holdfast.memory.MemoryLeases;

/**
 * Assertions about leases: about {@linkplain #assertNothingIsHeld all leases}, and about
 * the leases of the running code, acquired by annotated methods or services. The latter
 * have to be called in that code, for example in the answer of a mock: <pre class="code">
 * given(this.stock.take("SKU0001", 3)).willAnswer((call) -&gt; {
 *     assertRunsWithLock("stock:SKU0001");
 *     return true;
 * });</pre> These assertions check the {@link LeaseContext} of the current thread, but
 * not leases that the code itself has acquired. A reactive chain has its own context,
 * which has to be {@linkplain LeaseContext#open() opened} around the assertion.
 * Thread-safe.
 *
 * @since 0.1.0
 */
public final class LeaseAssertions {

	private LeaseAssertions() {
	}

	/**
	 * Assert that this code runs with a lock that is still held.
	 * @param key the key of the lock, or one of several keys that are locked together
	 * @throws AssertionError if not, with the leases of this code
	 */
	public static void assertRunsWithLock(String key) {
		boolean found = held().stream()
			.anyMatch((lease) -> lease instanceof LockLease lock && lock.keys().contains(key));
		if (!found) {
			throw new AssertionError("Expected this code to run with the lock '" + key + "', " + actual());
		}
	}

	/**
	 * Assert that this code runs with permits of a semaphore that are still held.
	 * @param key the key of the semaphore
	 * @param permits the total number of permits, also of several calls
	 * @throws AssertionError if the number differs, with the leases of this code
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
	 * Assert that this code runs without a held lease, as slow code should.
	 * @throws AssertionError if this code runs with a held lease, with the leases of this
	 * code
	 */
	public static void assertRunsWithoutLease() {
		if (!held().isEmpty()) {
			throw new AssertionError("Expected this code to run without a lease, " + actual());
		}
	}

	/**
	 * Assert that no lock or permit is held or waited for, as at the end of a test. A
	 * lease that {@code minHold} keeps counts as held.
	 * @param leases all leases: a bean of tests in memory
	 * @throws AssertionError if there is a holder or waiter, with keys, instances and
	 * times
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
