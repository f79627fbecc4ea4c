package io.holdfast.sample;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.locks.LockSupport;

import io.holdfast.LeaseLostException;
import io.holdfast.LockLease;
import io.holdfast.LockRequest;
import io.holdfast.LockService;
import io.holdfast.sample.Fleet.Reply;

import org.springframework.core.env.Environment;
import org.springframework.core.task.AsyncTaskExecutor;
import org.springframework.data.redis.core.StringRedisTemplate;
import org.springframework.stereotype.Service;
import org.springframework.web.server.ResponseStatusException;

/**
 * Simulation of a holder whose JVM freezes, as during a long garbage collection. The
 * holder has a lock without renewal, and writes after its lease has ended and another
 * writer has written. The database refuses this write, because the lock is fenced.
 */
@Service
class Freezer {

	private static final String KIND = "round of ledger entries";

	private static final Duration LOOK = Duration.ofMillis(20);

	private final LockService locks;

	private final Ledger ledger;

	private final Fleet fleet;

	private final StringRedisTemplate redis;

	private final AsyncTaskExecutor executor;

	private final Environment environment;

	Freezer(LockService locks, Ledger ledger, Fleet fleet, StringRedisTemplate redis,
			AsyncTaskExecutor applicationTaskExecutor, Environment environment) {
		this.locks = locks;
		this.ledger = ledger;
		this.fleet = fleet;
		this.redis = redis;
		this.executor = applicationTaskExecutor;
		this.environment = environment;
		fleet.takePart(KIND, this::write);
	}

	/**
	 * Freeze a holder of the ledger's lock until another writer has written. Blocks until
	 * all other writers have written.
	 * @param leaseTime the lease time, which is the longest wait of the other writers
	 * @param writers the number of other writers, over all instances
	 * @param lose whether Redis loses the lock at the beginning, as in a fail-over
	 * @return the result
	 * @throws ResponseStatusException if a holder is already frozen, at any instance
	 */
	FreezeResult freeze(Duration leaseTime, int writers, boolean lose) {
		// A frozen JVM cannot renew its leases.
		LockRequest request = LockRequest.of(Ledger.LOCK)
			.name(Ledger.LOCK)
			.leaseTime(leaseTime)
			.autoRenew(false)
			.fenced();
		CompletableFuture<Outcome> others = new CompletableFuture<>();
		CompletableFuture<Boolean> noticed = new CompletableFuture<>();
		return this.fleet.alone("freeze", "A holder is frozen already: wait until it thaws", () -> {
			String refusal = null;
			try {
				this.locks.withLock(request, () -> {
					LockLease lease = LockLease.current();
					if (lose) {
						this.redis.delete("lock:" + Ledger.LOCK);
					}
					others.completeAsync(() -> this.fleet.round(KIND, Ledger.LOCK, true, writers), this.executor);
					sleepUntil(others, lease);
					noticed.complete(!lease.isHeld());
					this.ledger.write();
				});
			}
			catch (LeaseLostException ex) {
				if (!noticed.isDone()) {
					throw ex;
				}
				refusal = ex.getMessage();
			}
			return new FreezeResult(this.environment.getRequiredProperty("local.server.port"), leaseTime.toSeconds(),
					others.join(), noticed.join(), refusal);
		});
	}

	private void sleepUntil(CompletableFuture<Outcome> others, LockLease lease) {
		while (this.ledger.lastFence() <= lease.fencingToken() && !others.isDone()) {
			LockSupport.parkNanos(LOOK.toNanos());
		}
	}

	private Reply write(String lock, boolean guarded) {
		this.ledger.writeInTurn();
		return new Reply(true, System.nanoTime());
	}

}
