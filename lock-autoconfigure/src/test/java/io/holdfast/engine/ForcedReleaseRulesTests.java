package io.holdfast.engine;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

import io.holdfast.LeaseStoreException;
import io.holdfast.Lease;
import io.holdfast.LockLease;
import io.holdfast.LockRequest;
import io.holdfast.ReleaseResult;
import io.holdfast.SemaphoreRequest;
import io.holdfast.engine.ScriptedStore.Command;
import io.holdfast.engine.store.HandOverLimits;
import io.holdfast.engine.store.Resource.Kind;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import static io.holdfast.engine.Locks.lock;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatNullPointerException;

/**
 * Forced releases of leases of this instance, by itself or by another instance.
 */
class ForcedReleaseRulesTests extends ScriptedEngine {

	private static final String TOKEN = ID + ":1";

	private static final LockRequest ATTEMPT = REQUEST.waitTime(Duration.ZERO);

	ForcedReleaseRulesTests() {
		super(Settings.with(STRICT, new HandOverLimits(16, Duration.ofMinutes(1))));
	}

	private CompletableFuture<LockLease> waiting() {
		CompletableFuture<LockLease> waiter = this.service.acquireAsync(REQUEST);
		assertThat(waiter).isNotDone();
		this.store.sent();
		return waiter;
	}

	@Test
	void aNullModeIsRejected() {
		assertThatNullPointerException().isThrownBy(() -> this.service.admin().forceRelease("k", null))
			.withMessage("mode");
		assertThat(this.store.sent()).isEmpty();
	}

	@Test
	void aForcedReleaseByAnotherInstanceEndsTheHoldWithoutHandOver() {
		LockLease lease = granted(REQUEST, 100);
		CompletableFuture<LockLease> second = waiting();
		this.store.wakeUps.ended(TOKEN, 164);
		assertThat(lease.isHeld()).isFalse();
		assertThat(this.store.sent()).containsExactly("acquire 2");
		CompletableFuture<ReleaseResult> released = lease.releaseAsync().toCompletableFuture();
		this.store.last("release 1").released(false);
		assertThat(released).isCompletedWithValue(ReleaseResult.LOST);
		assertThat(second).isNotDone();
		this.store.last("acquire 2").granted(300, 30_000);
		assertThat(second.join().fencingToken()).isEqualTo(300);
	}

	@Test
	void theCurrentHolderLosesAHandedOverLock() {
		LockLease first = granted(REQUEST, 100);
		CompletableFuture<LockLease> second = waiting();
		assertThat(first.release()).isEqualTo(ReleaseResult.RELEASED);
		assertThat(second.join().fencingToken()).isEqualTo(101);
		this.store.wakeUps.ended(TOKEN, 164);
		assertThat(second.join().isHeld()).isFalse();
	}

	@Test
	void aLateMessageDoesNotConcernALaterGrant() {
		LockLease lease = granted(REQUEST, 164);
		this.store.wakeUps.ended(TOKEN, 164);
		assertThat(lease.isHeld()).isTrue();
		this.store.wakeUps.ended(ID + ":2", 500);
		assertThat(lease.isHeld()).isTrue();
		this.store.wakeUps.ended(TOKEN, 165);
		assertThat(lease.isHeld()).isFalse();
	}

	@Test
	void aWaiterWithAnUnknownGrantAsksAgain() {
		CompletableFuture<LockLease> waiter = this.service.acquireAsync(REQUEST);
		ended(waiter);
		this.store.last("acquire 1").granted(164, 30_000);
		assertThat(waiter.join().fencingToken()).isEqualTo(164);
		assertThat(waiter.join().isHeld()).isTrue();
	}

	@Test
	void aRequestWithoutWaitingAndWithAnUnknownGrantAsksAgain() {
		CompletableFuture<Optional<LockLease>> attempt = this.service.tryAcquireAsync(ATTEMPT);
		ended(attempt);
		this.store.last("acquire 1").busy(20_000, 164);
		assertThat(attempt.join()).isEmpty();
	}

	/** Deliver the message before the answer to the granted command. */
	private void ended(CompletableFuture<?> request) {
		Command first = this.store.last("acquire 1");
		assertThat(this.store.sent()).hasSize(1);
		this.store.wakeUps.ended(TOKEN, 164);
		assertThat(this.store.sent()).as("asked again").hasSize(1);
		first.granted(100, 30_000);
		assertThat(request).isNotDone();
	}

	@Test
	void aLateWakeUpOfAForciblyReleasedGrantDoesNotCount() {
		CompletableFuture<LockLease> waiter = this.service.acquireAsync(REQUEST);
		this.store.last("acquire 1").busy(20_000, 36);
		this.store.wakeUps.ended(TOKEN, 164);
		this.store.wakeUps.granted(lock("k"), TOKEN, 100, 5_000);
		assertThat(waiter).isNotDone();
		this.store.wakeUps.granted(lock("k"), TOKEN, 164, 5_000);
		assertThat(waiter.join().fencingToken()).isEqualTo(164);
	}

	@ParameterizedTest
	@EnumSource
	void aForcedReleaseByThisInstanceEndsTheHoldBeforeItsCommand(Kind kind) {
		boolean isLock = kind == Kind.LOCK;
		CompletableFuture<? extends Lease> lease = isLock ? this.service.acquireAsync(REQUEST)
				: this.semaphores.acquireAsync(SemaphoreRequest.of("k", 1));
		this.store.last("acquire 1").granted(100, 30_000);
		CompletableFuture<LockLease> second = isLock ? waiting() : new CompletableFuture<>();
		List<Boolean> held = new ArrayList<>();
		this.store.answerAtOnce("inspect", (command) -> command.owned(TOKEN));
		this.store.answerAtOnce("inspect permits", (command) -> command.held(TOKEN));
		this.store.answerAtOnce("force 1", (command) -> {
			held.add(lease.join().isHeld());
			command.forced(true);
		});
		assertThat(isLock ? this.service.forceRelease("k") : this.semaphores.forceRelease("k")).isTrue();
		assertThat(held).containsExactly(false);
		if (isLock) {
			assertThat(this.store.sent()).containsExactly("inspect", "force 1", "acquire 2");
		}
		lease.join().releaseAsync();
		assertThat(second).as("handed over").isNotDone();
	}

	@Test
	void aForcedReleaseWithoutAnAnswerEndsTheHoldOnlyIfItsCommandWasSent() {
		LockLease lease = granted(REQUEST, 100);
		this.store.answerAtOnce("inspect", (command) -> command.fail(true));
		assertThatExceptionOfType(LeaseStoreException.class).isThrownBy(() -> this.service.forceRelease("k"));
		assertThat(lease.isHeld()).isTrue();
		this.store.answerAtOnce("inspect", (command) -> command.owned(TOKEN));
		this.store.answerAtOnce("force 1", (command) -> command.fail(true));
		assertThatExceptionOfType(LeaseStoreException.class).isThrownBy(() -> this.service.forceRelease("k"));
		assertThat(lease.isHeld()).isFalse();
	}

	@Test
	void thousandsOfHoldersAreReleasedByFewCommandsAndNoWaiterWithThem() {
		String[] tokens = IntStream.rangeClosed(1, 2001)
			.mapToObj((i) -> "f".repeat(32) + ":" + i)
			.toArray(String[]::new);
		this.store.answerAtOnce("inspect permits", (command) -> command.held(tokens));
		List<String> sent = new ArrayList<>(List.of("inspect permits"));
		for (int from = 0; from < tokens.length; from += 1000) {
			int to = Math.min(from + 1000, tokens.length);
			String line = IntStream.rangeClosed(from + 1, to)
				.mapToObj(String::valueOf)
				.collect(Collectors.joining(" ", "force ", ""));
			int count = to - from;
			this.store.answerAtOnce(line, (command) -> command.forced(true, count));
			sent.add(line);
		}
		assertThat(this.semaphores.forceRelease("k")).isTrue();
		assertThat(this.store.sent()).isEqualTo(sent);
	}

}
