package io.holdfast.sample;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.locks.LockSupport;

import io.holdfast.LockLease;
import io.holdfast.LockRequest;
import io.holdfast.LockService;
import io.holdfast.sample.Fleet.Reply;
import org.jspecify.annotations.Nullable;

import org.springframework.core.env.Environment;
import org.springframework.core.task.AsyncTaskExecutor;
import org.springframework.http.HttpStatus;
import org.springframework.stereotype.Service;
import org.springframework.web.server.ResponseStatusException;

/**
 * Plays a holder whose JVM freezes, as by a long garbage collection: it has a lock, does
 * not renew it, lets others queue behind it, and tries to write as if nothing had
 * happened once its lease is over and another writer has written.
 */
@Service
class Freezer {

	private static final String KIND = "round of ledger entries";

	private static final Duration WAIT_TIME = Duration.ofSeconds(10);

	private static final Duration LOOK = Duration.ofMillis(20);

	private final LockService locks;

	private final Ledger ledger;

	private final Fleet fleet;

	private final AsyncTaskExecutor executor;

	private final Environment environment;

	Freezer(LockService locks, Ledger ledger, Fleet fleet, AsyncTaskExecutor applicationTaskExecutor,
			Environment environment) {
		this.locks = locks;
		this.ledger = ledger;
		this.fleet = fleet;
		this.executor = applicationTaskExecutor;
		this.environment = environment;
		fleet.takePart(KIND, this::write);
	}

	/**
	 * Freeze while holding the ledger's lock, until another writer has written there.
	 * Blocks until all others have written.
	 * @param leaseTime how long the others are kept out at most
	 * @param writers how many others want to write in that time, over all instances
	 * @return what happened
	 * @throws ResponseStatusException if a holder is frozen already, at whichever
	 * instance, or the lock was not to be had
	 */
	FreezeResult freeze(Duration leaseTime, int writers) {
		return this.fleet.alone("freeze", "A holder is frozen already: wait until it thaws", () -> {
			CompletableFuture<Outcome> others;
			Thawed thawed;
			try (LockLease lease = take(leaseTime)) {
				others = this.executor.submitCompletable(() -> this.fleet.round(KIND, Ledger.LOCK, true, writers));
				thawed = thaw(lease, others);
			}
			return new FreezeResult(this.environment.getRequiredProperty("local.server.port"), thawed.fence(),
					leaseTime.toSeconds(), result(others), thawed.noticed(), thawed.refusedFor());
		});
	}

	/**
	 * Take the lock without renewal, as a frozen JVM cannot renew its leases; so this one
	 * is not renewed.
	 */
	private LockLease take(Duration leaseTime) {
		return this.locks
			.tryAcquire(LockRequest.of(Ledger.LOCK)
				.name(Ledger.LOCK)
				.waitTime(WAIT_TIME)
				.leaseTime(leaseTime)
				.autoRenew(false)
				.reentrant(false))
			.orElseThrow(() -> new ResponseStatusException(HttpStatus.CONFLICT,
					"The lock '" + Ledger.LOCK + "' was not to be had within " + WAIT_TIME.toSeconds() + " s"));
	}

	/** Wakes up too late, and first of all does what it was about to do. */
	private Thawed thaw(LockLease lease, CompletableFuture<Outcome> others) {
		while (this.ledger.lastFence() <= lease.fencingToken() && !others.isDone()) {
			LockSupport.parkNanos(LOOK.toNanos());
		}
		boolean noticed = !lease.isHeld();
		return new Thawed(lease.fencingToken(), noticed, this.ledger.write(lease.fencingToken()));
	}

	private static Outcome result(CompletableFuture<Outcome> others) {
		try {
			return others.join();
		}
		catch (CompletionException ex) {
			throw (ex.getCause() instanceof RuntimeException failure) ? failure : ex;
		}
	}

	private Reply write(String lock, boolean guarded) {
		boolean written = this.ledger.writeInTurn();
		return new Reply(written, System.nanoTime());
	}

	private record Thawed(long fence, boolean noticed, @Nullable Long refusedFor) {
	}

}
