package io.holdfast.engine;

import java.lang.management.ManagementFactory;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;

import com.sun.management.ThreadMXBean;
import io.holdfast.LockLease;
import io.holdfast.LockRequest;
import io.holdfast.engine.store.StoreCommandException;
import org.junit.jupiter.api.Test;

import static java.util.concurrent.TimeUnit.NANOSECONDS;
import static org.assertj.core.api.Assertions.assertThat;

class RenewalBatchTests extends ScriptedEngine {

	private static final int BATCH = 430;

	private static final Duration LEASE = Duration.ofSeconds(30);

	private void hold(int count) {
		for (int i = 0; i < count; i++) {
			int number = this.store.requestedKeys.size() + 1;
			this.service.acquireAsync(LockRequest.of("k" + number).leaseTime(LEASE));
			this.store.last("acquire " + number).granted(100, LEASE.toMillis());
		}
	}

	/**
	 * Hold leases without renewal. Returns a list that receives the key of each ended
	 * lease.
	 */
	private List<String> ended(int... leaseMillis) {
		List<String> ended = new ArrayList<>();
		for (int millis : leaseMillis) {
			CompletableFuture<LockLease> lease = this.service
				.acquireAsync(LockRequest.of("end" + millis).leaseTime(Duration.ofMillis(millis)).autoRenew(false));
			this.store.last("acquire").granted(100, millis);
			lease.join().onLost(() -> ended.add("end" + millis));
		}
		return ended;
	}

	private List<Integer> renewed() {
		return this.store.sent()
			.stream()
			.filter((line) -> line.startsWith("renew"))
			.map((line) -> line.split(" for ").length - 1)
			.toList();
	}

	@Test
	void renewalsDueTogetherUseAsFewCommandsAsPossible() {
		hold(2 * BATCH + 10);
		this.store.elapse(LEASE.toMillis() / 3);
		assertThat(renewed()).containsExactly(BATCH, BATCH, 10);
	}

	@Test
	void renewalsDueSoonJoinADueRenewal() {
		hold(1);
		this.store.elapse(20);
		hold(BATCH + 5);
		this.store.elapse(LEASE.toMillis() / 3 - 21);
		assertThat(renewed()).isEmpty();
		this.store.elapse(1);
		assertThat(renewed()).containsExactly(BATCH, 6);
	}

	@Test
	void leasesThatTheStoreCannotRenewTogetherYetAreRenewedOneByOne() {
		hold(3);
		this.store.elapse(LEASE.toMillis() / 3);
		assertThat(renewed()).containsExactly(3);
		this.store.last("renew").fail(StoreCommandException.notYet("moving", "moving", new IllegalStateException()));
		assertThat(renewed()).containsExactly(1, 1, 1);
		this.store.last("renew").fail(StoreCommandException.notYet("moving", "moving", new IllegalStateException()));
		assertThat(renewed()).isEmpty();
	}

	@Test
	void renewalsDueLaterAreSentAtTheirTime() {
		for (int i = 0; i < 20; i++) {
			hold(1);
			this.store.elapse(101);
		}
		this.store.sent();
		long first = LEASE.toMillis() / 3 - 20 * 101;
		this.store.elapse(first - 1);
		assertThat(renewed()).isEmpty();
		this.store.elapse(1);
		assertThat(renewed()).containsExactly(1);
		for (int i = 1; i < 20; i++) {
			this.store.elapse(100);
			assertThat(renewed()).isEmpty();
			this.store.elapse(1);
			assertThat(renewed()).containsExactly(1);
		}
	}

	@Test
	void leasesWithoutRenewalFillNoCommand() {
		hold(1);
		this.store.elapse(LEASE.toMillis() / 3 - 950);
		Duration lease = Duration.ofSeconds(1);
		this.service.acquireAsync(LockRequest.of("other").leaseTime(lease).autoRenew(false));
		this.store.last("acquire 2").granted(200, lease.toMillis());
		this.store.sent();
		this.store.elapse(950);
		assertThat(renewed()).containsExactly(1);
	}

	@Test
	void aShortLeaseDoesNotFillACommandLongBeforeItIsDue() {
		hold(1);
		this.store.elapse(LEASE.toMillis() / 3 - 60);
		this.service.acquireAsync(LockRequest.of("short").leaseTime(Duration.ofMillis(300)));
		this.store.last("acquire 2").granted(200, 300);
		this.store.sent();
		this.store.elapse(60);
		assertThat(renewed()).containsExactly(1);
		this.store.elapse(39);
		assertThat(renewed()).isEmpty();
		this.store.elapse(1);
		assertThat(renewed()).containsExactly(1);
	}

	@Test
	void aShortLeaseAcquiredInBetweenIsRenewedAtItsTime() {
		hold(1);
		this.store.elapse(LEASE.toMillis() / 3);
		assertThat(renewed()).containsExactly(1);
		this.store.last("renew 1").renewed(true);
		this.service.acquireAsync(LockRequest.of("short").leaseTime(Duration.ofSeconds(3)));
		this.store.last("acquire 2").granted(200, 3000);
		this.store.elapse(999);
		assertThat(renewed()).isEmpty();
		this.store.elapse(1);
		assertThat(renewed()).containsExactly(1);
	}

	@Test
	void eachLeaseEndsAtItsOwnMillisecond() {
		List<String> ended = ended(1002, 1001, 1000);
		this.store.elapse(NANOSECONDS.toMillis(Hold.validity(1000)) - 1);
		assertThat(ended).isEmpty();
		this.store.elapse(1);
		assertThat(ended).containsExactly("end1000");
		this.store.elapse(1);
		assertThat(ended).containsExactly("end1000", "end1001");
		this.store.elapse(1);
		assertThat(ended).containsExactly("end1000", "end1001", "end1002");
	}

	@Test
	void leasesRenewedTogetherAreDueTogetherAgain() {
		hold(3);
		for (int i = 0; i < 3; i++) {
			this.store.elapse(LEASE.toMillis() / 3 - 1);
			assertThat(renewed()).isEmpty();
			this.store.elapse(1);
			assertThat(renewed()).containsExactly(3);
			this.store.last("renew").renewed(true, true, true);
		}
	}

	@Test
	void amongThousandsOfLeasesEndsAreDetectedInSteps() {
		hold(3000);
		List<String> ended = ended(1000, 1001, 1002);
		this.store.elapse(NANOSECONDS.toMillis(Hold.validity(1000)));
		assertThat(ended).containsExactly("end1000");
		this.store.elapse(2);
		assertThat(ended).containsExactly("end1000");
		this.store.elapse(1);
		assertThat(ended).containsExactlyInAnyOrder("end1000", "end1001", "end1002");
	}

	@Test
	void aPartOfTheStoreTakesMemoryForItsOwnHoldsOnly() {
		ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
		for (int i = 1; i <= 3000; i++) {
			this.store.parts.put("k" + i, i);
		}
		hold(3000);
		long before = threads.getCurrentThreadAllocatedBytes();
		this.store.elapse(LEASE.toMillis() / 3);
		assertThat(threads.getCurrentThreadAllocatedBytes() - before).isLessThan(75_000_000);
		assertThat(renewed()).hasSize(3000);
	}

}
