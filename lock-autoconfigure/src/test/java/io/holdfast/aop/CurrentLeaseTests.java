package io.holdfast.aop;

import java.util.ArrayList;
import java.util.List;

import io.holdfast.Lease;
import io.holdfast.LeaseContext;
import io.holdfast.LockLease;
import io.holdfast.PermitLease;
import io.holdfast.annotation.DistributedLock;
import io.holdfast.annotation.OnTimeout;
import io.holdfast.annotation.Semaphore;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

/**
 * Current lease of the code of an annotated method.
 */
class CurrentLeaseTests extends LockedTestCase {

	private final Shop shop = start(Shop.class);

	@AfterEach
	void noLease() {
		assertThat(LeaseContext.current()).isSameAs(LeaseContext.empty());
	}

	@Test
	@DisplayName("The current lease is held and has the key and fence of the running method")
	void inside() {
		this.shop.locked(() -> {
			assertThat(LockLease.current().key()).isEqualTo("lock");
			assertThat(LockLease.current().fencingToken()).isEqualTo(1);
			assertThat(Lease.current()).isSameAs(LockLease.current());
			LockLease.current().ensureHeld();
		});
		this.shop.limited(() -> {
			assertThat(PermitLease.current().permits()).isEqualTo(2);
			assertThat(Lease.current()).isSameAs(PermitLease.current());
		});
		this.shop.both(() -> {
			assertThat(PermitLease.current().key()).isEqualTo("permit");
			assertThat(LockLease.current().key()).isEqualTo("lock");
			assertThat(Lease.current()).isSameAs(LockLease.current());
			assertThat(LeaseContext.current().leases()).containsExactly(LockLease.current(), PermitLease.current());
		});
		assertThat(this.locks.events()).hasSize(8);
	}

	@Test
	@DisplayName("An inner call has its own current lease, and the outer lease is back after each, also after an exception")
	void nested() {
		List<String> keys = new ArrayList<>();
		this.shop.locked(() -> {
			Lease outer = Lease.current();
			this.shop.other(() -> keys.addAll(LeaseContext.current().leases().stream().map(Lease::key).toList()));
			assertThat(Lease.current()).isSameAs(outer);
			assertThatIllegalStateException().isThrownBy(() -> this.shop.other(() -> {
				throw new IllegalStateException("failed");
			})).withMessage("failed");
			assertThat(Lease.current()).isSameAs(outer);
			this.shop.free(() -> assertThat(Lease.current()).isSameAs(outer));
			this.shop.limited(() -> assertThat(LockLease.current()).isSameAs(outer));
			this.semaphores.busy();
			this.shop.skipped(() -> keys.add("ran"));
			assertThat(Lease.current()).isSameAs(outer);
		});
		assertThat(keys).containsExactly("other", "lock");
	}

	@Test
	@DisplayName("A refused call leaves no current lease, and its fallback runs without one")
	void notAcquired() {
		this.locks.busy();
		List<LeaseContext> seen = new ArrayList<>();
		this.shop.fallingBack(() -> seen.add(LeaseContext.current()));
		assertThat(seen).containsExactly(LeaseContext.empty());
		assertEvents("permit", "return");
	}

	static class Shop {

		@DistributedLock(name = "lock")
		void locked(Runnable body) {
			body.run();
		}

		@DistributedLock(name = "other")
		void other(Runnable body) {
			body.run();
		}

		@Semaphore(name = "permit", limit = 5, permits = 2)
		void limited(Runnable body) {
			body.run();
		}

		@Semaphore(name = "permit", limit = 5)
		@DistributedLock(name = "lock")
		void both(Runnable body) {
			body.run();
		}

		@DistributedLock(condition = "false")
		void free(Runnable body) {
			body.run();
		}

		@Semaphore(limit = 5, onTimeout = OnTimeout.SKIP)
		void skipped(Runnable body) {
			body.run();
		}

		@Semaphore(limit = 5)
		@DistributedLock(fallback = "without")
		void fallingBack(Runnable body) {
			throw new AssertionError("Not locked");
		}

		private void without(Runnable body) {
			body.run();
		}

	}

}
