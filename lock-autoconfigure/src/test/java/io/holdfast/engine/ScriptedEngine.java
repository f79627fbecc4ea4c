package io.holdfast.engine;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;

import io.holdfast.LeaseContext;
import io.holdfast.LockLease;
import io.holdfast.LockRequest;
import io.holdfast.engine.fleet.Fleet;
import io.holdfast.engine.store.HandOverLimits;
import org.jspecify.annotations.Nullable;

import static io.holdfast.engine.Locks.lock;

/**
 * Engine with a scripted store and clock. Tokens are 1, 2, … in the order of the
 * requests.
 */
public abstract class ScriptedEngine {

	protected static final String ID = "0123456789abcdef0123456789abcdef";

	protected static final LockRequest REQUEST = LockRequest.of("k")
		.waitTime(Duration.ofSeconds(10))
		.leaseTime(Duration.ofSeconds(30));

	/** The defaults without local hand-over. */
	protected static final EngineSettings STRICT = Settings.with(EngineSettings.defaults(), HandOverLimits.NONE);

	protected final ScriptedStore store = new ScriptedStore();

	/** Runs once, during the next draw of a random number. */
	protected Runnable whileDrawing = () -> {
	};

	private final EngineSettings settings;

	protected final LeaseEngine engine;

	protected final DefaultLockService service;

	protected final DefaultSemaphoreService semaphores;

	protected ScriptedEngine() {
		this(STRICT);
	}

	protected ScriptedEngine(EngineSettings settings) {
		this.settings = settings;
		this.engine = new LeaseEngine(this.store, settings, this.store, Runnable::run, () -> ID, this::random);
		Fleet.of(this.engine);
		this.engine.resume();
		this.service = new DefaultLockService(this.engine);
		this.semaphores = new DefaultSemaphoreService(this.engine);
	}

	private double random() {
		Runnable action = this.whileDrawing;
		this.whileDrawing = () -> {
		};
		action.run();
		return 1;
	}

	protected final EngineSettings settings() {
		return this.settings;
	}

	/** For tests of the fleet. */
	protected EngineContext context() {
		return this.engine.context;
	}

	protected ResourceQueues queues() {
		return this.engine.queues;
	}

	protected LeaseRenewer renewer() {
		return this.engine.queues.renewer;
	}

	protected boolean isIdle() {
		return isIdle(this.engine);
	}

	protected static boolean isIdle(LeaseEngine engine) {
		return engine.isIdle();
	}

	protected static PendingAcquisition<?> acquire(LeaseEngine engine, List<ResolvedRequest> requests,
			@Nullable Thread thread, LeaseContext context) {
		return engine.queues.acquire(requests, thread, context);
	}

	protected LockLease granted(LockRequest request, long fence) {
		CompletableFuture<LockLease> answer = this.service.acquireAsync(request);
		this.store.last("acquire 1").granted(fence, 30_000);
		return answer.join();
	}

	protected void handOver(int number, long fence, long ttlMillis) {
		handOver("k", number, fence, ttlMillis);
	}

	protected void handOver(String key, int number, long fence, long ttlMillis) {
		this.store.wakeUps.granted(lock(key), ID + ":" + number, fence, ttlMillis);
	}

}
