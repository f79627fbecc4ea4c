package io.holdfast.engine;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import java.util.stream.Stream;

import io.holdfast.LeaseStoreException;
import io.holdfast.LockLease;
import io.holdfast.LockMode;
import io.holdfast.LockNotAcquiredException;
import io.holdfast.LockRequest;
import io.holdfast.NotAcquiredException.Reason;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.awaitility.Awaitility.await;

/**
 * Waits for several keys: in order, all or none, with a single deadline.
 */
class MultiKeyRulesTests extends ScriptedEngine {

	private static final LockRequest SEVERAL = LockRequest.ofAll(List.of("c", "a", "b", "a", "c"))
		.waitTime(Duration.ofSeconds(10))
		.leaseTime(Duration.ofSeconds(30))
		.minHold(Duration.ofMinutes(5));

	private static final LockRequest ONCE = SEVERAL.waitTime(Duration.ZERO);

	@Test
	void keysAreRequestedOnceInOrderAndOnlyAfterThePreviousKeyIsHeld() {
		CompletableFuture<LockLease> answer = this.service.acquireAsync(SEVERAL);
		assertThat(this.store.requestedKeys).containsExactly("a");
		this.store.last("acquire 1").busy(30_000, 10);
		this.store.elapse(1000);
		assertThat(this.store.requestedKeys).containsExactly("a");
		handOver("a", 1, 20, 5000);
		assertThat(this.store.requestedKeys).containsExactly("a", "b");
		this.store.last("acquire 2").granted(30, 30_000);
		assertThat(this.store.requestedKeys).containsExactly("a", "b", "c");
		assertThat(answer).isNotDone();
		this.store.last("acquire 3").granted(40, 30_000);
		assertThat(answer.join().keys()).containsExactly("a", "b", "c");
		assertThat(this.store.sent()).containsExactly("acquire 1", "acquire 2", "acquire 3");
	}

	static Stream<Consumer<MultiKeyRulesTests>> exits() {
		return Stream.of((test) -> test.store.elapse(10_001), (test) -> test.store.last("acquire 2").fail(false),
				(test) -> test.answer.cancel(false), (test) -> test.answer.complete(null),
				(test) -> test.engine.shutDown(Duration.ofSeconds(1)));
	}

	private CompletableFuture<LockLease> answer;

	@ParameterizedTest
	@MethodSource("exits")
	void everyExitReleasesHeldKeysAtOnce(Consumer<MultiKeyRulesTests> exit) {
		this.answer = this.service.acquireAsync(SEVERAL);
		this.store.last("acquire 1").granted(10, 30_000);
		this.store.sent();
		exit.accept(this);
		assertThat(this.answer).isDone();
		assertThat(this.store.sent()).contains("release 1", "release 2").noneMatch((line) -> line.startsWith("retain"));
		assertThat(this.store.requestedKeys).doesNotContain("c");
		this.store.last("release 1").released(true);
		this.store.last("release 2").released(false);
		assertThat(isIdle()).isTrue();
	}

	@Test
	void aCancellationDuringTheNextRequestEndsItsWaitToo() {
		CompletableFuture<LockLease> early = this.service.acquireAsync(SEVERAL);
		this.store.whileSending = (line) -> {
			if (line.equals("acquire 2")) {
				early.cancel(false);
			}
		};
		this.store.last("acquire 1").granted(10, 30_000);
		assertThat(this.store.sent()).containsExactlyInAnyOrder("acquire 1", "acquire 2", "release 1", "release 2");
		CompletableFuture<LockLease> late = this.service.acquireAsync(SEVERAL);
		this.store.whileReadingTheClock = () -> this.store.last("acquire 3").granted(10, 30_000);
		late.cancel(false);
		assertThat(this.store.sent()).containsExactlyInAnyOrder("acquire 3", "acquire 4", "release 3", "release 4");
		assertThat(isIdle()).isTrue();
	}

	@Test
	void allKeysShareADeadline() {
		CompletableFuture<LockLease> first = this.service.acquireAsync(SEVERAL);
		this.store.last("acquire 1").busy(30_000, 10);
		this.store.elapse(7000);
		this.store.last("acquire 1").granted(20, 30_000);
		this.store.last("acquire 2").busy(30_000, 10);
		this.store.elapse(2999);
		assertThat(first).isNotDone();
		this.store.elapse(1);
		LockNotAcquiredException failure = assertFailed(first, LockNotAcquiredException.class);
		assertThat(failure.getKey()).isEqualTo("b");
		assertThat(failure.getReason()).isEqualTo(Reason.TIMED_OUT);
		assertThat(failure.getWaited()).hasSeconds(10);
	}

	@Test
	void heldKeysAreRenewedUntilTheLastKeyEvenWithoutRenewal() {
		CompletableFuture<LockLease> answer = this.service.acquireAsync(LockRequest.ofAll(List.of("a", "b"))
			.waitTime(Duration.ofMinutes(2))
			.leaseTime(Duration.ofSeconds(30))
			.autoRenew(false));
		this.store.last("acquire 1").granted(10, 30_000);
		this.store.answerAtOnce("renew 1 for 30000", (command) -> command.renewed(true));
		this.store.elapse(100_000);
		this.store.last("acquire 2").granted(20, 30_000);
		assertThat(answer).as("before the last renewal of the first key").isNotDone();
		this.store.last("renew 1 for 30000 2 for 30000").renewed(true, true);
		assertThat(answer.join().remaining()).isEqualTo(Duration.ofMillis(29_698));
		this.store.sent();
		this.store.elapse(29_697);
		assertThat(answer.join().isHeld()).isTrue();
		this.store.elapse(1);
		assertThat(answer.join().isHeld()).isFalse();
		assertThat(this.store.sent()).isEmpty();
		assertThat(isIdle()).isTrue();
	}

	@Test
	void maxHoldAndMinHoldBeginWithTheLastKey() {
		CompletableFuture<LockLease> answer = this.service.acquireAsync(SEVERAL.waitTime(Duration.ofMinutes(2))
			.minHold(Duration.ofSeconds(35))
			.maxHold(Duration.ofSeconds(40)));
		this.store.last("acquire 1").granted(10, 30_000);
		this.store.answerAtOnce("renew 1 for 30000", (command) -> command.renewed(true));
		this.store.elapse(59_999);
		this.store.last("acquire 2").granted(20, 30_000);
		this.store.last("acquire 3").granted(30, 30_000);
		this.store.elapse(10_000);
		assertThat(this.store.sent()).as("not at its maxHold yet").contains("renew 1 for 30000").hasSizeGreaterThan(8);
		answer.join().releaseAsync();
		assertThat(this.store.sent()).containsExactlyInAnyOrder("retain 1 for 25000", "retain 2 for 25000",
				"retain 3 for 25000");
	}

	@Test
	void aFailedLastRenewalLeavesTheRemainingTime() {
		List<CompletableFuture<LockLease>> answers = new ArrayList<>();
		for (int i = 0; i < 2; i++) {
			LockRequest request = LockRequest.ofAll(List.of("a" + i, "b" + i)).leaseTime(Duration.ofSeconds(30));
			answers.add(this.service.acquireAsync(request.autoRenew(false)));
			this.store.last("acquire " + (2 * i + 1)).granted(10, 30_000);
		}
		this.store.elapse(9000);
		this.store.last("acquire 2").granted(20, 30_000);
		this.store.last("renew 1").fail(false);
		assertThat(answers.get(0).join().remaining()).isEqualTo(Duration.ofMillis(20_698));
		this.store.elapse(500);
		this.store.last("acquire 4").granted(20, 30_000);
		this.store.elapse(499);
		assertThat(answers.get(1)).as("before the deadline").isNotDone();
		this.store.elapse(1);
		assertThat(answers.get(1).join().remaining()).as("at the deadline").isEqualTo(Duration.ofMillis(19_698));
	}

	@Test
	void aRequestWithoutWaitingEndsAtTheFirstBusyKey() {
		CompletableFuture<Optional<LockLease>> once = this.service.tryAcquireAsync(ONCE);
		this.store.last("acquire 1 at once").granted(10, 30_000);
		this.store.last("acquire 2 at once").busy(30_000, 10);
		assertThat(once).isCompletedWithValue(Optional.empty());
		assertThat(this.store.sent()).containsExactly("acquire 1 at once", "acquire 2 at once", "release 1");
	}

	@Test
	void aRequestWithoutWaitingEndsAtAKeyHeldInTheInstance() {
		this.service.acquireAsync(REQUEST.only("b"));
		this.store.last("acquire 1").granted(10, 30_000);
		CompletableFuture<Optional<LockLease>> once = this.service.tryAcquireAsync(ONCE);
		this.store.last("acquire 2 at once").granted(10, 30_000);
		assertThat(once).isCompletedWithValue(Optional.empty());
		assertThat(this.store.sent()).containsExactly("acquire 1", "acquire 2 at once", "release 2");
	}

	@Test
	void requestsOfTheInstanceWaitTheirTurnAtEachKey() {
		CompletableFuture<LockLease> first = this.service.acquireAsync(SEVERAL);
		CompletableFuture<LockLease> second = this.service.acquireAsync(LockRequest.ofAll(List.of("b", "z", "a")));
		CompletableFuture<LockLease> other = this.service.acquireAsync(LockRequest.of("b"));
		assertThat(this.store.sent()).containsExactly("acquire 1", "acquire 3");
		this.store.last("acquire 3").granted(5, 30_000);
		this.store.last("acquire 1").granted(10, 30_000);
		other.join().releaseAsync();
		this.store.last("release 3 next 4").granted(20, 30_000);
		this.store.last("acquire 5").granted(30, 30_000);
		first.join().releaseAsync();
		assertThat(second).isNotDone();
		this.store.last("retain 1").retained(true);
		this.store.last("retain 4").retained(true);
		this.store.last("acquire 2").granted(40, 30_000);
		this.store.last("acquire 6").granted(50, 30_000);
		this.store.last("acquire 7").granted(60, 30_000);
		assertThat(second.join().keys()).containsExactly("a", "b", "z");
	}

	@Test
	void anInterruptAtALaterKeyReleasesTheFirstKey() throws Exception {
		this.store.answerAtOnce("acquire 1", (command) -> command.granted(10, 30_000));
		CompletableFuture<Boolean> interrupted = new CompletableFuture<>();
		Thread thread = new Thread(() -> {
			assertThatExceptionOfType(LockNotAcquiredException.class).isThrownBy(() -> this.service.acquire(SEVERAL))
				.matches((ex) -> ex.getReason() == Reason.INTERRUPTED);
			interrupted.complete(Thread.interrupted());
		});
		thread.start();
		await().until(() -> thread.getState() == Thread.State.TIMED_WAITING);
		thread.interrupt();
		assertThat(interrupted).succeedsWithin(Duration.ofSeconds(10)).isEqualTo(true);
		assertThat(this.store.sent()).containsExactly("acquire 1", "acquire 2", "release 1", "release 2");
		assertThat(isIdle()).isTrue();
	}

	@Test
	void aThreadGetsKeysGrantedBeforeItsInterruptAndKeepsItsFlag() {
		for (int i = 1; i <= 3; i++) {
			this.store.answerAtOnce("acquire " + i, (command) -> command.granted(10, 30_000));
		}
		this.store.whileSending = (line) -> {
			if (line.equals("acquire 3")) {
				Thread.currentThread().interrupt();
			}
		};
		LockLease lease = this.service.acquire(SEVERAL);
		assertThat(Thread.interrupted()).isTrue();
		assertThat(lease.isHeld()).isTrue();
	}

	@Test
	void aThreadGetsNestedLeasesOfItsKeysAndRequestsOnlyTheRest() {
		LockLease own = this.store.answering("acquire 1", 10, () -> this.service.acquire(REQUEST.only("b")));
		this.store.answerAtOnce("acquire 2", (command) -> command.granted(20, 30_000));
		LockLease all = this.store.answering("acquire 4", 30, () -> this.service.acquire(SEVERAL));
		assertThat(this.store.requestedKeys).containsExactly("b", "a", "c");
		assertThat(List.of(all.fencingToken("a"), all.fencingToken("b"), all.fencingToken("c"))).containsExactly(20L,
				10L, 30L);
		assertThat(this.service.acquire(SEVERAL).fencingToken("c")).as("a third time").isEqualTo(30);
		own.releaseAsync();
		assertThat(all.isHeld()).isTrue();
		this.store.sent();
		all.releaseAsync();
		assertThat(this.store.sent()).as("held a third time").isEmpty();
	}

	@Test
	void readersShareKeysAndAnUpgradeOfAKeyIsRefused() {
		LockRequest reading = SEVERAL.mode(LockMode.READ);
		this.service.acquireAsync(reading);
		this.service.acquireAsync(reading);
		assertThat(this.store.requestedKeys).containsExactly("a", "a");
		this.store.answering("acquire 3", 10, () -> this.service.acquire(REQUEST.only("b").mode(LockMode.READ)));
		this.store.answerAtOnce("acquire 4", (command) -> command.granted(20, 30_000));
		assertThatExceptionOfType(LockNotAcquiredException.class)
			.isThrownBy(() -> this.service.acquire(SEVERAL.mode(LockMode.EXCLUSIVE)))
			.matches((ex) -> ex.getReason() == Reason.SELF_BLOCKED && ex.getKey().equals("b"));
		assertThat(this.store.sent()).endsWith("acquire 4", "release 4");
	}

	@Test
	void aFailureNamesItsKey() {
		CompletableFuture<LockLease> first = this.service.acquireAsync(SEVERAL);
		this.store.last("acquire 1").granted(10, 30_000);
		this.store.last("acquire 2").fail(false);
		assertThat(assertFailed(first, LeaseStoreException.class, "Lock 'b' was not acquired", "trouble").getKey())
			.isEqualTo("b");
	}

}
