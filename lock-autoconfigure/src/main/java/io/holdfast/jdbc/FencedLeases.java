package io.holdfast.jdbc;

import java.util.ArrayList;
import java.util.List;
import java.util.Objects;

import io.holdfast.Lease;
import io.holdfast.LeaseContext;
import io.holdfast.LeaseLostException;
import io.holdfast.LockLease;
import io.holdfast.async.FencedLease;
import io.holdfast.async.SingleLine;

/**
 * Leases of one check.
 *
 * @param leases the leases, which also implement {@link FencedLease}
 */
record FencedLeases(List<LockLease> leases) {

	/** Return the fenced leases of the current thread. */
	static FencedLeases current() {
		List<LockLease> fenced = new ArrayList<>(1);
		for (Lease lease : LeaseContext.current().leases()) {
			if (lease instanceof LockLease lock && lock.isFenced()) {
				fenced.add(checked(lock));
			}
		}
		return new FencedLeases(fenced);
	}

	/** Return a single lease, whether requested fenced or not. */
	static FencedLeases of(LockLease lease) {
		return new FencedLeases(List.of(checked(lease)));
	}

	private static LockLease checked(LockLease lease) {
		if (!(lease instanceof FencedLease)) {
			throw new IllegalArgumentException("A " + lease.getClass().getName()
					+ " is no lease of Holdfast's own: give databases the lease that the lock service gave");
		}
		return lease;
	}

	boolean isEmpty() {
		return this.leases.isEmpty();
	}

	List<FenceRow> rows() {
		return this.leases.stream()
			.flatMap((lease) -> lease.keys().stream().map((key) -> row(lease, key)))
			.distinct()
			.toList();
	}

	private static FenceRow row(LockLease lease, String key) {
		return FenceRow.of(((FencedLease) lease).fenceName(key), lease.fencingToken(key));
	}

	/** Fail at once if a lease is known to be lost, without a check by the database. */
	void ensureHeld() {
		for (LockLease lease : this.leases) {
			try {
				lease.ensureHeld();
			}
			catch (LeaseLostException ex) {
				String message = Objects.requireNonNullElse(ex.getMessage(), "The lease is not held any more");
				((FencedLease) lease).refuse(ex.getKey(), message, message);
				throw ex;
			}
		}
	}

	/** Note that a transaction under these leases has passed its check. */
	void passed() {
		this.leases.forEach((lease) -> ((FencedLease) lease).passed());
	}

	/**
	 * End the leases of a refused row by loss.
	 * @param what the beginning of the message, before the name of the lock
	 * @param consequence a sentence of the message
	 * @param table the name of the fence table
	 * @return the exception for the code under the lease
	 */
	LeaseLostException refuse(String what, String consequence, String table, LateFenceException late) {
		String key = late.row.name();
		String message = late.getMessage();
		for (LockLease lease : this.leases) {
			for (String leaseKey : lease.keys()) {
				if (row(lease, leaseKey).name().equals(late.row.name())) {
					key = leaseKey;
					message = what + " '" + SingleLine.of(leaseKey) + "' (fencing token " + late.row.token()
							+ ") was refused by the database: a later holder (fencing token " + late.laterToken
							+ ") has been there. " + consequence
							+ ". If each new holder is refused, the clock of Redis was ahead and went back: call Fences.reset(\""
							+ SingleLine.of(leaseKey) + "\"), or delete the row '" + SingleLine.of(late.row.name())
							+ "' of " + table;
					((FencedLease) lease).refuse(leaseKey,
							"the database has refused its fencing token " + late.row.token()
									+ ", as a later holder (fencing token " + late.laterToken + ") has been there",
							message);
				}
			}
		}
		return new LeaseLostException(key, Objects.requireNonNullElse(message, ""), late);
	}

}
