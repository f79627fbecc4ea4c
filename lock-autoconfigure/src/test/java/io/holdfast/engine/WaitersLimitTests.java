package io.holdfast.engine;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.stream.Stream;

import io.holdfast.Lease;
import io.holdfast.LockLease;
import io.holdfast.LockRequest;
import io.holdfast.NotAcquiredException;
import io.holdfast.NotAcquiredException.Reason;
import io.holdfast.SemaphoreRequest;
import io.holdfast.memory.MemoryLeaseStore;
import io.holdfast.memory.MemoryLeases;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/**
 * Limits of the waiting requests in an instance.
 */
class WaitersLimitTests {

	private static final Duration SOON = Duration.ofSeconds(10);

	private static final int PER_KEY = 3;

	private static final int IN_ALL = 5;

	@AutoClose
	private final LeaseEngine engine = engine();

	private final DefaultLockService locks = new DefaultLockService(this.engine);

	private final DefaultSemaphoreService semaphores = new DefaultSemaphoreService(this.engine);

	private static LeaseEngine engine() {
		EngineSettings base = EngineSettings.defaults();
		return new LeaseEngine(new MemoryLeaseStore(new MemoryLeases(System::nanoTime)),
				new EngineSettings(base.waitTime(), base.leaseTime(), null, base.lossMargin(), base.semaphoreWaitTime(),
						base.semaphoreLeaseTime(), true, base.handoffTimeout(), base.retryInterval(),
						base.commandTimeout(), base.outagePatience(), IN_ALL, PER_KEY, base.lockHandOver(),
						base.semaphoreHandOver()));
	}

	private CompletableFuture<? extends Lease> request(Kind kind, String key) {
		return switch (kind) {
			case EXCLUSIVE -> this.locks.acquireAsync(LockRequest.of(key));
			case PERMITS ->
				this.semaphores.acquireAsync(SemaphoreRequest.of(key, 2).permits(2).waitTime(Duration.ofSeconds(10)));
		};
	}

	private static void assertRefused(CompletableFuture<? extends Lease> request) {
		assertThat(request).failsWithin(SOON)
			.withThrowableOfType(ExecutionException.class)
			.havingCause()
			.isInstanceOfSatisfying(NotAcquiredException.class,
					(ex) -> assertThat(ex.getReason()).isEqualTo(Reason.TOO_MANY_WAITERS))
			.withMessageContaining("holdfast.limits.waiters-per-key");
	}

	@ParameterizedTest
	@EnumSource
	@DisplayName("A key has a maximum of waiters")
	void perKey(Kind kind) {
		Lease held = request(kind, "k").join();
		List<CompletableFuture<? extends Lease>> waiting = new ArrayList<>();
		Stream.generate(() -> request(kind, "k")).limit(PER_KEY).forEach(waiting::add);
		assertThat(waiting).noneMatch(CompletableFuture::isDone);
		assertRefused(request(kind, "k"));
		assertThat(request(kind, "other").join().release()).isNotNull();
		held.release();
		assertThat(waiting.remove(0)).succeedsWithin(SOON);
		waiting.add(request(kind, "k"));
		assertRefused(request(kind, "k"));
		waiting.get(1).cancel(false);
		assertThat(request(kind, "k")).isNotDone();
	}

	@ParameterizedTest
	@EnumSource
	@DisplayName("An instance has a maximum of waiters, and each end of a wait makes room")
	void inAll(Kind kind) {
		List<LockLease> held = new ArrayList<>();
		List<CompletableFuture<? extends Lease>> waiting = new ArrayList<>();
		for (String key : List.of("a", "b", "c")) {
			held.add(this.locks.acquireAsync(LockRequest.of(key)).join());
		}
		Lease last = request(kind, "k").join();
		for (String key : List.of("a", "a", "b", "b", "c")) {
			waiting.add(this.locks.acquireAsync(LockRequest.of(key)));
		}
		assertRefused(request(kind, "k"));
		assertRefused(request(kind, "free"));
		assertThat(this.locks.tryAcquireAsync(LockRequest.of("free").waitTime(Duration.ZERO)).join())
			.as("a request without waiting is not refused")
			.isPresent();
		waiting.get(1).cancel(false);
		CompletableFuture<? extends Lease> next = request(kind, "k");
		assertThat(next).isNotDone();
		assertRefused(request(kind, "k"));
		held.get(2).release();
		assertThat(waiting.get(4)).succeedsWithin(SOON);
		last.release();
		assertThat(next).succeedsWithin(SOON);
		assertThat(this.engine.status().waiting()).isEqualTo(3);
	}

	@Test
	@DisplayName("A thread that holds the key gets a nested lease despite any number of waiters")
	void nested() {
		LockLease held = this.locks.acquire("k");
		Stream.generate(() -> request(Kind.EXCLUSIVE, "k")).limit(PER_KEY).forEach((request) -> {
		});
		this.locks.acquire("k").release();
		CompletableFuture<?> separate = CompletableFuture
			.supplyAsync(() -> this.locks.tryAcquire(LockRequest.of("k").waitTime(SOON)));
		assertThatExceptionOfType(CompletionException.class).as("refused, and not timed out")
			.isThrownBy(separate::join)
			.withCauseInstanceOf(NotAcquiredException.class);
		held.release();
	}

	enum Kind {

		EXCLUSIVE, PERMITS

	}

}
