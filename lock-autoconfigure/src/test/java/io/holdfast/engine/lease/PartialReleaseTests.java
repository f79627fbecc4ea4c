package io.holdfast.engine.lease;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;

import io.holdfast.LeaseStoreException;
import io.holdfast.PermitLease;
import io.holdfast.ReleaseResult;
import io.holdfast.SemaphoreRequest;
import io.holdfast.engine.ScriptedEngine;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.awaitility.Awaitility.await;

/**
 * Some permits of a lease are released, and it goes on with the others.
 */
class PartialReleaseTests extends ScriptedEngine {

	private static final SemaphoreRequest FIVE = SemaphoreRequest.of("k", 10)
		.permits(5)
		.leaseTime(Duration.ofSeconds(30));

	@Test
	void theRestIsHeldAndRenewedAndTheLastOnesEndTheLease() {
		PermitLease lease = acquire(FIVE);
		shrinks(3);
		assertThat(lease.release(2)).isEqualTo(ReleaseResult.RELEASED);
		assertThat(lease.permits()).isEqualTo(3);
		assertThat(lease.isHeld()).isTrue();
		assertThat(this.store.sent()).containsExactly("shrink 1 to 3");
		this.store.answerAtOnce("renew 1 for 30000", (command) -> command.renewed(true));
		this.store.elapse(10_000);
		assertThat(this.store.sent()).containsExactly("renew 1 for 30000");
		this.store.answerAtOnce("release 1", (command) -> command.released(true));
		assertThat(lease.release(3)).isEqualTo(ReleaseResult.RELEASED);
		assertThat(this.store.sent()).containsExactly("release 1");
		assertThat(lease.isHeld()).isFalse();
		assertThat(lease.release(1)).isEqualTo(ReleaseResult.ALREADY_RELEASED);
		assertThat(lease.release()).isEqualTo(ReleaseResult.ALREADY_RELEASED);
		assertThat(isIdle()).isTrue();
	}

	@Test
	void moreThanItHasAndLessThanOneAreRefused() {
		PermitLease lease = acquire(FIVE);
		shrinks(3);
		lease.release(2);
		this.store.sent();
		for (int permits : new int[] { -1, 0, 4 }) {
			assertThatIllegalArgumentException().isThrownBy(() -> lease.release(permits))
				.withMessage("permits to release of semaphore 'k' is " + permits
						+ ", which is not from 1 to 3, the number that this lease has");
		}
		assertThat(lease.permits()).isEqualTo(3);
		assertThat(this.store.sent()).isEmpty();
	}

	@Test
	void whatIsNotConfirmedIsRepeatedAndNeverTakenBack() {
		PermitLease lease = acquire(FIVE);
		this.store.answerAtOnce("shrink 1 to 4", (command) -> command.fail(true));
		assertThatExceptionOfType(LeaseStoreException.class).isThrownBy(() -> lease.release(1));
		assertThat(lease.permits()).isEqualTo(4);
		assertThat(lease.isHeld()).isTrue();
		shrinks(4);
		this.store.elapse(1000);
		assertThat(this.store.sent()).containsExactly("shrink 1 to 4", "shrink 1 to 4");
		this.store.answerAtOnce("shrink 1 to 3", (command) -> command.fail(true));
		assertThatExceptionOfType(LeaseStoreException.class).isThrownBy(() -> lease.release(1));
		shrinks(1);
		lease.release(2);
		this.store.elapse(1000);
		assertThat(this.store.sent()).as("without the one that a later one has overtaken")
			.containsExactly("shrink 1 to 3", "shrink 1 to 1");
	}

	@Test
	void whatIsNotAnsweredInTimeIsToldAndRepeated() {
		PermitLease lease = acquire(FIVE);
		CompletableFuture<ReleaseResult> result = lease.releaseAsync(1);
		this.store.elapse(this.settings().commandTimeout().toMillis());
		assertThat(result).isCompletedExceptionally();
		assertThatExceptionOfType(CompletionException.class).isThrownBy(result::join)
			.withCauseInstanceOf(LeaseStoreException.class);
		shrinks(4);
		this.store.elapse(1000);
		assertThat(this.store.sent()).containsExactly("shrink 1 to 4", "shrink 1 to 4");
		this.store.elapse(1000);
		assertThat(this.store.sent()).isEmpty();
	}

	@Test
	void anAsynchronousReleaseIsAnsweredByTheStore() {
		PermitLease lease = acquire(FIVE);
		CompletableFuture<ReleaseResult> result = lease.releaseAsync(2);
		assertThat(lease.permits()).isEqualTo(3);
		assertThat(result).isNotDone();
		this.store.last("shrink 1 to 3").shrunk(true);
		assertThat(result).isCompletedWithValue(ReleaseResult.RELEASED);
		assertThat(lease.releaseAsync(4)).isCompletedExceptionally();
		assertThat(lease.releaseAsync(0)).isCompletedExceptionally();
		CompletableFuture<ReleaseResult> last = lease.releaseAsync(3);
		this.store.last("release 1").released(true);
		assertThat(last).isCompletedWithValue(ReleaseResult.RELEASED);
	}

	@Test
	void whatSeveralThreadsReleaseAddsUp() {
		PermitLease lease = acquire(FIVE);
		this.store.answerAtOnce("shrink 1 to 3", (command) -> {
		});
		CompletableFuture<ReleaseResult> first = CompletableFuture.supplyAsync(() -> lease.release(2));
		await().until(() -> this.store.sent().contains("shrink 1 to 3"));
		shrinks(1);
		assertThat(lease.release(2)).isEqualTo(ReleaseResult.RELEASED);
		assertThat(first).isNotDone();
		this.store.last("shrink 1 to 3").shrunk(true);
		assertThat(first).succeedsWithin(Duration.ofSeconds(5)).isEqualTo(ReleaseResult.RELEASED);
		assertThat(lease.permits()).isEqualTo(1);
	}

	@Test
	void aLossIsFound() {
		PermitLease lease = acquire(FIVE);
		this.store.answerAtOnce("shrink 1 to 3", (command) -> command.shrunk(false));
		assertThat(lease.release(2)).isEqualTo(ReleaseResult.LOST);
		assertThat(lease.isHeld()).isFalse();
		this.store.answerAtOnce("release 1", (command) -> command.released(false));
		assertThat(lease.release(3)).isEqualTo(ReleaseResult.LOST);
	}

	@Test
	void aMinHoldThatIsNotOverKeepsThemBack() {
		PermitLease lease = acquire(FIVE.minHold(Duration.ofSeconds(5)));
		assertThat(lease.release(2)).isEqualTo(ReleaseResult.RELEASED);
		this.store.elapse(1000);
		assertThat(lease.release(1)).isEqualTo(ReleaseResult.RELEASED);
		assertThat(lease.permits()).isEqualTo(2);
		this.store.elapse(3999);
		assertThat(this.store.sent()).isEmpty();
		shrinks(2);
		this.store.elapse(1);
		assertThat(this.store.sent()).containsExactly("shrink 1 to 2");
		shrinks(1);
		lease.release(1);
		assertThat(this.store.sent()).as("at once, as the time is over").containsExactly("shrink 1 to 1");
	}

	@Test
	void aMinHoldKeepsAllBackIfTheRestIsReleasedWithinIt() {
		PermitLease lease = acquire(FIVE.minHold(Duration.ofSeconds(5)));
		lease.release(2);
		this.store.answerAtOnce("retain 1 for 5000", (command) -> command.released(true));
		assertThat(lease.release(3)).isEqualTo(ReleaseResult.RELEASED);
		this.store.answerAtOnce("release 1", (command) -> command.released(true));
		this.store.elapse(5000);
		assertThat(this.store.sent()).containsExactly("retain 1 for 5000", "release 1");
		assertThat(isIdle()).isTrue();
	}

	private void shrinks(int kept) {
		this.store.answerAtOnce("shrink 1 to " + kept, (command) -> command.shrunk(true));
	}

	private PermitLease acquire(SemaphoreRequest request) {
		this.store.answerAtOnce("acquire 1 at once", (command) -> command.granted(10, 30_000));
		PermitLease lease = this.semaphores.acquire(request);
		this.store.sent();
		return lease;
	}

}
