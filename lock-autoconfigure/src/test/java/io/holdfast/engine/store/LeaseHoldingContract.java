package io.holdfast.engine.store;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;

import io.holdfast.engine.store.LeaseStore.AcquireCommand;
import io.holdfast.engine.store.LeaseStore.AcquireReply;
import io.holdfast.engine.store.LeaseStore.AcquireReply.Busy;
import io.holdfast.engine.store.LeaseStore.AcquireReply.Granted;
import io.holdfast.engine.store.LeaseStore.ReleaseReply;
import io.holdfast.engine.store.LeaseStore.Renewal;
import io.holdfast.engine.store.LeaseStore.Standing;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import static io.holdfast.engine.Locks.lock;
import static io.holdfast.engine.Locks.renewal;
import static org.assertj.core.api.Assertions.assertThat;

/**
 * Contract of every {@link LeaseStore} for held exclusive locks: their fences, times and
 * owners.
 */
abstract class LeaseHoldingContract extends StoreContract {

	@Test
	@DisplayName("A free key is granted for the lease time, with a fence")
	void grantsFreeKey() {
		Granted granted = granted(this.a.acquire("1"));
		assertThat(granted.fence()).isPositive();
		assertThat(granted.ttlMillis()).isBetween(LEASE - 1000, LEASE);
		Standing state = this.b.inspect();
		assertThat(state.owner()).isEqualTo(this.a.token("1"));
		assertThat(state.ttlMillis()).isBetween(LEASE - 5000, LEASE);
		assertThat(state.fence()).isEqualTo(granted.fence());
		assertThat(state.waiting()).isZero();
	}

	@Test
	@DisplayName("A repeated acquire of a token is the same grant")
	void acquireIsIdempotent() {
		Granted first = granted(this.a.acquire("1"));
		Granted second = granted(this.a.acquire("1"));
		assertThat(second.fence()).isEqualTo(first.fence());
		assertThat(this.a.release("1").released()).isTrue();
		assertThat(this.b.inspect().owner()).isNull();
	}

	@Test
	@DisplayName("A repeated acquire never shortens the lease")
	void acquireNeverShortens() {
		granted(this.a.acquire("1"));
		Granted again = granted(this.a.acquireBriefly("1"));
		assertThat(again.ttlMillis()).isGreaterThan(SHORT);
		assertThat(this.a.inspect().ttlMillis()).isGreaterThan(SHORT);
	}

	@Test
	@DisplayName("Fences grow with each grant by more than the hand-overs within an instance")
	void fencesGrow() {
		long last = 0;
		for (int i = 0; i < 20; i++) {
			Instance instance = (i % 2 == 0) ? this.a : this.b;
			Granted granted = granted(instance.acquire("" + i));
			assertThat(granted.fence()).isGreaterThanOrEqualTo(last + 64);
			last = granted.fence();
			instance.release("" + i);
		}
	}

	@Test
	@DisplayName("Fences run ahead of the clock by at most 64 for each grant")
	void fencesStayNearTheClock() {
		int count = 200;
		Granted first = granted(this.a.acquire("1"));
		this.a.release("1");
		List<CompletableFuture<AcquireReply>> answers = new ArrayList<>();
		// Without waiting for answers, so that the clock advances by less than 64 for
		// each grant.
		for (int i = 2; i < count; i++) {
			AcquireCommand command = Commands.forLock(this.a.token("" + i), LEASE, CLAIM);
			answers.add(this.a.store.acquire(lock(KEY), command, true));
			this.a.store.release(lock(KEY), command, null);
		}
		List<Granted> grants = answers.stream().map((answer) -> granted(get(answer))).toList();
		long clock = granted(this.a.acquire(lock("another"), Commands.forLock(this.a.token("1"), LEASE, CLAIM)))
			.fence();
		long last = first.fence();
		for (Granted grant : grants) {
			assertThat(grant.fence()).isGreaterThanOrEqualTo(last + 64);
			last = grant.fence();
		}
		assertThat(last).isLessThan(clock + 64 * count);
	}

	@Test
	@DisplayName("A second request learns the owner's time and fence")
	void tellsBusy() {
		Granted granted = granted(this.a.acquire("1"));
		Busy busy = busy(this.b.acquire("1"));
		assertThat(busy.ownerTtlMillis()).isBetween(LEASE - 5000, LEASE);
		assertThat(busy.fence()).isEqualTo(granted.fence());
		assertThat(busy.foreign()).isFalse();
	}

	@Test
	@DisplayName("A foreign owner is reported as foreign, and excludes other owners until its end")
	void respectsForeignOwner() {
		putForeign(KEY, "stranger", Duration.ofMillis(SHORT));
		Busy busy = busy(this.a.acquire("1"));
		assertThat(busy.foreign()).isTrue();
		assertThat(busy.ownerTtlMillis()).isBetween(0L, SHORT);
		assertThat(this.a.inspect().owner()).isEqualTo("stranger");
		elapse(Duration.ofMillis(SHORT + 20));
		granted(this.a.acquire("1"));
	}

	@Test
	@DisplayName("A second request gets a fence to detect old hand-offs, also behind a foreign owner")
	void tellsAFenceBehindForeignOwner() {
		Granted before = granted(this.a.acquire("1"));
		this.a.release("1");
		elapse(Duration.ofMillis(5));
		putForeign(KEY, "stranger", Duration.ofMillis(SHORT));
		Busy busy = busy(this.b.acquire("1"));
		assertThat(busy.fence()).isGreaterThanOrEqualTo(before.fence());
		elapse(Duration.ofMillis(SHORT + 20));
		assertThat(granted(this.b.acquire("1")).fence()).isGreaterThan(busy.fence());
	}

	@Test
	@DisplayName("S2 a foreign owner without an end is reported as foreign and left alone")
	void leavesOwnerWithoutEndAlone() {
		putForeign(KEY, this.a.id.substring(1) + "x:1", null);
		Busy busy = busy(this.a.acquire("1"));
		assertThat(busy.foreign()).isTrue();
		assertThat(busy.ownerTtlMillis()).isEqualTo(-1);
		assertThat(this.a.release("1").released()).isFalse();
		assertThat(this.a.inspect().ttlMillis()).isEqualTo(-1);
	}

	@Test
	@DisplayName("F43 an expired lease is not renewed, and its release does not affect the next owner")
	void endsByTime() {
		Granted first = granted(this.a.acquireBriefly("1"));
		elapse(Duration.ofMillis(SHORT + 20));
		assertThat(this.a.inspect().owner()).isNull();
		assertThat(this.a.inspect().ttlMillis()).isZero();
		Granted second = granted(this.b.acquire("1"));
		assertThat(second.fence()).isGreaterThan(first.fence());
		assertThat(this.a.renew("1", LEASE)).isFalse();
		assertThat(this.a.release("1").released()).isFalse();
		assertThat(this.a.inspect().owner()).isEqualTo(this.b.token("1"));
	}

	@Test
	@DisplayName("A release succeeds once")
	void releasesOnce() {
		granted(this.a.acquire("1"));
		assertThat(this.a.release("1")).isEqualTo(new ReleaseReply(true, null, true));
		assertThat(this.a.release("1")).isEqualTo(new ReleaseReply(false, null, true));
		assertThat(this.b.release("1").released()).isFalse();
	}

	@Test
	@DisplayName("A renewal may extend a lease, but never shortens a lease")
	void renewsByLengthening() {
		granted(this.a.acquire("1"));
		assertThat(this.a.renew("1", 2 * LEASE)).isTrue();
		assertThat(this.a.inspect().ttlMillis()).isGreaterThan(LEASE);
		assertThat(this.a.renew("1", SHORT)).isTrue();
		assertThat(this.a.inspect().ttlMillis()).isGreaterThan(LEASE);
	}

	@Test
	@DisplayName("A retained lease ends at the given time, earlier or later than before")
	void retains() {
		granted(this.a.acquire("1"));
		busy(this.b.acquire("1"));
		assertThat(this.b.retain(lock(KEY), "1", Resource.ALL, SHORT)).isFalse();
		assertThat(this.a.retain(lock(KEY), "1", Resource.ALL, 2 * LEASE)).isTrue();
		assertThat(this.a.inspect().ttlMillis()).isGreaterThan(LEASE);
		assertThat(this.a.retain(lock(KEY), "1", Resource.ALL, SHORT)).isTrue();
		assertThat(this.a.inspect().ttlMillis()).isLessThanOrEqualTo(SHORT);
		elapse(Duration.ofMillis(SHORT + 20));
		assertThat(this.a.retain(lock(KEY), "1", Resource.ALL, LEASE)).isFalse();
		granted(this.b.acquire("1"));
	}

	@Test
	@DisplayName("Many renewals are answered in order, with lost leases among held leases")
	void renewsManyInOrder() {
		List<CompletableFuture<AcquireReply>> acquired = new ArrayList<>();
		List<Renewal> renewals = new ArrayList<>();
		List<Boolean> expected = new ArrayList<>();
		for (int i = 0; i < 1100; i++) {
			boolean kept = i % 7 != 0;
			if (kept) {
				acquired.add(this.a.store.acquire(lock("many" + i),
						Commands.forLock(this.a.token("" + i), LEASE, CLAIM), true));
			}
			renewals.add(renewal("many" + i, this.a.token("" + i), LEASE));
			expected.add(kept);
		}
		acquired.forEach(LeaseHoldingContract::get);
		assertThat(this.a.renew(renewals)).isEqualTo(expected);
	}

}
