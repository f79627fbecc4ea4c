package io.holdfast.engine;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

import io.holdfast.LeaseContext;
import io.holdfast.LockLease;
import io.holdfast.LockMode;
import io.holdfast.LockRequest;
import io.holdfast.SemaphoreRequest;
import io.holdfast.engine.store.Resource.Kind;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatRuntimeException;

/**
 * Events of an engine for its observers, and their order.
 */
class EngineObserverTests extends ScriptedEngine {

	private static final LockRequest SEVERAL = LockRequest.ofAll(List.of("b", "a")).waitTime(Duration.ofSeconds(10));

	private final RecordingObserver observer = new RecordingObserver();

	@BeforeEach
	void observe() {
		this.engine.observe(this.observer);
	}

	@Test
	void aRequestBeginsIsGrantedAndEndsWithItsRelease() {
		LockLease lease = granted(REQUEST, 10);
		assertThat(this.observer.events()).containsExactly("k began", "k granted [10]");
		lease.releaseAsync();
		assertThat(this.observer.events()).containsExactly("k ended RELEASED");
		this.store.last("release 1").released(true);
		lease.releaseAsync();
		assertThat(this.observer.events()).isEmpty();
	}

	@Test
	void theWarmUpIsNotObserved() {
		this.store.answerAtOnce("acquire 1 at once", (command) -> command.granted(1, 30_000));
		this.store.answerAtOnce("release 1", (command) -> command.released(true));
		this.engine.warmUp();
		assertThat(this.store.sent()).containsExactly("acquire 1 at once", "release 1");
		assertThat(this.observer.events()).isEmpty();
	}

	@Test
	void noWarmUpStartsBeforeTheAdmission() {
		this.engine.resume();
		CompletableFuture<@Nullable Void> admission = new CompletableFuture<>();
		this.engine.context.setMembership(new ScriptedMembership(admission, (id) -> null));
		this.engine.warmUp();
		assertThat(admission.getNumberOfDependents()).as("pending commands").isZero();
	}

	@Test
	void anObservedRequestHasTheTermsOfTheRequest() {
		List<ObservedRequest> requests = new ArrayList<>();
		this.engine.observe(new EngineObserver() {
			@Override
			public @Nullable RequestObserver requested(ObservedRequest request) {
				requests.add(request);
				return null;
			}
		});
		this.service.acquireAsync(REQUEST.name("stock"));
		this.service.acquireAsync(LockRequest.of("r").mode(LockMode.READ));
		this.service.acquireAsync(SEVERAL.mode(LockMode.EXCLUSIVE));
		this.semaphores.acquireAsync(SemaphoreRequest.of("s", 5).permits(3).name("api"));
		assertThat(requests).containsExactly(
				new ObservedRequest(this.engine, Kind.LOCK, List.of("k"), LockMode.EXCLUSIVE, 0, "stock", false),
				new ObservedRequest(this.engine, Kind.LOCK, List.of("r"), LockMode.READ, 0, null, false),
				new ObservedRequest(this.engine, Kind.LOCK, List.of("a", "b"), LockMode.EXCLUSIVE, 0, null, false),
				new ObservedRequest(this.engine, Kind.SEMAPHORE, List.of("s"), null, 3, "api", false));
	}

	@Test
	void requestedIsCalledOnTheRequestingThread() {
		ThreadLocal<String> place = new ThreadLocal<>();
		List<String> begun = new ArrayList<>();
		this.engine.observe(new EngineObserver() {
			@Override
			public RequestObserver requested(ObservedRequest request) {
				String noted = request.keys() + " by " + place.get();
				return new RequestObserver() {
					@Override
					public void began() {
						begun.add(noted);
					}
				};
			}
		});
		CompletableFuture<LockLease> first = this.service.acquireAsync(REQUEST);
		this.store.whileSending = (line) -> {
			// The second request arrives during the event of the first, so that its event
			// runs later, on the thread of the first.
			place.set("the second");
			this.store.whileSending = (other) -> {
			};
			this.service.acquireAsync(REQUEST);
			place.set("none");
		};
		this.store.elapse(5000);
		assertThat(first).isNotDone();
		assertThat(begun).containsExactly("[k] by null", "[k] by the second");
	}

	@Test
	void observersLearnOfGrantsAndFailuresBeforeTheUser() {
		List<String> order = new ArrayList<>();
		RecordingObserver noting = new RecordingObserver() {
			@Override
			protected void record(String line) {
				order.add(line);
			}
		};
		this.engine.observe(noting);
		this.service.acquireAsync(REQUEST).whenComplete((lease, error) -> order.add("user has it"));
		this.store.last("acquire 1").granted(10, 30_000);
		this.service.acquireAsync(REQUEST.waitTime(Duration.ofSeconds(1)))
			.whenComplete((lease, error) -> order.add("user has none"));
		this.store.elapse(1001);
		assertThat(order).containsExactly("k began", "k granted [10]", "user has it", "k began", "k failed TIMED_OUT",
				"user has none");
	}

	@Test
	void nestedLeasesAreNotObserved() {
		LockLease lease = this.store.answering("acquire 1", 10, () -> this.service.acquire(REQUEST));
		this.observer.events();
		LockLease again = this.service.acquire(REQUEST);
		LockLease within = this.service.acquireAsync(REQUEST.within(LeaseContext.empty().with(lease))).join();
		again.releaseAsync();
		lease.releaseAsync();
		assertThat(this.observer.events()).isEmpty();
		within.releaseAsync();
		assertThat(this.observer.events()).containsExactly("k ended RELEASED");
	}

	@Test
	void aRequestThatFailsWithoutTheStoreBeginsToo() {
		this.store.answering("acquire 1", 10, () -> this.service.acquire(REQUEST.mode(LockMode.READ)));
		this.observer.events();
		assertThatRuntimeException().isThrownBy(() -> this.service.acquire(REQUEST));
		assertThat(this.observer.events()).containsExactly("k began", "k failed SELF_BLOCKED");
		this.engine.shutDown(Duration.ofSeconds(1));
		this.service.acquireAsync(LockRequest.of("other"));
		assertThat(this.observer.events()).containsExactly("other began", "other failed SHUTDOWN");
	}

	@Test
	void aCancelledRequestFailsOnce() {
		CompletableFuture<LockLease> answer = this.service.acquireAsync(REQUEST);
		answer.cancel(false);
		this.store.last("acquire 1").granted(10, 30_000);
		this.store.last("release 1").released(true);
		assertThat(this.observer.events()).containsExactly("k began", "k failed INTERRUPTED");
	}

	@Test
	void aGrantDuringTheCancellationIsNotObserved() {
		CompletableFuture<LockLease> answer = this.service.acquireAsync(REQUEST);
		// The user cancels while the queue handles the grant.
		this.store.whileReadingTheClock = () -> answer.cancel(false);
		this.store.last("acquire 1").granted(10, 30_000);
		assertThat(this.observer.events()).containsExactly("k began", "k failed INTERRUPTED");
	}

	@Test
	void aLeaseLostBeforeItsDeliveryIsGrantedAndThenEnds() {
		CompletableFuture<LockLease> answer = this.service.acquireAsync(REQUEST);
		loseOnceHeld(ID + ":1");
		this.store.last("acquire 1").granted(10, 30_000);
		assertThat(answer.join().isHeld()).isFalse();
		assertThat(this.observer.events()).containsExactly("k began", "lost LOCK null", "k granted [10]",
				"k ended LOST");
	}

	private void loseOnceHeld(String token) {
		this.store.whileReadingTheClock = () -> {
			Hold hold = this.engine.queues.renewer.find(token);
			if (hold != null) {
				this.engine.queues.renewer.lose(hold, "a test says so");
			}
			else {
				loseOnceHeld(token);
			}
		};
	}

	@Test
	void refusalsAndFailuresOfTheStoreAreObserved() {
		CompletableFuture<Optional<LockLease>> answer = this.service.tryAcquireAsync(REQUEST.waitTime(Duration.ZERO));
		this.store.last("acquire 1").busy(30_000, 10);
		assertThat(answer).isCompletedWithValue(Optional.empty());
		assertThat(this.observer.events()).containsExactly("k began", "k failed TIMED_OUT");
		this.service.acquireAsync(REQUEST);
		this.store.last("acquire 2").fail(false);
		assertThat(this.observer.events()).containsExactly("k began", "k failed LeaseStoreException", "failed ACQUIRE");
		this.semaphores.acquireAsync(SemaphoreRequest.of("s", 2).permits(2));
		this.store.last("acquire 3").rejected(1);
		assertThat(this.observer.events()).containsExactly("s began", "s failed EXCEEDS_LIMIT");
	}

	@Test
	void aSilentStoreHasFailed() {
		this.service.acquireAsync(REQUEST.waitTime(Duration.ofSeconds(1)));
		this.store.elapse(1001);
		assertThat(this.observer.events()).containsExactly("k began", "failed ACQUIRE", "k failed LeaseStoreException");
		this.store.elapse(TimeUnit.NANOSECONDS.toMillis(this.engine.context.commandTimeoutNanos));
		assertThat(this.observer.events()).containsExactly("failed RELEASE");
	}

	@Test
	void aReleaseThatFailsAfterItsTimeoutFailsOnce() {
		LockLease lease = granted(REQUEST, 10);
		lease.releaseAsync();
		this.observer.events();
		this.store.elapse(TimeUnit.NANOSECONDS.toMillis(this.engine.context.commandTimeoutNanos));
		assertThat(this.observer.events()).containsExactly("failed RELEASE");
		this.store.last("release 1").fail(true);
		assertThat(this.observer.events()).isEmpty();
	}

	@Test
	void cancelledCommandsHaveNotFailed() {
		LockLease lease = granted(REQUEST, 10);
		CompletableFuture<LockLease> next = this.service.acquireAsync(REQUEST);
		lease.releaseAsync();
		next.cancel(false);
		assertThat(this.observer.events()).doesNotContain("failed ACQUIRE", "failed RELEASE");
	}

	@Test
	void renewalsAreObservedWithTheirOutcome() {
		granted(REQUEST.name("stock"), 10);
		this.observer.events();
		this.store.elapse(10_000);
		this.store.last("renew 1").renewed(true);
		assertThat(this.observer.events()).containsExactly("renewal LOCK RENEWED");
		this.store.elapse(10_000);
		this.store.last("renew 1").fail(true);
		assertThat(this.observer.events()).containsExactly("renewal LOCK FAILED", "failed RENEW");
		this.store.elapse(1000);
		this.store.last("renew 1").renewed(false);
		assertThat(this.observer.events()).containsExactly("renewal LOCK LOST", "lost LOCK stock", "k ended LOST");
	}

	@Test
	void aRenewalWithoutAnswerBeforeTheNextRenewalHasFailed() {
		granted(REQUEST, 10);
		this.observer.events();
		this.store.elapse(10_000);
		assertThat(this.observer.events()).isEmpty();
		this.store.elapse(5_000);
		assertThat(this.observer.events()).containsExactly("renewal LOCK FAILED", "failed RENEW");
		this.store.last("renew 1").renewed(true);
		assertThat(this.observer.events()).containsExactly("renewal LOCK RENEWED");
	}

	@Test
	void renewalsOfAnEndedLeaseAreNotObserved() {
		LockLease lease = granted(REQUEST, 10);
		this.store.elapse(10_000);
		lease.releaseAsync();
		this.observer.events();
		this.store.last("renew 1").renewed(false);
		assertThat(this.observer.events()).isEmpty();
	}

	@Test
	void aLateRenewalIsALoss() {
		granted(REQUEST, 10);
		this.store.elapse(10_000);
		this.observer.events();
		this.store.pause(20_000);
		this.store.last("renew 1").renewed(true);
		assertThat(this.observer.events()).containsExactly("renewal LOCK LOST", "lost LOCK null", "k ended LOST");
	}

	@Test
	void aLeaseWithoutRenewalExpiresAndIsLostOnlyByALateRelease() {
		LockLease lease = granted(REQUEST.autoRenew(false), 10);
		this.observer.events();
		this.store.elapse(30_000);
		assertThat(this.observer.events()).containsExactly("k ended EXPIRED");
		lease.releaseAsync();
		assertThat(this.observer.events()).containsExactly("lost LOCK null");
	}

	@Test
	void aRetainedLeaseEndsWithItsRelease() {
		LockLease lease = granted(REQUEST.minHold(Duration.ofMinutes(1)), 10);
		this.observer.events();
		lease.releaseAsync();
		assertThat(this.observer.events()).containsExactly("k ended RELEASED");
		this.store.last("retain 1").fail(true);
		assertThat(this.observer.events()).containsExactly("failed RETAIN");
	}

	@Test
	void handOversAreObservedWithTheirWay() {
		LockLease lease = granted(REQUEST, 10);
		CompletableFuture<LockLease> second = this.service.acquireAsync(REQUEST);
		lease.releaseAsync();
		assertThat(this.observer.events()).doesNotContain("handed over LOCK PASSED_ON");
		this.store.last("release 1 next 2").granted(20, 30_000);
		assertThat(this.observer.events()).containsExactly("handed over LOCK PASSED_ON", "k granted [20]");
		second.join().releaseAsync();
		queued(REQUEST, 20);
		this.observer.events();
		handOver(3, 30, 5000);
		assertThat(this.observer.events()).containsExactly("handed over LOCK WOKEN_UP", "k granted [30]");
		this.service.acquireAsync(LockRequest.of("other").waitTime(Duration.ofSeconds(10)));
		this.store.last("acquire 4").busy(1000, 40);
		this.store.elapse(1002);
		this.observer.events();
		this.store.last("acquire 4").granted(41, 30_000);
		assertThat(this.observer.events()).containsExactly("handed over LOCK ASKED_AGAIN", "other granted [41]");
	}

	@Test
	void severalKeysAreASingleRequest() {
		CompletableFuture<LockLease> answer = this.service.acquireAsync(SEVERAL);
		this.store.last("acquire 1").granted(10, 30_000);
		this.store.last("acquire 2").granted(20, 30_000);
		assertThat(this.observer.events()).containsExactly("a+b began", "a+b granted [10, 20]");
		answer.join().releaseAsync();
		assertThat(this.observer.events()).containsExactly("a+b ended RELEASED");
	}

	@Test
	void severalKeysAreLostTogether() {
		CompletableFuture<LockLease> answer = this.service.acquireAsync(SEVERAL);
		this.store.last("acquire 1").granted(10, 30_000);
		this.store.last("acquire 2").granted(20, 30_000);
		this.store.elapse(10_000);
		this.observer.events();
		this.store.last("renew").renewed(true, false);
		assertThat(this.observer.events()).containsExactly("renewal LOCK RENEWED", "renewal LOCK LOST",
				"lost LOCK null", "a+b ended LOST");
		answer.join().releaseAsync();
		assertThat(this.observer.events()).isEmpty();
	}

	@Test
	void severalKeysFailTogether() {
		this.store.answerAtOnce("acquire 2", (command) -> command.busy(30_000, 10));
		this.service.acquireAsync(SEVERAL);
		this.store.last("acquire 1").granted(10, 30_000);
		this.store.elapse(10_001);
		assertThat(this.observer.events()).containsOnlyOnce("a+b began", "a+b failed TIMED_OUT")
			.noneMatch((line) -> line.contains("ended") || line.contains("granted"));
	}

	@Test
	void severalKeysAreObservedUnlessAllAreNested() {
		LockLease outer = this.store.answering("acquire 1", 10, () -> this.service.acquire(LockRequest.of("a")));
		LockRequest within = SEVERAL.within(LeaseContext.empty().with(outer));
		this.observer.events();
		this.service.acquireAsync(LockRequest.ofAll(List.of("a")).within(LeaseContext.empty().with(outer))).join();
		assertThat(this.observer.events()).isEmpty();
		CompletableFuture<LockLease> both = this.service.acquireAsync(within);
		assertThat(this.observer.events()).containsExactly("a+b began");
		this.store.last("acquire 4").granted(20, 30_000);
		assertThat(this.observer.events()).containsExactly("a+b granted [10, 20]");
		LockRequest again = SEVERAL.within(LeaseContext.empty().with(both.join()));
		this.service.acquireAsync(again).join().releaseAsync();
		assertThat(this.observer.events()).isEmpty();
		both.join().releaseAsync();
		assertThat(this.observer.events()).containsExactly("a+b ended RELEASED");
	}

}
