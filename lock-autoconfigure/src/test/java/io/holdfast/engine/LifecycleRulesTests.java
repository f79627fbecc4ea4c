package io.holdfast.engine;

import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;

import io.holdfast.LeaseContext;
import io.holdfast.LockLease;
import io.holdfast.LockRequest;
import io.holdfast.ReleaseResult;
import io.holdfast.SemaphoreRequest;
import io.holdfast.engine.fleet.Fleet;
import io.holdfast.engine.store.HandOverLimits;
import io.holdfast.engine.store.InstanceInfo;
import io.holdfast.engine.store.Tokens;
import io.holdfast.memory.MemoryLeaseStore;
import io.holdfast.memory.MemoryLeases;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

/**
 * Starting and stopping. A process restored from an image of a stopped process shares
 * nothing with other copies of the image.
 */
class LifecycleRulesTests {

	private static final LockRequest REQUEST = LockRequest.of("k")
		.waitTime(Duration.ofSeconds(10))
		.leaseTime(Duration.ofSeconds(30));

	private final ScriptedStore store = new ScriptedStore();

	private final AtomicInteger starts = new AtomicInteger();

	private final LeaseEngine engine = engine(this.store, this.starts);

	private final DefaultLockService service = new DefaultLockService(this.engine);

	private static LeaseEngine engine(ScriptedStore store, AtomicInteger starts) {
		return new LeaseEngine(store, Settings.with(EngineSettings.defaults(), HandOverLimits.NONE), store,
				Runnable::run, () -> "%032x".formatted(starts.incrementAndGet()), () -> 1.0);
	}

	@Test
	void nothingIsUsedBeforeTheStart() {
		Fleet.of(this.engine).register(() -> new InstanceInfo("shop", "host", 1));
		assertThat(this.starts).hasValue(0);
		assertThat(this.store.wakeUps).isNull();
		assertThat(this.store.plannedCount()).isZero();
		this.engine.resume();
		assertThat(this.store.wakeUps).isNotNull();
		this.store.elapse(0);
		assertThat(this.store.sent()).containsExactly("join shop after 0");
	}

	@Test
	void theFirstUseStartsTheEngine() {
		CompletableFuture<LockLease> answer = this.service.acquireAsync(REQUEST);
		assertThat(this.store.wakeUps).isNotNull();
		this.store.last("acquire 1").granted(10, 30_000);
		this.engine.resume();
		assertThat(this.starts).as("started once").hasValue(1);
		assertThat(answer.join().isHeld()).isTrue();
	}

	@Test
	void aFailedStartFailsTheRequestAndLeavesNoTraceOfItsKey() {
		this.store.whileStarting = () -> {
			throw new IllegalStateException("no thread");
		};
		assertThatIllegalStateException().isThrownBy(() -> this.service.acquireAsync(REQUEST)).withMessage("no thread");
		assertThat(this.engine.isIdle()).isTrue();
	}

	@Test
	void eachStartAfterAStopIsAnotherInstance() {
		Set<String> ids = new HashSet<>();
		for (int i = 0; i < 3; i++) {
			this.engine.resume();
			ids.add(this.engine.context.ensureStarted());
			assertThat(this.engine.shutDown(Duration.ofSeconds(1))).isCompleted();
		}
		assertThat(ids).hasSize(3);
	}

	@Test
	void aResumptionEndsTheHoldsOfAnUnfinishedShutdown() {
		this.engine.resume();
		String before = this.engine.context.ensureStarted();
		CompletableFuture<LockLease> answer = this.service.acquireAsync(REQUEST);
		this.store.last("acquire 1").granted(10, 30_000);
		this.engine.shutDown(Duration.ofSeconds(20));
		assertThat(answer.join().isHeld()).isTrue();
		this.store.sent();
		this.engine.resume();
		assertThat(answer.join().isHeld()).isFalse();
		assertThat(this.store.sent()).containsExactly("release 1");
		CompletableFuture<ReleaseResult> released = answer.join().releaseAsync();
		this.store.last("release 1").released(false);
		assertThat(released).isCompletedWithValue(ReleaseResult.LOST);
		CompletableFuture<LockLease> next = this.service.acquireAsync(REQUEST);
		this.store.last("acquire 2").granted(20, 30_000);
		assertThat(next.join().isHeld()).isTrue();
		assertThat(this.engine.queues.renewer.holds()).allMatch((hold) -> !Tokens.isOf(hold.token, before));
	}

	@Test
	void twoShutdownsCompleteWithTheLastRelease() {
		this.engine.resume();
		CompletableFuture<LockLease> answer = this.service.acquireAsync(REQUEST);
		this.store.last("acquire 1").granted(10, 30_000);
		CompletableFuture<?> first = this.engine.shutDown(Duration.ofSeconds(20));
		CompletableFuture<?> second = this.engine.shutDown(Duration.ofSeconds(5));
		answer.join().releaseAsync();
		assertThat(first).isNotDone();
		assertThat(second).isNotDone();
		this.store.last("release 1").released(true);
		assertThat(first).isCompleted();
		assertThat(second).isCompleted();
	}

	@Test
	void codeThatOutlastsAShutdownLosesItsLeaseButKeepsTheKeyForTheLeaseTime() {
		LockLease lease = granted(REQUEST.forCode(), 30_000);
		CompletableFuture<?> shutDown = this.engine.shutDown(Duration.ofSeconds(1));
		this.store.sent();
		this.store.elapse(1000);
		assertThat(lease.isHeld()).isFalse();
		assertThat(shutDown).isCompleted();
		this.store.elapse(1000);
		assertThat(lease.releaseAsync()).isCompletedWithValue(ReleaseResult.LOST);
		this.store.elapse(60_000);
		assertThat(this.store.sent()).as("neither renewed nor released").isEmpty();
		assertThat(this.engine.isIdle()).isTrue();
	}

	@Test
	void codeKeepsAHoldSharedWithOtherLeases() {
		LockLease lease = granted(REQUEST, 30_000);
		LockLease ofCode = this.service.acquireAsync(REQUEST.forCode().within(LeaseContext.empty().with(lease))).join();
		this.engine.shutDown(Duration.ofSeconds(1));
		this.store.sent();
		this.store.elapse(1000);
		assertThat(ofCode.isHeld()).isFalse();
		assertThat(lease.releaseAsync()).isCompletedWithValue(ReleaseResult.LOST);
		assertThat(ofCode.releaseAsync()).isCompletedWithValue(ReleaseResult.LOST);
		assertThat(this.store.sent()).isEmpty();
	}

	@Test
	void aHoldReleasedByCodeIsReleasedAtTheShutdown() {
		LockLease lease = granted(REQUEST, 30_000);
		LockLease ofCode = this.service.acquireAsync(REQUEST.forCode().within(LeaseContext.empty().with(lease))).join();
		ofCode.releaseAsync();
		this.engine.shutDown(Duration.ofSeconds(1));
		this.store.sent();
		this.store.elapse(1000);
		assertThat(this.store.sent()).containsExactly("release 1");
	}

	@ParameterizedTest
	@CsvSource({ "5000, 0, retain 1 for 30000", "30000, 40, retain 1 for 39000", "30000, 10," })
	void codeKeepsTheKeyForItsLeaseTimeOrALongerMinHold(long ttlMillis, int minHold, @Nullable String retention) {
		granted(REQUEST.forCode().minHold(Duration.ofSeconds(minHold)), ttlMillis);
		this.store.elapse(1000);
		shutDownNow();
		if (retention != null) {
			this.store.last("retain 1").retained(true);
		}
		this.store.elapse(60_000);
		assertThat(this.store.sent())
			.containsExactlyElementsOf(Stream.of("acquire 1", retention).filter(Objects::nonNull).toList());
	}

	@Test
	void codeOfThePreviousInstanceKeepsItsKey() {
		LockLease lease = granted(REQUEST.forCode(), 30_000);
		this.engine.shutDown(Duration.ofSeconds(20));
		this.store.sent();
		this.engine.resume();
		assertThat(lease.isHeld()).isFalse();
		assertThat(lease.releaseAsync()).isCompletedWithValue(ReleaseResult.LOST);
		assertThat(this.store.sent()).isEmpty();
	}

	@Test
	void nothingIsSentToAClosedStore() {
		LockLease lease = granted(REQUEST, 30_000);
		shutDownNow();
		this.store.last("release 1").released(true);
		this.engine.close();
		this.store.sent();
		assertThat(lease.releaseAsync()).isCompletedWithValue(ReleaseResult.LOST);
		assertThat(this.store.sent()).isEmpty();
	}

	private void shutDownNow() {
		this.engine.shutDown(Duration.ZERO);
		this.store.elapse(0);
	}

	private LockLease granted(LockRequest request, long ttlMillis) {
		this.engine.resume();
		CompletableFuture<LockLease> answer = this.service.acquireAsync(request);
		this.store.last("acquire 1").granted(10, ttlMillis);
		return answer.join();
	}

	@Test
	void aResumedShutdownDoesNotCutTheNextShutdownShort() {
		this.engine.resume();
		this.service.acquireAsync(REQUEST);
		this.store.last("acquire 1").granted(10, 30_000);
		// Two shutdowns, as the second must not hide the first.
		this.engine.shutDown(Duration.ofSeconds(20));
		this.engine.shutDown(Duration.ofSeconds(20));
		this.store.elapse(1000);
		this.engine.resume();
		CompletableFuture<LockLease> answer = this.service.acquireAsync(REQUEST);
		this.store.last("acquire 2").granted(20, 30_000);
		this.store.elapse(14_000);
		this.store.last("renew 2 for 30000").renewed(true);
		this.engine.shutDown(Duration.ofSeconds(20));
		this.store.elapse(19_999);
		assertThat(answer.join().isHeld()).isTrue();
		this.store.elapse(1);
		assertThat(answer.join().isHeld()).isFalse();
	}

	@Test
	void closingTheEngineEndsAPendingShutdown() {
		MemoryLeases leases = new MemoryLeases(System::nanoTime);
		LeaseEngine closed = new LeaseEngine(new MemoryLeaseStore(leases), EngineSettings.defaults());
		closed.resume();
		LockLease lease = new DefaultLockService(closed).acquire(REQUEST);
		CompletableFuture<?> shutDown = closed.shutDown(Duration.ofHours(1));
		assertThat(shutDown).isNotDone();
		closed.close();
		assertThat(lease.isHeld()).isFalse();
		assertThat(shutDown).succeedsWithin(Duration.ofSeconds(20));
	}

	@Test
	void aTokenOfThePreviousInstanceIsNotUsed() {
		this.engine.resume();
		this.engine.shutDown(Duration.ZERO);
		this.store.sent();
		// The engine resumes between the creation of the token and the arrival in the
		// queue.
		this.store.whileReadingTheClock = this.engine::resume;
		CompletableFuture<LockLease> answer = this.service.acquireAsync(REQUEST);
		assertThat(this.engine.context.isClosed()).isFalse();
		assertThat(answer).isCompletedExceptionally();
		assertThat(this.store.sent()).noneMatch((command) -> command.startsWith("acquire"));
	}

	@Test
	void aRetainedTokenIsReleasedDuringTheStartOfTheNextInstance() {
		Fleet.of(this.engine).register(() -> new InstanceInfo("shop", "host", 1));
		this.engine.resume();
		this.store.elapse(0);
		this.store.last("join").done(null);
		CompletableFuture<LockLease> answer = this.service.acquireAsync(REQUEST.minHold(Duration.ofSeconds(5)));
		this.store.last("acquire 1").granted(10, 30_000);
		answer.join().releaseAsync();
		this.store.last("retain 1").retained(true);
		this.engine.shutDown(Duration.ofSeconds(1));
		this.store.whileStarting = () -> this.store.elapse(5000);
		this.engine.resume();
		assertThat(this.store.sent()).contains("release 1");
	}

	@Test
	void aStoppedEngineRefusesWithoutStartingTheStore() {
		this.engine.shutDown(Duration.ZERO);
		assertThat(this.service.acquireAsync(REQUEST)).isCompletedExceptionally();
		assertThat(this.store.wakeUps).isNull();
	}

	@Test
	void twoCopiesOfAnImageNeverShareAToken() {
		MemoryLeases leases = new MemoryLeases(System::nanoTime);
		try (LeaseEngine first = new LeaseEngine(new MemoryLeaseStore(leases), EngineSettings.defaults());
				LeaseEngine second = new LeaseEngine(new MemoryLeaseStore(leases), EngineSettings.defaults())) {
			// Before the start, the copies are equal.
			assertThat(first.context.isStarted()).isFalse();
			assertThat(second.context.isStarted()).isFalse();
			first.resume();
			second.resume();
			assertThat(first.context.ensureStarted()).isNotEqualTo(second.context.ensureStarted());
		}
	}

	@Test
	void requestsBeforeTheAdmissionAreSentInTheirOrder() {
		DefaultSemaphoreService semaphores = new DefaultSemaphoreService(this.engine);
		SemaphoreRequest request = SemaphoreRequest.of("k", 1).waitTime(Duration.ofSeconds(10));
		Fleet.of(this.engine).register(() -> new InstanceInfo("shop", "host", 1));
		for (int i = 0; i < 3; i++) {
			semaphores.acquireAsync(request);
		}
		this.store.elapse(0);
		assertThat(this.store.sent()).containsExactly("join shop after 0");
		this.store.last("join").done(null);
		assertThat(this.store.sent()).containsExactly("acquire 1", "acquire 2", "acquire 3");
	}

	@Test
	void aShutdownEndsAnyNumberOfWaits() {
		this.engine.resume();
		List<CompletableFuture<LockLease>> answers = Stream.generate(() -> this.service.acquireAsync(REQUEST))
			.limit(EngineSettings.defaults().maxWaitersPerKey())
			.toList();
		this.engine.shutDown(Duration.ZERO);
		assertThat(answers.stream().filter(CompletableFuture::isDone).count()).isEqualTo(answers.size());
	}

}
