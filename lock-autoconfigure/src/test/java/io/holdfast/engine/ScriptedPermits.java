package io.holdfast.engine;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;

import io.holdfast.PermitLease;
import io.holdfast.SemaphoreRequest;
import io.holdfast.engine.Resource.Kind;

/**
 * A scripted engine that passes permits of a semaphore on.
 */
abstract class ScriptedPermits extends ScriptedEngine {

	static final int COUNT = 3;

	static final int LIMIT = 3;

	static final SemaphoreRequest ONE = SemaphoreRequest.of("k", LIMIT)
		.waitTime(Duration.ofSeconds(10))
		.leaseTime(Duration.ofSeconds(30));

	static final Resource SEMAPHORE = new Resource(Kind.SEMAPHORE, "k");

	@Override
	EngineSettings settings() {
		return EngineSettings.defaults().localHandOver(new HandOverLimits(COUNT, Duration.ofMillis(5)));
	}

	List<CompletableFuture<PermitLease>> ask(int times, SemaphoreRequest request) {
		List<CompletableFuture<PermitLease>> answers = new ArrayList<>();
		for (int i = 0; i < times; i++) {
			answers.add(this.semaphores.acquireAsync(request));
		}
		return answers;
	}

	CompletableFuture<PermitLease> ask(SemaphoreRequest request) {
		return this.semaphores.acquireAsync(request);
	}

	/** All permits are held here: those of the tokens 1 to 3. */
	List<PermitLease> all(SemaphoreRequest request) {
		List<CompletableFuture<PermitLease>> answers = ask(LIMIT, request);
		for (int number = 1; number <= LIMIT; number++) {
			this.store.last("acquire " + number).granted(10 + number, 30_000);
		}
		this.store.sent();
		return answers.stream().map(CompletableFuture::join).toList();
	}

}
