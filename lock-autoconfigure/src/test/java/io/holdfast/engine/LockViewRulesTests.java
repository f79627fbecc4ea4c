package io.holdfast.engine;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

import io.holdfast.LeaseLostException;
import io.holdfast.LeaseStoreException;
import io.holdfast.LockNotAcquiredException;
import io.holdfast.LockView;
import io.holdfast.NotAcquiredException.Reason;
import io.holdfast.engine.ScriptedStore.Command;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.awaitility.Awaitility.await;

/**
 * Views of locks whose lease is lost, whose instance stops or whose store fails.
 */
class LockViewRulesTests extends ScriptedEngine {

	private final LockView lock = this.service.asLock("k");

	LockViewRulesTests() {
		answerAll("acquire", (command) -> command.granted(10, 30_000));
		answerAll("release", (command) -> command.released(true));
	}

	/** Answer all commands of a kind at once. */
	private void answerAll(String kind, Consumer<Command> answer) {
		for (int number = 1; number <= 20; number++) {
			this.store.answerAtOnce(kind + " " + number, answer);
			this.store.answerAtOnce(kind + " " + number + " at once", answer);
		}
	}

	/** Release the lock by force, by another instance. */
	private void lose() {
		this.store.wakeUps.ended(ID + ":1", 64);
		answerAll("release", (command) -> command.released(false));
	}

	@ParameterizedTest
	@ValueSource(ints = { 1, 2 })
	@DisplayName("S14 A lost lock is no longer held; it needs an unlock for each hold, which throws")
	void unlockAfterLoss(int holds) {
		for (int i = 0; i < holds; i++) {
			this.lock.lock();
		}
		lose();
		assertThat(this.lock.isHeldByCurrentThread()).isFalse();
		for (int left = holds; left > 0; left--) {
			assertThat(this.lock.getHoldCount()).isEqualTo(left);
			assertThatExceptionOfType(IllegalMonitorStateException.class).isThrownBy(this.lock::unlock)
				.withMessageContaining("its lease was lost");
		}
		assertThatExceptionOfType(IllegalMonitorStateException.class).isThrownBy(this.lock::unlock)
			.withMessageNotContaining("lost");
		this.lock.lock();
		assertThat(this.lock.isHeldByCurrentThread()).isTrue();
	}

	@Test
	@DisplayName("An unlock whose release finds the loss throws")
	void lossFoundByTheUnlock() {
		this.lock.lock();
		answerAll("release", (command) -> command.released(false));
		assertThat(this.lock.isHeldByCurrentThread()).isTrue();
		assertThatExceptionOfType(IllegalMonitorStateException.class).isThrownBy(this.lock::unlock)
			.withMessageContaining("its lease was lost");
		assertThat(this.lock.getHoldCount()).isZero();
	}

	@Test
	@DisplayName("S14 A thread cannot lock a lost lock again, by any method, before its unlock")
	void lockAfterLoss() {
		this.lock.lock();
		lose();
		for (ThrowingCallable way : List.<ThrowingCallable>of(this.lock::lock, this.lock::lockInterruptibly,
				this.lock::tryLock, () -> this.lock.tryLock(1, TimeUnit.SECONDS), () -> this.service.acquire("k"),
				() -> this.service.tryAcquire("k"))) {
			assertThatExceptionOfType(LeaseLostException.class).isThrownBy(way);
		}
		assertThat(this.lock.getHoldCount()).isOne();
		assertThatExceptionOfType(IllegalMonitorStateException.class).isThrownBy(this.lock::unlock);
		assertThat(this.lock.tryLock()).isTrue();
	}

	@Test
	@DisplayName("A view throws when its instance shuts down, during its wait and afterwards")
	void shutDown() {
		answerAll("acquire", (command) -> command.busy(30_000, 10));
		CompletableFuture<Void> waiting = CompletableFuture.runAsync(this.lock::lock).orTimeout(10, TimeUnit.SECONDS);
		await().until(() -> this.engine.status().waiting() == 1);
		this.engine.shutDown(Duration.ZERO);
		for (ThrowingCallable way : List.<ThrowingCallable>of(() -> {
			throw waiting.handle((done, failure) -> failure.getCause()).join();
		}, this.lock::lock, this.lock::lockInterruptibly, this.lock::tryLock,
				() -> this.lock.tryLock(1, TimeUnit.SECONDS))) {
			assertThatExceptionOfType(LockNotAcquiredException.class).isThrownBy(way)
				.satisfies((ex) -> assertThat(ex.getReason()).isEqualTo(Reason.SHUTDOWN));
		}
	}

	@Test
	@DisplayName("Locking and queries throw on trouble with the store, unlock() does not")
	void storeFails() {
		this.lock.lock();
		for (String kind : List.of("acquire", "release")) {
			answerAll(kind, (command) -> command.fail(false));
		}
		this.store.answerAtOnce("inspect", (command) -> command.fail(false));
		this.lock.unlock();
		assertThat(this.lock.getHoldCount()).isZero();
		for (ThrowingCallable way : List.<ThrowingCallable>of(this.lock::lock, this.lock::lockInterruptibly,
				this.lock::tryLock, () -> this.lock.tryLock(200, TimeUnit.MILLISECONDS), this.lock::isLocked,
				this.lock::remaining)) {
			assertThatExceptionOfType(LeaseStoreException.class).isThrownBy(way);
		}
		assertThat(this.lock.getHoldCount()).isZero();
	}

}
