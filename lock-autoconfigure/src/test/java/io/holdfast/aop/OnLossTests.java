package io.holdfast.aop;

import java.io.IOException;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

import io.holdfast.HoldfastException;
import io.holdfast.LeaseLostException;
import io.holdfast.LockLease;
import io.holdfast.annotation.DistributedLock;
import io.holdfast.annotation.OnLoss;
import io.holdfast.annotation.Semaphore;
import io.holdfast.aop.RecordingLease.Outcome;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.catchThrowable;

/**
 * Losses of leases while the method runs.
 */
@ExtendWith(OutputCaptureExtension.class)
class OnLossTests extends LockedTestCase {

	private static final String LOST = "was lost while " + Shop.class.getName() + ".";

	private final Shop shop = start(Shop.class);

	@AfterEach
	void notInterrupted() {
		assertThat(Thread.interrupted()).isFalse();
	}

	private void lose(String key) {
		this.locks.lease(key).lose();
	}

	@Test
	@DisplayName("THROW: after the method, an exception replaces the result")
	void throwing(CapturedOutput output) {
		assertThatExceptionOfType(LeaseLostException.class).isThrownBy(() -> this.shop.throwing(() -> {
			lose("throw");
			assertThat(Thread.currentThread().isInterrupted()).isFalse();
			return "done";
		})).withMessageContaining("Lock 'throw' " + LOST + "throwing ran").withNoCause().satisfies((ex) -> {
			assertThat(ex.getKey()).isEqualTo("throw");
			assertThat(ex).hasNoSuppressedExceptions();
		});
		assertEvents("lock", "unlock");
		assertThat(output).contains("Lock 'throw' " + LOST + "throwing ran");
	}

	@Test
	@DisplayName("THROW: an exception of the method stays, with the loss as suppressed")
	void throwingBoth() {
		IOException failure = new IOException("own");
		assertThat(catchThrowable(() -> this.shop.throwing(() -> {
			lose("throw");
			throw failure;
		}))).isSameAs(failure).satisfies((ex) -> assertThat(ex.getSuppressed()).hasSize(1));
		assertThat(failure.getSuppressed()[0]).isInstanceOf(LeaseLostException.class).hasMessageContaining(LOST);
	}

	@Test
	@DisplayName("INTERRUPT: the thread is interrupted during the method, and not afterwards")
	void interrupting(CapturedOutput output) {
		assertThatExceptionOfType(LeaseLostException.class).isThrownBy(() -> this.shop.interrupting(() -> {
			assertThat(Thread.currentThread().isInterrupted()).isFalse();
			lose("interrupt");
			assertThat(Thread.currentThread().isInterrupted()).isTrue();
			return "done";
		})).withMessageContaining("Lock 'interrupt' " + LOST + "interrupting ran").withNoCause();
		assertThat(Thread.currentThread().isInterrupted()).isFalse();
		assertEvents("lock", "unlock");
		assertThat(output).containsOnlyOnce("Lock 'interrupt' " + LOST + "interrupting ran");
	}

	@Test
	@DisplayName("INTERRUPT: a flag that code sets again for the interrupt of the loss is cleared")
	void flagSetAgain() {
		assertThatExceptionOfType(LeaseLostException.class).isThrownBy(() -> this.shop.interrupting(() -> {
			lose("interrupt");
			try {
				new CountDownLatch(1).await(1, TimeUnit.MINUTES);
				return "done";
			}
			catch (InterruptedException ex) {
				Thread.currentThread().interrupt();
				throw new IllegalStateException("interrupted", ex);
			}
		})).withCauseInstanceOf(IllegalStateException.class);
		assertThat(Thread.currentThread().isInterrupted()).isFalse();
	}

	@Test
	@DisplayName("INTERRUPT: a loss before the start of the method interrupts the method, too")
	void lostBefore() {
		this.locks.releasing(Outcome.LOST);
		assertThatExceptionOfType(LeaseLostException.class).isThrownBy(() -> this.shop.interrupting(() -> {
			new CountDownLatch(1).await(1, TimeUnit.MINUTES);
			return "done";
		})).withCauseInstanceOf(InterruptedException.class);
	}

	@Test
	@DisplayName("A call ends normally without a loss, and after a loss that follows the call or its own release")
	void notLost(CapturedOutput output) throws Exception {
		assertThat(this.shop.throwing(() -> "done")).isEqualTo("done");
		assertThat(this.shop.interrupting(() -> "done")).isEqualTo("done");
		lose("interrupt");
		assertThat(Thread.currentThread().isInterrupted()).isFalse();
		assertThat(this.shop.throwing(() -> LockLease.current().release().name())).isEqualTo("RELEASED");
		assertThat(this.shop.interrupting(() -> LockLease.current().release().name())).isEqualTo("RELEASED");
		assertThat(output).doesNotContain("was lost");
	}

	@Test
	@DisplayName("A release without answer is no loss, and does not hide an earlier loss")
	void failingRelease() throws Exception {
		this.locks.releasing(Outcome.FAILED);
		assertThat(this.shop.throwing(() -> "done")).isEqualTo("done");
		assertThatExceptionOfType(LeaseLostException.class).isThrownBy(() -> this.shop.throwing(() -> {
			lose("throw");
			return "done";
		}));
	}

	@Test
	@DisplayName("An interrupt for another reason is kept, whether it came before the call or during the call")
	void foreignInterrupt() {
		Callable<String> losing = () -> {
			lose("interrupt");
			return "done";
		};
		Thread.currentThread().interrupt();
		assertThatExceptionOfType(LeaseLostException.class).isThrownBy(() -> this.shop.interrupting(losing));
		assertThat(Thread.interrupted()).isTrue();
		assertThatExceptionOfType(LeaseLostException.class).isThrownBy(() -> this.shop.interrupting(() -> {
			Thread.currentThread().interrupt();
			return losing.call();
		}));
		assertThat(Thread.interrupted()).isTrue();
	}

	@Test
	@DisplayName("Each of two nested calls is interrupted for its own lease, in any order of the losses")
	void nested() {
		assertThatExceptionOfType(LeaseLostException.class).isThrownBy(() -> this.shop.interrupting(() -> {
			assertThatExceptionOfType(LeaseLostException.class).isThrownBy(() -> this.shop.interruptingToo(() -> {
				lose("too");
				lose("interrupt");
				new CountDownLatch(1).await(1, TimeUnit.MINUTES);
				return "inner";
			})).withMessageContaining("'too'");
			assertThat(Thread.currentThread().isInterrupted()).isTrue();
			return "outer";
		})).withMessageContaining("'interrupt'").withNoCause();
		assertThat(Thread.currentThread().isInterrupted()).isFalse();
	}

	@Test
	@DisplayName("The loss of an inner call's lease does not interrupt the outer call")
	void nestedInnerOnly() throws Exception {
		assertThat(this.shop.interrupting(() -> {
			assertThatExceptionOfType(LeaseLostException.class).isThrownBy(() -> this.shop.interruptingToo(() -> {
				lose("too");
				return "inner";
			}));
			assertThat(Thread.currentThread().isInterrupted()).isFalse();
			return "outer";
		})).isEqualTo("outer");
	}

	@Test
	@DisplayName("Lost permits have the same effect; of lock and permits, the lock's loss comes first")
	void permits(CapturedOutput output) {
		assertThatExceptionOfType(HoldfastException.class).isThrownBy(() -> this.shop.both(() -> {
			this.semaphores.lease("permit").lose();
			assertThat(Thread.currentThread().isInterrupted()).isTrue();
			Thread.interrupted();
			return "done";
		})).isInstanceOf(LeaseLostException.class).withMessageContaining("Permit of semaphore 'permit' " + LOST);
		assertThatExceptionOfType(LeaseLostException.class).isThrownBy(() -> this.shop.both(() -> {
			this.semaphores.lease("permit").lose();
			lose("lock");
			return "done";
		})).withMessageContaining("Permit of semaphore 'permit'").havingCause().withMessageContaining("Lock 'lock'");
		assertThat(output).contains("Lock 'lock' was lost", "Permit of semaphore 'permit' was lost");
	}

	static class Shop {

		@DistributedLock(name = "throw", onLoss = OnLoss.THROW)
		String throwing(Callable<String> body) throws Exception {
			return body.call();
		}

		@DistributedLock(name = "interrupt", onLoss = OnLoss.INTERRUPT)
		String interrupting(Callable<String> body) throws Exception {
			return body.call();
		}

		@DistributedLock(name = "too", onLoss = OnLoss.INTERRUPT)
		String interruptingToo(Callable<String> body) throws Exception {
			return body.call();
		}

		@Semaphore(name = "permit", limit = 1, onLoss = OnLoss.INTERRUPT)
		@DistributedLock(name = "lock", onLoss = OnLoss.THROW)
		String both(Callable<String> body) throws Exception {
			return body.call();
		}

	}

}
