package io.holdfast.engine;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;

import io.holdfast.LockLease;
import io.holdfast.LockRequest;

import static io.holdfast.engine.Locks.lock;

/**
 * An engine on a store and a clock that do just what a test says. Tokens are 1, 2, … in
 * the order of the requests.
 */
abstract class ScriptedEngine {

	static final String ID = "0123456789abcdef0123456789abcdef";

	static final LockRequest REQUEST = LockRequest.of("k")
		.waitTime(Duration.ofSeconds(10))
		.leaseTime(Duration.ofSeconds(30));

	final ScriptedStore store = new ScriptedStore();

	final LeaseEngine engine = new LeaseEngine(this.store, settings(), this.store, Runnable::run, () -> ID, () -> 1.0);

	{
		this.engine.resume();
	}

	final DefaultLockService service = new DefaultLockService(this.engine);

	final DefaultSemaphoreService semaphores = new DefaultSemaphoreService(this.engine);

	/** The defaults, but that nothing is passed on here. */
	EngineSettings settings() {
		return EngineSettings.defaults().localHandOver(HandOverLimits.NONE);
	}

	/** For the tests of the rooms below. */
	EngineContext context() {
		return this.engine.context;
	}

	CoordinatorRegistry coordinators() {
		return this.engine.coordinators;
	}

	LeaseRenewer renewer() {
		return this.engine.renewer;
	}

	boolean isIdle() {
		return this.engine.isIdle();
	}

	LockLease granted(LockRequest request, long fence) {
		CompletableFuture<LockLease> answer = this.service.acquireAsync(request);
		this.store.last("acquire 1").granted(fence, 30_000);
		return answer.join();
	}

	void handOver(int number, long fence, long ttlMillis) {
		handOver("k", number, fence, ttlMillis);
	}

	void handOver(String key, int number, long fence, long ttlMillis) {
		this.store.wakeUps.granted(lock(key), ID + ":" + number, fence, ttlMillis);
	}

}
