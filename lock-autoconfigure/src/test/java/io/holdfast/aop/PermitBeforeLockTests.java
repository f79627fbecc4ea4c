package io.holdfast.aop;

import java.util.List;

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

/**
 * Methods with a semaphore and a lock: the permit is acquired first and released last,
 * with any other advice.
 */
class PermitBeforeLockTests extends LockedTestCase {

	private static final List<String> PLAIN = List.of("permit", "lock", "body", "unlock", "return");

	@Test
	@ExtendWith(OutputCaptureExtension.class)
	@DisplayName("The permit is returned although the release of the lock fails")
	void failingReleases(CapturedOutput output) {
		Shop shop = start(Shop.class);
		this.locks.releasing(Outcome.FAILED);
		this.semaphores.releasing(Outcome.LOST);
		shop.sell();
		assertThat(this.locks.events()).isEqualTo(PLAIN);
		assertThat(output).contains("Lock 'shop' of ", "Permit of semaphore 'shop' was lost");
	}

	@Test
	@DisplayName("With the post-processor before that of transactions, the lock is kept until the commit")
	void insideOfTransaction() {
		startWithOrder(Ordered.HIGHEST_PRECEDENCE, Shop.class, AdviceOrderTests.TransactionsAndAspects.class).sell();
		assertEvents("begin", "permit", "lock", "body", "return", "commit", "unlock");
	}

	@Test
	@DisplayName("The annotations may be on a type and a method, or on a class and an interface")
	void declaredInDifferentPlaces() {
		startByInterface(Scattered.class);
		Selling shop = bean(Selling.class);
		shop.sell();
		assertThat(this.locks.events()).isEqualTo(PLAIN);
		assertThat(this.semaphores.keys()).containsExactly("type");
		assertThat(this.locks.keys()).containsExactly("interface");
	}

	@Test
	@DisplayName("A method with annotations of its own does not have the annotations of its class")
	void oneOfTheTwo() {
		Shop shop = start(Shop.class);
		shop.onlyLocked();
		shop.onlyLimited();
		assertEvents("lock", "body", "unlock", "permit", "body", "return");
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
