package io.holdfast.engine.queue;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.function.Consumer;

import io.holdfast.LeaseContext;
import io.holdfast.LeaseLostException;
import io.holdfast.LockLease;
import io.holdfast.LockMode;
import io.holdfast.LockNotAcquiredException;
import io.holdfast.LockRequest;
import io.holdfast.NotAcquiredException.Reason;
import io.holdfast.engine.Locks;
import io.holdfast.engine.ScriptedEngine;
import io.holdfast.engine.lease.LeaseHandle;
import io.holdfast.engine.request.ResolvedRequest;
import io.holdfast.engine.store.Resource;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/**
 * The rules of a read-write lock's coordinator: what a thread may hold beside what.
 */
class ReadWriteRulesTests extends ScriptedEngine {

	private static final LockRequest READ = REQUEST.mode(LockMode.READ);

	private static final LockRequest WRITE = REQUEST.mode(LockMode.WRITE);

	@Test
	void readersAndWritersContendAsTheyCome() {
		this.service.acquireAsync(READ);
		this.service.acquireAsync(WRITE);
		this.service.acquireAsync(READ);
		assertThat(this.store.sent()).containsExactly("acquire 1", "acquire 2", "acquire 3");
	}

	@Test
	void aThreadThatReadsGetsANestedLeaseToRead() {
		LockLease outer = granted(READ, "acquire 1", 10);
		LockLease inner = this.service.acquire(READ);
		assertThat(inner.fencingToken()).isEqualTo(10);
		inner.releaseAsync();
		assertThat(outer.isHeld()).isTrue();
		outer.releaseAsync();
		assertThat(this.store.sent()).containsExactly("acquire 1", "release 1");
	}

	@Test
	void aThreadThatWritesGetsANestedLeaseToWrite() {
		granted(WRITE, "acquire 1", 10);
		this.service.acquire(WRITE);
		assertThat(this.store.sent()).containsExactly("acquire 1");
	}

	@Test
	void aWriterMayReadAndKeepThatWhenItGivesUpWriting() {
		LockLease write = granted(WRITE, "acquire 1", 10);
		LockLease read = granted(READ, "acquire 2 under 1", 20);
		// As a writer, still.
		LockLease again = this.service.acquire(WRITE);
		again.releaseAsync();
		write.releaseAsync();
		assertThat(read.isHeld()).isTrue();
		assertThat(this.store.sent()).containsExactly("acquire 1", "acquire 2 under 1", "release 1");
		refused(() -> this.service.acquire(WRITE));
		read.releaseAsync();
		assertThat(this.store.sent()).containsExactly("release 2");
		this.store.last("release 1").released(true);
		this.store.last("release 2").released(true);
		assertThat(isIdle()).isTrue();
	}

	@Test
	void aWriterMayReadThoughOthersWait() {
		granted(WRITE, "acquire 1", 10);
		this.service.acquireAsync(WRITE);
		this.service.acquireAsync(READ);
		granted(READ, "acquire 4 under 1", 20);
	}

	@Test
	void aWriterMayReadDuringAShutDownUnlessTheStoreHasForgottenIt() {
		granted(WRITE, "acquire 1", 10);
		this.engine.shutDown(Duration.ofSeconds(20));
		granted(READ, "acquire 2 under 1", 20).releaseAsync();
		this.store.answerAtOnce("acquire 3 under 1", (command) -> command.busy(30_000, 30));
		assertThatExceptionOfType(LockNotAcquiredException.class).isThrownBy(() -> this.service.acquire(READ))
			.matches((ex) -> ex.getReason() == Reason.SHUTDOWN);
		assertThat(this.store.sent()).endsWith("acquire 3 under 1", "release 3");
	}

	@Test
	void aShutDownWaitsForWhoMayReadDuringIt() {
		LockLease write = granted(WRITE, "acquire 1", 10);
		CompletableFuture<?> shutDown = this.engine.shutDown(Duration.ofSeconds(20));
		CompletableFuture<LockLease> read = readUnder(write);
		write.releaseAsync();
		this.store.last("release 1").released(true);
		assertThat(shutDown).isNotDone();
		this.store.last("acquire 2 under 1").granted(20, 30_000);
		assertThat(read.join().isHeld()).isTrue();
		assertThat(shutDown).isNotDone();
		read.join().releaseAsync();
		this.store.last("release 2").released(true);
		assertThat(shutDown).isCompleted();
	}

	@Test
	void whoAskedToReadJustBeforeAShutDownMayDoSo() {
		LockLease write = granted(WRITE, "acquire 1", 10);
		CompletableFuture<LockLease> read = readUnder(write);
		CompletableFuture<LockLease> forgotten = readUnder(write);
		this.store.last("acquire 3 under 1").busy(30_000, 15);
		this.engine.shutDown(Duration.ofSeconds(20));
		assertThat(forgotten).isCompletedExceptionally();
		this.store.last("acquire 2 under 1").granted(20, 30_000);
		assertThat(read.join().isHeld()).isTrue();
	}

	@Test
	void aShutDownWaitsForWhoMayReadButIsRefusedInTheEnd() {
		LockLease write = granted(WRITE, "acquire 1", 10);
		CompletableFuture<?> shutDown = this.engine.shutDown(Duration.ofSeconds(20));
		CompletableFuture<LockLease> read = readUnder(write);
		write.releaseAsync();
		this.store.last("release 1").released(true);
		this.store.last("acquire 2 under 1").busy(30_000, 20);
		assertThat(read).isCompletedExceptionally();
		assertThat(shutDown).isNotDone();
		this.store.last("release 2").released(true);
		assertThat(shutDown).isCompleted();
	}

	@Test
	void whoMayReadDuringAShutDownIsRefusedWhenItsTimeIsOver() {
		LockLease write = granted(WRITE, "acquire 1", 10);
		CompletableFuture<?> shutDown = this.engine.shutDown(Duration.ofSeconds(2));
		CompletableFuture<LockLease> read = readUnder(write);
		write.releaseAsync();
		this.store.last("release 1").released(true);
		this.store.elapse(2000);
		assertThatExceptionOfType(CompletionException.class).isThrownBy(() -> read.getNow(null))
			.havingCause()
			.isInstanceOfSatisfying(LockNotAcquiredException.class,
					(ex) -> assertThat(ex.getReason()).isEqualTo(Reason.SHUTDOWN));
		assertThat(shutDown).isNotDone();
		this.store.last("release 2").released(true);
		assertThat(shutDown).isCompleted();
	}

	@Test
	void whatIsGrantedAtTheVeryEndOfAShutDownIsReleased() {
		LockLease write = granted(WRITE, "acquire 1", 10);
		CompletableFuture<?> shutDown = this.engine.shutDown(Duration.ofSeconds(2));
		CompletableFuture<LockLease> read = readUnder(write);
		this.store.whileSending = (line) -> {
			if (line.equals("release 1")) {
				this.store.last("acquire 2 under 1").granted(20, 30_000);
			}
		};
		this.store.elapse(2000);
		assertThat(read.join().isHeld()).isFalse();
		this.store.last("release 1").released(true);
		assertThat(shutDown).isNotDone();
		this.store.last("release 2").released(true);
		assertThat(shutDown).isCompleted();
	}

	private CompletableFuture<LockLease> readUnder(LockLease write) {
		return this.service.acquireAsync(READ.within(LeaseContext.empty().with(write)));
	}

	@Test
	void anUpgradeIsRefusedAtOnceInEveryWay() {
		LockLease read = granted(READ, "acquire 1", 10);
		refused(() -> this.service.acquire(WRITE));
		refused(() -> this.service.tryAcquire(WRITE));
		refused(() -> this.service.tryAcquire(WRITE.waitTime(Duration.ZERO)));
		refused(() -> this.service.asReadWriteLock("k").writeLock().lock());
		assertThat(this.service.asReadWriteLock("k").writeLock().tryLock()).isFalse();
		assertThat(this.store.sent()).containsExactly("acquire 1");
		assertThat(read.isHeld()).isTrue();
		// A stranger waits like others.
		CompletableFuture<LockLease> stranger = this.service.acquireAsync(WRITE);
		assertThat(stranger).isNotDone();
		assertThat(this.store.sent()).containsExactly("acquire 7");
	}

	@Test
	void oneThreadDoesNotMixAnExclusiveLockWithReadingAndWriting() {
		LockLease exclusive = granted(REQUEST, "acquire 1", 10);
		refused(() -> this.service.acquire(READ));
		refused(() -> this.service.acquire(WRITE));
		exclusive.releaseAsync();
		LockLease write = granted(WRITE, "acquire 4", 20);
		refused(() -> this.service.acquire(REQUEST));
		write.releaseAsync();
	}

	@Test
	void aThreadWhoseReadLeaseWasLostIsToldSo() {
		LockLease read = granted(READ, "acquire 1", 10);
		this.store.elapse(10_000);
		this.store.last("renew 1").renewed(false);
		assertThat(read.isHeld()).isFalse();
		assertThatExceptionOfType(LeaseLostException.class).isThrownBy(() -> this.service.acquire(READ));
		read.releaseAsync();
		granted(READ, "acquire 3", 20);
	}

	@Test
	void aReaderOfAnotherThreadIsNoReasonToRefuseAWriter() {
		this.service.acquireAsync(READ);
		this.store.last("acquire 1").granted(10, 30_000);
		granted(WRITE, "acquire 2", 20);
	}

	@Test
	void aReleaseOfWhichTheOtherGateDoesNotKnowYetIsNoReasonToRefuse() {
		LockLease exclusive = granted(REQUEST, "acquire 1", 10);
		List<Waiter> reading = new ArrayList<>();
		// As if another thread was busy there: the release comes after that.
		coordinators().find(Locks.lock("k")).execute(() -> {
			exclusive.releaseAsync();
			reading.add(ask(READ));
		});
		assertThat(this.store.sent()).containsExactly("acquire 1", "acquire 2", "release 1");
		this.store.last("acquire 2").granted(20, 30_000);
		LeaseHandle read = reading.get(0).result().join();
		coordinators().find(new Resource(Resource.Kind.READ_WRITE, "k")).execute(() -> {
			read.releaseAsync();
			reading.add(ask(REQUEST));
		});
		this.store.last("acquire 3").granted(30, 30_000);
		assertThat(reading.get(1).result()).isCompleted();
	}

	private Waiter ask(LockRequest request) {
		return coordinators().acquire(ResolvedRequest.of(request, settings()).get(0), Thread.currentThread(),
				LeaseContext.empty(), null, null);
	}

	private LockLease granted(LockRequest request, String command, long fence) {
		return this.store.answering(command, fence, () -> this.service.acquire(request));
	}

	private static void refused(ThrowingCallable call) {
		Consumer<LockNotAcquiredException> reason = (ex) -> assertThat(ex.getReason()).isEqualTo(Reason.SELF_BLOCKED);
		assertThatExceptionOfType(LockNotAcquiredException.class).isThrownBy(call).satisfies(reason);
	}

}
