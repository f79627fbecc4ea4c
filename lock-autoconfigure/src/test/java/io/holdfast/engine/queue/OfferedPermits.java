package io.holdfast.engine.queue;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;

import io.holdfast.LeaseContext;
import io.holdfast.PermitLease;
import io.holdfast.SemaphoreRequest;
import io.holdfast.engine.ScriptedEngine;
import io.holdfast.engine.lease.PendingAcquisition;
import io.holdfast.engine.request.EngineSettings;
import io.holdfast.engine.request.ResolvedRequest;
import io.holdfast.engine.store.HandOverLimits;
import io.holdfast.engine.store.Resource;
import io.holdfast.engine.store.Resource.Kind;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * A scripted engine whose permits are offered to a thread that is called for them, and
 * has to wake up first.
 */
abstract class OfferedPermits extends ScriptedEngine {

	static final SemaphoreRequest UNFAIR = SemaphoreRequest.of("k", 2)
		.fair(false)
		.waitTime(Duration.ofSeconds(10))
		.leaseTime(Duration.ofSeconds(30));

	static final Resource SEMAPHORE = new Resource(Kind.SEMAPHORE, "k");

	OfferedPermits() {
		super(EngineSettings.defaults().localHandOver(new HandOverLimits(16, Duration.ofMillis(5))));
	}

	/** Both permits are held here. */
	List<PermitLease> both() {
		List<PermitLease> held = new ArrayList<>();
		for (int number = 1; number <= 2; number++) {
			CompletableFuture<PermitLease> answer = this.semaphores.acquireAsync(UNFAIR);
			this.store.last("acquire " + number).granted(10 + number, 30_000);
			held.add(answer.join());
		}
		this.store.sent();
		return held;
	}

	/** A thread asks, and waits. */
	PendingAcquisition blocked(SemaphoreRequest request) {
		PendingAcquisition acquisition = acquire(this.engine, List.of(ResolvedRequest.of(request, settings())),
				new Thread(), LeaseContext.empty());
		acquisition.markBlocked();
		return acquisition;
	}

	static boolean isCalled(PendingAcquisition waiting) {
		return waiting.markBlocked().isDone() && !waiting.result().isDone();
	}

	static PermitLease lease(PendingAcquisition acquisition) {
		assertThat(acquisition.result()).isCompleted();
		return (PermitLease) acquisition.result().join();
	}

}
