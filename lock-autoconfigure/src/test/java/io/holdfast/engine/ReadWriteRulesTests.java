package io.holdfast.engine;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;

import io.holdfast.LockLease;
import io.holdfast.LockMode;
import io.holdfast.LockNotAcquiredException;
import io.holdfast.LockRequest;
import io.holdfast.NotAcquiredException.Reason;
import io.holdfast.engine.store.StoreCommandException;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/**
 * Queue of a lock with both modes: nested leases, refused upgrades, and the order of
 * readers and writers.
 */
class ReadWriteRulesTests extends ScriptedEngine {

	private static final LockRequest READ = REQUEST.mode(LockMode.READ);

	private static final LockRequest WRITE = REQUEST.mode(LockMode.EXCLUSIVE);

	@Test
	void readersContendOnArrivalBesideASingleWriter() {
		this.service.acquireAsync(READ);
		this.service.acquireAsync(WRITE);
		this.service.acquireAsync(READ);
		assertThat(this.store.sent()).containsExactly("acquire 1", "acquire 2", "acquire 3");
	}

	@Test
	void whoseComparisonOfVersionsHasFailedAsksBeforeThoseThatCameLater() {
		this.engine.resume();
		context().setMembership(new ScriptedMembership(
				CompletableFuture.failedFuture(new StoreCommandException("down", true, null)), (id) -> null));
		this.service.acquireAsync(READ);
		CompletableFuture<@Nullable Void> admission = new CompletableFuture<>();
		context().setMembership(new ScriptedMembership(admission, (id) -> null));
		this.service.acquireAsync(READ);
		context().setAdmittedUntil(this.store.nanoTime() + Duration.ofMinutes(1).toNanos());
		admission.complete(null);
		assertThat(this.store.sent()).containsExactly("acquire 1", "acquire 2");
	}

	@Test
	void anExclusiveHolderThatReadsGetsANestedLease() {
		LockLease write = granted(WRITE, "acquire 1", 10);
		LockLease read = this.service.acquire(READ);
		assertThat(read.fencingToken()).isEqualTo(10);
		write.releaseAsync();
		assertThat(read.isHeld()).isTrue();
		// The thread is still an exclusive holder.
		this.service.acquire(WRITE).releaseAsync();
		assertThat(this.store.sent()).containsExactly("acquire 1");
		read.releaseAsync();
		assertThat(this.store.sent()).containsExactly("release 1");
		this.store.last("release 1").released(true);
		assertThat(isIdle()).isTrue();
	}

	@Test
	void anExclusiveHolderMayReadDespiteWaitersAndDuringAShutdown() {
		granted(WRITE, "acquire 1", 10);
		this.service.acquireAsync(WRITE);
		this.service.acquireAsync(READ);
		this.store.sent();
		this.service.acquire(READ);
		this.engine.shutDown(Duration.ofSeconds(20));
		this.service.acquire(READ);
		assertThat(this.store.sent()).doesNotContain("acquire 4", "acquire 5");
	}

	@Test
	void aSingleWriterContendsAtATime() {
		CompletableFuture<LockLease> first = this.service.acquireAsync(WRITE);
		this.service.acquireAsync(WRITE);
		this.service.acquireAsync(READ);
		assertThat(this.store.sent()).containsExactly("acquire 1");
		this.store.last("acquire 1").granted(10, 30_000);
		assertThat(this.store.sent()).isEmpty();
		first.join().releaseAsync();
		// Once the second writer contends, the reader stands behind.
		assertThat(this.store.sent()).containsExactly("release 1 next 2", "acquire 3");
	}

	@Test
	void anUpgradeIsRefusedAtOnceInEveryWay() {
		LockLease read = granted(READ, "acquire 1", 10);
		assertRefused(() -> this.service.acquire(WRITE));
		assertRefused(() -> this.service.tryAcquire(WRITE));
		assertRefused(() -> this.service.tryAcquire(WRITE.waitTime(Duration.ZERO)));
		assertRefused(() -> this.service.asReadWriteLock("k").writeLock().lock());
		assertThat(this.service.asReadWriteLock("k").writeLock().tryLock()).isFalse();
		assertThat(this.store.sent()).containsExactly("acquire 1");
		assertThat(read.isHeld()).isTrue();
		// A request without a thread waits.
		CompletableFuture<LockLease> separate = this.service.acquireAsync(WRITE);
		assertThat(separate).isNotDone();
		assertThat(this.store.sent()).containsExactly("acquire 7");
	}

	@ParameterizedTest
	@CsvSource({ "EXCLUSIVE, EXCLUSIVE", "EXCLUSIVE, READ", "READ, EXCLUSIVE" })
	void aRequestThatIsNotReentrantDoesNotWaitForItsOwnThread(LockMode held, LockMode requested) {
		LockLease own = granted(REQUEST.mode(held), "acquire 1", 10);
		LockRequest request = REQUEST.mode(requested).reentrant(false);
		assertRefused(() -> this.service.acquire(request));
		assertRefused(() -> this.service.tryAcquire(request));
		assertRefused(() -> this.service.asLock(request).lock());
		assertThat(this.store.sent()).containsExactly("acquire 1");
		assertThat(own.isHeld()).isTrue();
		// No thread is behind an asynchronous request.
		assertThat(this.service.acquireAsync(request)).isNotDone();
	}

	@ParameterizedTest
	@EnumSource
	void aRequestThatIsNotReentrantAndDoesNotWaitFindsTheKeyHeldByItsOwnThread(LockMode requested) {
		granted(WRITE, "acquire 1", 10);
		LockRequest once = REQUEST.mode(requested).reentrant(false).waitTime(Duration.ZERO);
		assertThat(this.service.tryAcquire(once)).isEmpty();
		assertThat(this.service.asLock(once).tryLock()).isFalse();
		assertThatExceptionOfType(LockNotAcquiredException.class).isThrownBy(() -> this.service.acquire(once))
			.satisfies((ex) -> assertThat(ex.getReason()).isEqualTo(Reason.TIMED_OUT));
		assertThat(this.store.sent()).containsExactly("acquire 1");
	}

	@Test
	void aReaderThatIsNotReentrantGetsASeparateLease() {
		LockLease first = granted(READ, "acquire 1", 10);
		LockLease second = granted(READ.reentrant(false), "acquire 2", 20);
		first.releaseAsync();
		assertThat(second.isHeld()).isTrue();
		assertThat(this.store.sent()).containsExactly("acquire 1", "acquire 2", "release 1");
	}

	@Test
	void aRequestThatIsNotReentrantIgnoresALossOfItsThread() {
		LockLease lost = granted(WRITE, "acquire 1", 10);
		this.store.elapse(10_000);
		this.store.last("renew 1").renewed(false);
		assertThat(lost.isHeld()).isFalse();
		granted(WRITE.reentrant(false), "acquire 2", 20);
	}

	@Test
	void aReaderOfAnotherThreadDoesNotFailAWriter() {
		this.service.acquireAsync(READ);
		this.store.last("acquire 1").granted(10, 30_000);
		granted(WRITE, "acquire 2", 20);
	}

	private LockLease granted(LockRequest request, String command, long fence) {
		return this.store.answering(command, fence, () -> this.service.acquire(request));
	}

	private static void assertRefused(ThrowingCallable call) {
		Consumer<LockNotAcquiredException> reason = (ex) -> assertThat(ex.getReason()).isEqualTo(Reason.SELF_BLOCKED);
		assertThatExceptionOfType(LockNotAcquiredException.class).isThrownBy(call).satisfies(reason);
	}

}
