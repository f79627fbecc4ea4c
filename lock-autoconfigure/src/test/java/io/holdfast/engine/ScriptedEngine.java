package io.holdfast.engine;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.Executor;

import io.holdfast.LeaseContext;
import io.holdfast.LockLease;
import io.holdfast.LockRequest;
import io.holdfast.engine.fleet.Fleet;
import io.holdfast.engine.store.HandOverLimits;
import org.jspecify.annotations.Nullable;

import static io.holdfast.engine.Locks.lock;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

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

	/** Runs the callbacks of the engine. */
	protected Executor callbacks = Runnable::run;

	private final EngineSettings settings;

	protected final LeaseEngine engine;

	protected final DefaultLockService service;

	protected final DefaultSemaphoreService semaphores;

	protected ScriptedEngine() {
		this(STRICT);
	}

	protected ScriptedEngine(EngineSettings settings) {
		this.settings = settings;
		this.engine = new LeaseEngine(this.store, settings, this.store, (callback) -> this.callbacks.execute(callback),
				() -> ID, this::random);
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
		return this.engine.isIdle();
	}

	protected PendingAcquisition<?> acquire(LockRequest request, @Nullable Thread thread) {
		return this.engine.queues.acquire(Settings.resolve(request, this.settings), thread, LeaseContext.empty());
	}

	/** Assert that a request or release has failed, and return the cause. */
	protected static <T extends Throwable> T assertFailed(CompletableFuture<?> answer, Class<T> type, String... texts) {
		Throwable failure = catchThrowable(() -> answer.getNow(null));
		assertThat(failure).isInstanceOf(CompletionException.class);
		assertThat(failure.getCause()).isInstanceOf(type);
		assertThat(texts).allSatisfy((text) -> assertThat(failure.getCause()).hasMessageContaining(text));
		return type.cast(failure.getCause());
	}

	protected LockLease granted(LockRequest request, long fence) {
		CompletableFuture<LockLease> answer = this.service.acquireAsync(request);
		this.store.last("acquire").granted(fence, 30_000);
		return answer.join();
	}

	/** Request a lock that another instance holds. */
	protected CompletableFuture<LockLease> queued(LockRequest request, long fence) {
		CompletableFuture<LockLease> answer = this.service.acquireAsync(request);
		this.store.last("acquire").busy(30_000, fence);
		return answer;
	}

	protected void handOver(int number, long fence, long ttlMillis) {
		handOver("k", number, fence, ttlMillis);
	}

	protected void handOver(String key, int number, long fence, long ttlMillis) {
		this.store.wakeUps.granted(lock(key), ID + ":" + number, fence, ttlMillis);
	}

}
