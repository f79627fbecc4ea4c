package io.holdfast.engine;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

import io.holdfast.LockLease;
import io.holdfast.LockMode;
import io.holdfast.LockRequest;
import io.holdfast.ReleaseResult;
import io.holdfast.engine.store.HandOverLimits;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

/**
 * Hand-over of a lock within an instance, without the store.
 */
class HandOverLimitsTests extends ScriptedEngine {

	private static final int COUNT = 3;

	private static final LockRequest READ = REQUEST.mode(LockMode.READ);

	HandOverLimitsTests() {
		super(Settings.with(EngineSettings.defaults(), new HandOverLimits(COUNT, Duration.ofMillis(5))));
	}

	private List<CompletableFuture<LockLease>> waiting(int count, LockRequest request) {
		List<CompletableFuture<LockLease>> waiting = new ArrayList<>();
		for (int i = 0; i < count; i++) {
			waiting.add(this.service.acquireAsync(request));
		}
		return waiting;
	}

	@Test
	void theNextWaiterGetsTheTokenWithAHigherFence() {
		LockLease lease = granted(REQUEST, 100);
		CompletableFuture<LockLease> second = this.service.acquireAsync(REQUEST);
		assertThat(lease.release()).isEqualTo(ReleaseResult.RELEASED);
		assertThat(second.join().fencingToken()).isEqualTo(101);
		assertThat(lease.isHeld()).isFalse();
		assertThat(second.join().isHeld()).isTrue();
		assertThat(this.store.sent()).containsExactly("acquire 1");
		second.join().releaseAsync();
		assertThat(this.store.sent()).containsExactly("release 1");
	}

	@Test
	void theStoreDecidesAfterTheMaximumTime() {
		LockLease lease = granted(REQUEST, 100);
		this.service.acquireAsync(REQUEST);
		this.store.elapse(5);
		lease.releaseAsync();
		assertThat(this.store.sent()).contains("release 1 next 2");
	}

	@Test
	void theDefaultIsSixtyThreeHandOversWithinFiveMilliseconds() {
		LeaseEngine usual = new LeaseEngine(this.store, EngineSettings.defaults(), this.store, Runnable::run, () -> ID,
				() -> 1.0);
		DefaultLockService locks = new DefaultLockService(usual);
		CompletableFuture<LockLease> last = locks.acquireAsync(REQUEST);
		this.store.last("acquire 1").granted(100, 30_000);
		List<CompletableFuture<LockLease>> waiting = Stream.generate(() -> locks.acquireAsync(REQUEST))
			.limit(64)
			.toList();
		this.store.elapse(4);
		for (CompletableFuture<LockLease> next : waiting.subList(0, 63)) {
			last.join().releaseAsync();
			assertThat(next).isCompleted();
			last = next;
		}
		assertThat(last.join().fencingToken()).isEqualTo(163);
		last.join().releaseAsync();
		assertThat(waiting.get(63)).isNotDone();
		assertThat(this.store.sent()).containsExactly("acquire 1", "release 1 next 65");
	}

	@Test
	void eachGrantOfTheStoreStartsTheLimitsAnew() {
		LockLease lease = granted(REQUEST, 100);
		List<CompletableFuture<LockLease>> waiting = waiting(2, REQUEST);
		this.store.elapse(5);
		lease.releaseAsync();
		this.store.last("release 1 next 2").granted(164, 30_000);
		waiting.get(0).join().release();
		assertThat(waiting.get(1).join().fencingToken()).isEqualTo(165);
	}

	@Test
	void theTokenIsRenewedForItsNextHolder() {
		LockLease lease = granted(REQUEST, 100);
		CompletableFuture<LockLease> second = this.service.acquireAsync(REQUEST);
		lease.release();
		this.store.elapse(10_500);
		this.store.last("renew 1").renewed(true);
		this.store.elapse(9_900);
		this.store.last("renew 1").renewed(true);
		this.store.elapse(9_900);
		assertThat(second.join().isHeld()).isTrue();
	}

	@Test
	void aRenewalAnsweredAfterAHandOverCountsForTheNextHolder() {
		LockRequest brief = REQUEST.leaseTime(Duration.ofSeconds(3));
		CompletableFuture<LockLease> answer = this.service.acquireAsync(brief);
		this.store.last("acquire 1").granted(100, 3000);
		CompletableFuture<LockLease> second = this.service.acquireAsync(brief);
		this.store.elapse(4);
		renewer().renewNow(renewer().holds(), 3000);
		answer.join().release();
		this.store.last("renew 1").renewed(true);
		assertThat(second.join().remaining()).isGreaterThan(Duration.ofMillis(2967));
	}

	@Test
	void aLossAnsweredAfterAHandOverEndsTheNextHold() {
		LockLease lease = granted(REQUEST, 100);
		CompletableFuture<LockLease> second = this.service.acquireAsync(REQUEST);
		renewer().renewNow(renewer().holds(), 30_000);
		lease.release();
		this.store.last("renew 1").renewed(false);
		assertThat(second.join().isHeld()).isFalse();
	}

	static Stream<Arguments> otherTerms() {
		return Stream.of(Arguments.of(REQUEST.autoRenew(false), REQUEST),
				Arguments.of(REQUEST, REQUEST.autoRenew(false)),
				Arguments.of(REQUEST, REQUEST.leaseTime(Duration.ofSeconds(20))));
	}

	@ParameterizedTest
	@MethodSource("otherTerms")
	void aHoldIsHandedOverOnlyWithRenewalAndToAnEqualLeaseTime(LockRequest held, LockRequest waiting) {
		LockLease lease = granted(held, 100);
		this.service.acquireAsync(waiting);
		lease.releaseAsync();
		assertThat(this.store.sent()).contains("release 1 next 2");
	}

	@ParameterizedTest
	@ValueSource(booleans = { true, false })
	void aHoldExtendedBeyondItsLeaseTimeIsNotHandedOver(boolean answered) {
		LockLease lease = granted(REQUEST, 100);
		this.service.acquireAsync(REQUEST);
		renewer().renewNow(renewer().holds(), TimeUnit.HOURS.toMillis(1));
		if (answered) {
			this.store.last("renew 1").renewed(true);
		}
		lease.releaseAsync();
		// Otherwise, requests would wait for an hour if the next holder died.
		assertThat(this.store.sent()).contains("release 1 next 2");
	}

	@Test
	void aLostHoldIsNotHandedOver() {
		LockLease lease = granted(REQUEST, 100);
		renewer().renewNow(renewer().holds(), 30_000);
		CompletableFuture<LockLease> second = this.service.acquireAsync(REQUEST);
		this.store.last("renew 1").renewed(false);
		lease.releaseAsync();
		assertThat(second).isNotDone();
		assertThat(this.store.sent()).contains("acquire 2", "release 1");
	}

	@Test
	void aRetainedHoldIsNotHandedOver() {
		LockLease lease = granted(REQUEST.minHold(Duration.ofMillis(100)), 100);
		CompletableFuture<LockLease> second = this.service.acquireAsync(REQUEST);
		lease.releaseAsync();
		assertThat(second).isNotDone();
		assertThat(this.store.sent()).contains("retain 1 for 100", "acquire 2");
	}

	@Test
	void cancelledWaitersGetNoHandOver() {
		LockLease lease = granted(REQUEST, 100);
		List<CompletableFuture<LockLease>> waiting = waiting(2, REQUEST);
		waiting.get(0).cancel(false);
		lease.release();
		assertThat(waiting.get(1).join().fencingToken()).isEqualTo(101);
	}

	@Test
	void anInterruptedHandOverDoesNotNestTheNextRequestOfItsThread() {
		List<Runnable> queued = new ArrayList<>();
		this.callbacks = queued::add;
		PendingAcquisition<?> first = acquire(REQUEST, null);
		this.store.last("acquire 1").granted(100, 30_000);
		Thread thread = new Thread();
		PendingAcquisition<?> interrupted = acquire(REQUEST, thread);
		interrupted.result.whenComplete((lease, error) -> ((LockLease) first.result.join()).releaseAsync());
		interrupted.interrupt(new InterruptedException());
		assertThat(this.store.sent()).containsExactly("acquire 1", "release 1");
		PendingAcquisition<?> again = acquire(REQUEST, thread);
		assertThat(again.result).isNotDone();
		List.copyOf(queued).forEach(Runnable::run);
		assertThat(this.store.sent()).containsExactly("acquire 3");
	}

	@Test
	void nothingIsHandedOverDuringAShutdown() {
		LockLease lease = granted(REQUEST, 100);
		this.service.acquireAsync(REQUEST);
		this.engine.shutDown(Duration.ofSeconds(1));
		lease.releaseAsync();
		assertThat(this.store.sent()).contains("release 1");
	}

	@Test
	void theMaximumCountIsBelowTheStrideOfFences() {
		Duration time = Duration.ofMillis(5);
		assertThat(new HandOverLimits(HandOverLimits.STRIDE - 1, time).maxCount()).isEqualTo(63);
		assertThatIllegalArgumentException().isThrownBy(() -> new HandOverLimits(HandOverLimits.STRIDE, time))
			.withMessageContaining("from 0 to 63: 64");
		assertThatIllegalArgumentException().isThrownBy(() -> new HandOverLimits(-1, time));
	}

	@Test
	void readersContendOnArrivalAndAreNotPassedByWriters() {
		LockLease first = granted(REQUEST, 100);
		this.service.acquireAsync(READ);
		this.service.acquireAsync(READ);
		CompletableFuture<LockLease> writer = this.service.acquireAsync(REQUEST);
		assertThat(this.store.sent()).containsExactly("acquire 1", "acquire 2", "acquire 3");
		first.releaseAsync();
		assertThat(writer).isNotDone();
		assertThat(this.store.sent()).containsExactly("release 1 next 4");
	}

	@Test
	void aReaderBehindAWriterContendsOnceTheWriterHolds() {
		LockLease first = granted(REQUEST, 100);
		CompletableFuture<LockLease> writer = this.service.acquireAsync(REQUEST);
		this.service.acquireAsync(READ);
		assertThat(this.store.sent()).containsExactly("acquire 1");
		first.release();
		assertThat(writer).isCompleted();
		assertThat(this.store.sent()).containsExactly("acquire 3");
		writer.join().releaseAsync();
		assertThat(this.store.sent()).containsExactly("release 1");
	}

	@Test
	void readLeasesAreNotHandedOver() {
		LockLease first = granted(READ, 100);
		this.service.acquireAsync(READ);
		first.releaseAsync();
		assertThat(this.store.sent()).containsExactly("acquire 1", "acquire 2", "release 1");
	}

}
