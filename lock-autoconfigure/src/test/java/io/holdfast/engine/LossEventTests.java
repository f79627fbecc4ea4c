package io.holdfast.engine;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import java.util.stream.Stream;

import io.holdfast.LeaseLostEvent;
import io.holdfast.LeaseLostException;
import io.holdfast.LockLease;
import io.holdfast.LockRequest;
import io.holdfast.PermitLease;
import io.holdfast.ReleaseResult;
import io.holdfast.SemaphoreRequest;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/**
 * Events of losses: exactly one for each loss, with its details.
 */
class LossEventTests extends ScriptedEngine {

	private static final String ANOTHER = "the store says that it has another owner, or none";

	private static final String TOO_LONG = "the work took longer than the lease time of 30000 ms";

	private final List<LeaseLostEvent> events = new ArrayList<>();

	@BeforeEach
	void listen() {
		this.engine.onLost(this.events::add);
	}

	/**
	 * Loss of a lease.
	 *
	 * @param request the request
	 * @param cause the cause of the loss
	 * @param heldMillis the time held
	 * @param reason the reason in the event
	 */
	record Loss(LockRequest request, Consumer<LossEventTests> cause, long heldMillis, String reason) {
	}

	static Stream<Loss> losses() {
		return Stream.of(new Loss(REQUEST.name("stock"), (test) -> {
			test.store.elapse(10_000);
			test.store.last("renew 1").renewed(false);
		}, 10_000, ANOTHER), new Loss(REQUEST.maxHold(Duration.ofSeconds(40)), (test) -> {
			// The whole process stands still, beyond the maxHold.
			test.store.pause(60_000);
			test.store.elapse(1);
		}, 29_698, "it was not renewed in time"), new Loss(REQUEST, (test) -> {
			test.store.answerAtOnce("renew 1 for 30000", (command) -> command.fail(true));
			test.store.elapse(30_000);
		}, 29_698, "it was not renewed in time, as its last renewal failed: trouble"),
				new Loss(REQUEST.maxHold(Duration.ofSeconds(30)), (test) -> {
					test.store.answerAtOnce("renew 1 for 30000", (command) -> command.renewed(true));
					test.store.elapse(50_000);
				}, 49_698, "it was held for longer than its maxHold"), new Loss(REQUEST.autoRenew(false), (test) -> {
					test.store.answerAtOnce("inspect", (command) -> command.owned(ID + ":1"));
					test.store.answerAtOnce("force 1", (command) -> command.forced(true));
					assertThat(test.service.forceRelease("k")).isTrue();
				}, 0, "it was released by force"), new Loss(REQUEST.autoRenew(false), (test) -> {
					test.engine.shutDown(Duration.ofSeconds(2));
					test.store.elapse(2000);
				}, 2000, "this instance shut down before it was released"),
				new Loss(REQUEST.autoRenew(false), (test) -> {
					// The expiry is not detected.
					test.store.pause(40_000);
					test.lease.releaseAsync();
				}, 29_698, TOO_LONG), new Loss(REQUEST.minHold(Duration.ofSeconds(20)), (test) -> {
					CompletableFuture<ReleaseResult> result = test.lease.releaseAsync();
					test.store.last("retain 1").retained(false);
					assertThat(result).isCompletedWithValue(ReleaseResult.LOST);
				}, 0, ANOTHER));
	}

	private LockLease lease;

	@ParameterizedTest
	@MethodSource("losses")
	void aLossHasOneEventWithKeyNameTimeAndReason(Loss loss) {
		this.lease = granted(loss.request(), 10);
		loss.cause().accept(this);
		assertThat(this.events).usingRecursiveFieldByFieldElementComparator()
			.containsExactly(new LeaseLostEvent("k", loss.request().name(), 0, Duration.ofMillis(loss.heldMillis()),
					loss.reason()));
		this.store.answerAtOnce("release 1", (command) -> command.released(false));
		this.store.elapse(40_000);
		this.lease.releaseAsync();
		assertThat(this.events).as("no second event at a late release").hasSize(1);
	}

	@Test
	void aLossEventOfPermitsHasTheirNumber() {
		CompletableFuture<PermitLease> answer = this.semaphores
			.acquireAsync(SemaphoreRequest.of("k", 5).permits(3).name("geocoder"));
		this.store.last("acquire 1").granted(0, 30_000);
		assertThat(answer).isCompleted();
		this.store.elapse(10_000);
		this.store.last("renew 1").renewed(false);
		assertThat(this.events).usingRecursiveFieldByFieldElementComparator()
			.containsExactly(new LeaseLostEvent("k", "geocoder", 3, Duration.ofSeconds(10), ANOTHER));
	}

	@Test
	void anExpiredLeaseWithoutRenewalIsLostOnlyByALateRelease() {
		LockLease lease = granted(REQUEST.autoRenew(false), 10);
		this.store.elapse(40_000);
		assertThat(this.events).isEmpty();
		lease.releaseAsync();
		assertThat(this.events).usingRecursiveFieldByFieldElementComparator()
			.containsExactly(new LeaseLostEvent("k", null, 0, Duration.ofMillis(29_698), TOO_LONG));
		lease.releaseAsync();
		assertThat(this.events).hasSize(1);
	}

	@Test
	void nestedLeasesAreLostTogether() {
		LockLease outer = this.store.answering("acquire 1", 10, () -> this.service.acquire(REQUEST.name("outer")));
		LockLease inner = this.service.acquire(REQUEST.name("inner"));
		this.store.elapse(10_000);
		this.store.last("renew 1").renewed(false);
		inner.releaseAsync();
		outer.releaseAsync();
		assertThat(this.events).extracting(LeaseLostEvent::name).containsExactly("outer");
	}

	@Test
	void eachLostKeyOfSeveralHasItsOwnEvent() {
		this.store.parts.put("b", 1);
		CompletableFuture<LockLease> both = this.service
			.acquireAsync(LockRequest.ofAll(List.of("a", "b")).name("transfer"));
		this.store.last("acquire 1").granted(10, 30_000);
		this.store.last("acquire 2").granted(20, 30_000);
		this.store.elapse(10_000);
		this.store.last("renew 1").renewed(false);
		both.join().releaseAsync();
		assertThat(this.events).extracting(LeaseLostEvent::key).containsExactly("a");
		assertThat(this.events).extracting(LeaseLostEvent::name).containsExactly("transfer");
	}

	@Test
	void aLeaseReleasedInTimeIsNotLost() {
		granted(REQUEST, 10).releaseAsync();
		LockLease kept = granted(REQUEST.minHold(Duration.ofMinutes(1)), 20);
		kept.releaseAsync();
		this.store.elapse(100_000);
		assertThat(this.events).isEmpty();
	}

	@Test
	void aTokenNotFoundByItsReleaseIsLost() {
		LockLease lease = granted(REQUEST.name("stock"), 10);
		List<String> lost = new ArrayList<>();
		lease.onLost(() -> lost.add("lost"));
		this.store.elapse(2000);
		CompletableFuture<ReleaseResult> result = lease.releaseAsync();
		this.store.last("release 1").released(false);
		assertThat(result).isCompletedWithValue(ReleaseResult.LOST);
		assertThat(this.events).usingRecursiveFieldByFieldElementComparator()
			.containsExactly(new LeaseLostEvent("k", "stock", 0, Duration.ofSeconds(2), ANOTHER));
		assertThat(lost).containsExactly("lost");
		assertThatExceptionOfType(LeaseLostException.class).isThrownBy(lease::ensureHeld);
	}

	@Test
	void anActionAddedBetweenLossAndReleaseRuns() {
		List<Runnable> callbacks = new ArrayList<>();
		LockLease lease = granted(REQUEST, 10);
		this.callbacks = callbacks::add;
		this.store.elapse(10_000);
		this.store.last("renew 1").renewed(false);
		List<String> lost = new ArrayList<>();
		lease.onLost(() -> lost.add("before"));
		lease.releaseAsync();
		lease.onLost(() -> lost.add("after"));
		// Callbacks may add callbacks.
		for (int i = 0; i < callbacks.size(); i++) {
			callbacks.get(i).run();
		}
		assertThat(lost).containsExactly("before");
	}

	@Test
	void aTokenNotFoundByARepeatedReleaseIsReleased() {
		CompletableFuture<ReleaseResult> result = granted(REQUEST, 10).releaseAsync();
		this.store.last("release 1").releasedOrRepeated();
		assertThat(result).isCompletedWithValue(ReleaseResult.RELEASED);
		LockLease kept = granted(REQUEST.minHold(Duration.ofSeconds(20)), 20);
		result = kept.releaseAsync();
		this.store.last("retain 2").releasedOrRepeated();
		assertThat(result).isCompletedWithValue(ReleaseResult.RELEASED);
		assertThat(this.events).isEmpty();
	}

	@Test
	void aTokenNotFoundAfterItsValidityIsReleased() {
		LockLease lease = granted(REQUEST.autoRenew(false), 10);
		this.store.elapse(29_500);
		CompletableFuture<ReleaseResult> result = lease.releaseAsync();
		this.store.elapse(198);
		this.store.last("release 1").released(false);
		assertThat(result).isCompletedWithValue(ReleaseResult.RELEASED);
		assertThat(this.events).isEmpty();
	}

	@Test
	void onlyTheReleaseOfTheLastLeaseReportsTheLoss() {
		LockLease outer = this.store.answering("acquire 1", 10, () -> this.service.acquire(REQUEST.name("outer")));
		LockLease inner = this.service.acquire(REQUEST.name("inner"));
		List<String> lost = new ArrayList<>();
		outer.onLost(() -> lost.add("outer"));
		inner.onLost(() -> lost.add("inner"));
		assertThat(inner.release()).isEqualTo(ReleaseResult.RELEASED);
		CompletableFuture<ReleaseResult> result = outer.releaseAsync();
		this.store.last("release 1").released(false);
		assertThat(result).isCompletedWithValue(ReleaseResult.LOST);
		assertThat(lost).containsExactly("outer");
	}

	@Test
	void aKeyNotFoundByTheReleaseIsTheLossOfAllKeys() {
		CompletableFuture<LockLease> both = this.service.acquireAsync(LockRequest.ofAll(List.of("a", "b")));
		this.store.last("acquire 1").granted(10, 30_000);
		this.store.last("acquire 2").granted(20, 30_000);
		List<String> lost = new ArrayList<>();
		both.join().onLost(() -> lost.add("both"));
		CompletableFuture<ReleaseResult> result = both.join().releaseAsync();
		this.store.last("release 1").released(true);
		this.store.last("release 2").released(false);
		assertThat(result).isCompletedWithValue(ReleaseResult.LOST);
		assertThat(this.events).extracting(LeaseLostEvent::key).containsExactly("b");
		assertThat(lost).containsExactly("both");
	}

	@Test
	void aDiscardedLeaseIsNeverLost() {
		CompletableFuture<ReleaseResult> result = granted(REQUEST, 10).discardAsync();
		this.store.last("release 1").released(false);
		assertThat(result).isCompletedWithValue(ReleaseResult.RELEASED);
		assertThat(this.events).isEmpty();
	}

	@Test
	void aListenerThatThrowsDoesNoHarm() {
		this.engine.onLost((event) -> {
			this.events.add(event);
			throw new IllegalStateException("A listener's own trouble");
		});
		LockLease lease = granted(REQUEST, 10);
		List<String> lost = new ArrayList<>();
		lease.onLost(() -> lost.add("lost"));
		this.service.acquireAsync(REQUEST.waitTime(Duration.ofMinutes(1)));
		this.store.elapse(10_000);
		this.store.sent();
		this.store.last("renew 1").renewed(false);
		assertThat(this.events).hasSize(1);
		assertThat(lost).containsExactly("lost");
		assertThat(this.store.sent()).as("the next waiter").containsExactly("acquire 2");
	}

	@Test
	void theLastListenerReplacesEarlierListeners() {
		List<LeaseLostEvent> others = new ArrayList<>();
		granted(REQUEST, 10);
		this.engine.onLost(others::add);
		this.store.elapse(10_000);
		this.store.last("renew 1").renewed(false);
		assertThat(this.events).isEmpty();
		assertThat(others).hasSize(1);
	}

}
