package io.holdfast.aop;

import java.util.List;

import io.holdfast.LockNotAcquiredException;
import io.holdfast.PermitNotAcquiredException;
import io.holdfast.annotation.DistributedLock;
import io.holdfast.annotation.Semaphore;
import io.holdfast.aop.RecordingLease.Outcome;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.core.Ordered;
import org.springframework.transaction.annotation.Transactional;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/**
 * Methods with a semaphore and a lock: the permit is acquired first and released last,
 * with any other advice.
 */
class PermitBeforeLockTests {

	private static final List<String> PLAIN = List.of("permit", "lock", "body", "unlock", "return");

	@Test
	@DisplayName("Without a permit, no lock is requested")
	void noPermit() {
		try (LockedContext context = LockedContext.of(Shop.class)) {
			context.semaphores().busy();
			assertThatExceptionOfType(PermitNotAcquiredException.class)
				.isThrownBy(() -> context.bean(Shop.class).sell());
			assertThat(context.locks().requests()).isEmpty();
			assertThat(context.locks().events()).isEmpty();
		}
	}

	@Test
	@DisplayName("Without the lock, the permit is returned and the method does not run")
	void noLock() {
		try (LockedContext context = LockedContext.of(Shop.class)) {
			context.locks().busy();
			assertThatExceptionOfType(LockNotAcquiredException.class).isThrownBy(() -> context.bean(Shop.class).sell());
			assertThat(context.locks().events()).containsExactly("permit", "return");
		}
	}

	@Test
	@ExtendWith(OutputCaptureExtension.class)
	@DisplayName("The permit is returned although the release of the lock fails")
	void failingReleases(CapturedOutput output) {
		try (LockedContext context = LockedContext.of(Shop.class)) {
			context.locks().releasing(Outcome.FAILED);
			context.semaphores().releasing(Outcome.LOST);
			context.bean(Shop.class).sell();
			assertThat(context.locks().events()).isEqualTo(PLAIN);
			assertThat(output).contains("Lock 'shop' of ", "Permit of semaphore 'shop' was lost");
		}
	}

	@Test
	@DisplayName("With the post-processor before that of transactions, the lock is kept until the commit")
	void insideOfTransaction() {
		try (LockedContext context = LockedContext.ordered(Ordered.HIGHEST_PRECEDENCE,
				AdviceOrderTests.TransactionsAndAspects.class, Shop.class)) {
			context.bean(Shop.class).sell();
			assertThat(context.locks().events()).containsExactly("begin", "permit", "lock", "body", "return", "commit",
					"unlock");
		}
	}

	@Test
	@DisplayName("The annotations may be on a type and a method, or on a class and an interface")
	void declaredInDifferentPlaces() {
		try (LockedContext context = LockedContext.of(Scattered.class)) {
			Selling shop = context.bean(Selling.class);
			shop.sell();
			assertThat(context.locks().events()).isEqualTo(PLAIN);
			assertThat(context.semaphores().keys()).containsExactly("type");
			assertThat(context.locks().keys()).containsExactly("interface");
		}
	}

	@Test
	@DisplayName("A method with annotations of its own does not have the annotations of its class")
	void oneOfTheTwo() {
		try (LockedContext context = LockedContext.of(Shop.class)) {
			Shop shop = context.bean(Shop.class);
			shop.onlyLocked();
			shop.onlyLimited();
			assertThat(context.locks().events()).containsExactly("lock", "body", "unlock", "permit", "body", "return");
		}
	}

	interface Selling {

		@DistributedLock(name = "interface")
		void sell();

	}

	static class Shop extends Recorded {

		@Transactional
		@DistributedLock(name = "shop")
		@Semaphore(name = "shop", limit = 2)
		public void sell() {
			this.recorder.record("body");
		}

		@DistributedLock(name = "shop")
		public void onlyLocked() {
			this.recorder.record("body");
		}

		@Semaphore(name = "shop", limit = 2)
		public void onlyLimited() {
			this.recorder.record("body");
		}

	}

	@Semaphore(name = "type", limit = 2)
	static class Scattered extends Recorded implements Selling {

		@Override
		public void sell() {
			this.recorder.record("body");
		}

	}

}
