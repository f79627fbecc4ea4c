package io.holdfast.engine.view;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

import io.holdfast.LeaseLostException;
import io.holdfast.LeaseStoreException;
import io.holdfast.NotAcquiredException.Reason;
import io.holdfast.PermitNotAcquiredException;
import io.holdfast.SemaphoreRequest;
import io.holdfast.SemaphoreView;
import io.holdfast.engine.ScriptedEngine;
import io.holdfast.engine.lease.LeaseHandle.PermitHandle;
import io.holdfast.engine.store.Resource;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.awaitility.Awaitility.await;

/**
 * The view of a semaphore in the habit of java.util.concurrent.
 */
class PooledSemaphoreTests extends ScriptedEngine {

	private final SemaphoreView semaphore = this.semaphores.asSemaphore("k", 10);

	@BeforeEach
	void grantEverything() {
		for (int i = 1; i < 10; i++) {
			long fence = 100 + i;
			this.store.answerAtOnce("acquire " + i, (command) -> command.granted(fence, 30_000));
			this.store.answerAtOnce("acquire " + i + " at once", (command) -> command.granted(fence, 30_000));
			this.store.answerAtOnce("release " + i, (command) -> command.released(true));
			for (int kept = 1; kept < 10; kept++) {
				this.store.answerAtOnce("shrink " + i + " to " + kept, (command) -> command.shrunk(true));
			}
		}
	}

	@AfterEach
	void clearInterrupt() {
		Thread.interrupted();
	}

	@Test
	void releasesInOtherPortionsThanItAcquired() throws InterruptedException {
		this.semaphore.acquire(3);
		this.semaphore.acquire(4);
		this.store.sent();
		this.semaphore.release();
		assertThat(this.store.sent()).containsExactly("shrink 1 to 2");
		this.semaphore.release(4);
		assertThat(this.store.sent()).containsExactly("release 1", "shrink 2 to 2");
		this.semaphore.release(2);
		assertThat(this.store.sent()).containsExactly("release 2");
		assertThat(isIdle()).isTrue();
	}

	@Test
	void releasesWhatAnotherViewAcquired() {
		this.semaphore.acquireUninterruptibly(2);
		this.semaphores.asSemaphore("k", 5).release(2);
		assertThat(this.store.sent()).containsExactly("acquire 1", "release 1");
	}

	@Test
	void doesNotReleaseWhatItHasNotAcquired() {
		assertThatIllegalStateException().isThrownBy(this.semaphore::release)
			.withMessageContaining("semaphore 'k'")
			.withMessageContaining("its views hold 0");
		assertThat(this.semaphore.tryAcquire(2)).isTrue();
		this.store.sent();
		assertThatIllegalStateException().isThrownBy(() -> this.semaphore.release(3))
			.withMessageContaining("its views hold 2");
		assertThat(this.store.sent()).isEmpty();
		this.semaphore.release(2);
		assertThat(this.store.sent()).containsExactly("release 1");
	}

	@Test
	void refusesCountsThatMakeNoSense() {
		assertThatIllegalArgumentException().isThrownBy(() -> this.semaphore.acquire(0));
		assertThatIllegalArgumentException().isThrownBy(() -> this.semaphore.tryAcquire(-1));
		assertThatIllegalArgumentException().isThrownBy(() -> this.semaphore.release(0));
		assertThatIllegalArgumentException().isThrownBy(() -> this.semaphores.asSemaphore("k", 0));
	}

	@Test
	void triesForATimeOrOnce() throws InterruptedException {
		assertThat(this.semaphore.tryAcquire(2, 5, TimeUnit.SECONDS)).isTrue();
		assertThat(this.semaphore.tryAcquire(0, TimeUnit.SECONDS)).isTrue();
		this.store.answerAtOnce("acquire 3 at once", (command) -> command.busy(30_000, 100));
		assertThat(this.semaphore.tryAcquire()).isFalse();
		assertThat(this.store.sent()).containsExactly("acquire 1", "acquire 2 at once", "acquire 3 at once");
	}

	@Test
	void moreThanThereAreIsAnErrorAlsoForAnAttempt() {
		this.store.answerAtOnce("acquire 1 at once", (command) -> command.rejected(10));
		assertThatExceptionOfType(PermitNotAcquiredException.class).isThrownBy(() -> this.semaphore.tryAcquire(11))
			.satisfies((ex) -> assertThat(ex.getReason()).isEqualTo(Reason.EXCEEDS_LIMIT));
	}

	@Test
	void anInterruptEndsAcquireAndNotAcquireUninterruptibly() {
		Thread.currentThread().interrupt();
		assertThatExceptionOfType(InterruptedException.class).isThrownBy(this.semaphore::acquire);
		Thread.currentThread().interrupt();
		this.semaphore.acquireUninterruptibly();
		assertThat(Thread.interrupted()).isTrue();
		assertThat(this.store.sent()).containsExactly("acquire 1");
	}

	@Test
	void drainsWhatIsFree() {
		this.store.answerAtOnce("inspect permits", (command) -> command.permits(null, 6));
		assertThat(this.semaphore.availablePermits()).isEqualTo(4);
		assertThat(this.semaphore.drainPermits()).isEqualTo(4);
		this.semaphore.release(4);
		assertThat(this.store.sent()).contains("acquire 1 at once", "release 1");
	}

	@Test
	void drainsLessWhenOthersAreFaster() {
		int[] used = { 6 };
		this.store.answerAtOnce("inspect permits", (command) -> command.permits(null, used[0]++));
		this.store.answerAtOnce("acquire 1 at once", (command) -> command.busy(30_000, 100));
		assertThat(this.semaphore.drainPermits()).isEqualTo(3);
		used[0] = 10;
		assertThat(this.semaphore.drainPermits()).isZero();
	}

	@Test
	@Timeout(10)
	void drainsNothingWhileNothingIsGranted() {
		this.store.answerAtOnce("inspect permits", (command) -> command.permits(null, 6));
		for (int i = 1; i < 10; i++) {
			this.store.answerAtOnce("acquire " + i + " at once", (command) -> command.busy(30_000, 100));
		}
		assertThat(this.semaphore.drainPermits()).isZero();
		assertThat(this.store.sent()).containsExactly("inspect permits", "acquire 1 at once", "inspect permits");
	}

	@Test
	void drainsWhatIsFreeAlsoIfOthersWaitForMore() {
		SemaphoreRequest all = SemaphoreRequest.of("k", 10).permits(10).waitForever();
		for (int i = 1; i < 3; i++) {
			this.store.answerAtOnce("acquire " + i, (command) -> command.busy(30_000, 100));
			this.semaphores.acquireAsync(all);
		}
		this.store.answerAtOnce("inspect permits", (command) -> {
			this.store.answerAtOnce("inspect permits", (another) -> another.fail(false));
			command.permits(null, 6);
		});
		assertThat(this.semaphore.drainPermits()).isEqualTo(4);
		assertThat(this.store.sent()).containsExactly("acquire 1", "acquire 2", "inspect permits", "acquire 3 at once");
	}

	@Test
	void anOperatorsLimitCountsForWhatIsFree() {
		this.store.answerAtOnce("inspect permits", (command) -> command.permits(4, 6));
		assertThat(this.semaphore.availablePermits()).isZero();
		this.store.answerAtOnce("inspect permits", (command) -> command.permits(40, 6));
		assertThat(this.semaphore.availablePermits()).isEqualTo(34);
	}

	@Test
	void whatWasLostIsToldAtItsReleaseAndTheRestIsReleased() {
		this.semaphore.acquireUninterruptibly(2);
		this.semaphore.acquireUninterruptibly(2);
		this.store.elapse(10_000);
		this.store.last("renew").renewed(false, true);
		assertThatExceptionOfType(LeaseLostException.class).isThrownBy(() -> this.semaphore.release(4));
		assertThat(this.store.sent()).contains("release 1", "release 2");
		assertThatIllegalStateException().isThrownBy(this.semaphore::release);
	}

	@Test
	void aPartOfWhatWasLostIsToldToo() {
		this.semaphore.acquireUninterruptibly(3);
		this.store.answerAtOnce("shrink 1 to 2", (command) -> command.shrunk(false));
		assertThatExceptionOfType(LeaseLostException.class).isThrownBy(this.semaphore::release);
	}

	@Test
	void aPartialReleaseThatFailedIsRepeatedUntilItIsAnswered() {
		this.semaphore.acquireUninterruptibly(3);
		this.store.answerAtOnce("shrink 1 to 2", (command) -> command.fail(true));
		this.semaphore.release();
		this.store.sent();
		this.store.answerAtOnce("shrink 1 to 2", (command) -> command.shrunk(true));
		this.store.elapse(1000);
		assertThat(this.store.sent()).containsExactly("shrink 1 to 2");
		this.semaphore.release(2);
		assertThat(this.store.sent()).containsExactly("release 1");
	}

	@Test
	void aPartIsNotLostBecauseAnotherThreadReleasedTheRestInBetween() throws Exception {
		this.semaphore.acquireUninterruptibly(2);
		this.store.answerAtOnce("shrink 1 to 1", (command) -> {
		});
		CompletableFuture<Void> part = CompletableFuture.runAsync(this.semaphore::release);
		await().until(() -> this.store.sent().contains("shrink 1 to 1"));
		this.semaphore.release();
		// It came after the release.
		this.store.last("shrink 1 to 1").shrunk(false);
		assertThat(part).succeedsWithin(Duration.ofSeconds(5));
		assertThat(isIdle()).isTrue();
	}

	@Test
	void manyLostPermitsCanAllBeReleased() {
		SemaphoreView big = this.semaphores.asSemaphore("k", Resource.ALL);
		for (int i = 1; i <= 3; i++) {
			big.acquireUninterruptibly(Resource.ALL);
			this.store.answerAtOnce("renew " + i + " for 30000", (command) -> command.renewed(false));
			this.store.elapse(10_000);
		}
		for (int i = 1; i <= 3; i++) {
			assertThatExceptionOfType(LeaseLostException.class).isThrownBy(() -> big.release(Resource.ALL));
		}
	}

}
