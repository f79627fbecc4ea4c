package io.holdfast.engine;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;

import io.holdfast.PermitLease;
import io.holdfast.SemaphoreRequest;
import io.holdfast.engine.store.HandOverLimits;
import io.holdfast.engine.store.Resource;
import io.holdfast.engine.store.Resource.Kind;

/**
 * Scripted engine with local hand-over of permits.
 */
public abstract class ScriptedPermits extends ScriptedEngine {

	protected static final int COUNT = 3;

	protected static final int LIMIT = 3;

	protected static final SemaphoreRequest ONE = SemaphoreRequest.of("k", LIMIT)
		.waitTime(Duration.ofSeconds(10))
		.leaseTime(Duration.ofSeconds(30));

	protected static final Resource SEMAPHORE = new Resource(Kind.SEMAPHORE, "k");

	protected ScriptedPermits() {
		super(Settings.with(EngineSettings.defaults(), new HandOverLimits(COUNT, Duration.ofMillis(5))));
	}

	protected List<CompletableFuture<PermitLease>> request(int times, SemaphoreRequest request) {
		List<CompletableFuture<PermitLease>> answers = new ArrayList<>();
		for (int i = 0; i < times; i++) {
			answers.add(this.semaphores.acquireAsync(request));
		}
		return answers;
	}

	protected CompletableFuture<PermitLease> request(SemaphoreRequest request) {
		return this.semaphores.acquireAsync(request);
	}

	/** Acquire all permits, with the tokens 1 to 3. */
	protected List<PermitLease> all(SemaphoreRequest request) {
		List<CompletableFuture<PermitLease>> answers = request(LIMIT, request);
		for (int number = 1; number <= LIMIT; number++) {
			this.store.last("acquire " + number).granted(10 + number, 30_000);
		}
		this.store.sent();
		return answers.stream().map(CompletableFuture::join).toList();
	}

}
