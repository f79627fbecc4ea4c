package io.holdfast.fleet;

import java.util.Collection;
import java.util.List;
import java.util.Random;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;

import io.holdfast.SemaphoreRequest;
import io.holdfast.SemaphoreService;
import io.holdfast.SemaphoreView;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.Timeout.ThreadMode;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

/**
 * A semaphore in the habit of java.util.concurrent, over two contexts.
 */
@Timeout(value = 60, threadMode = ThreadMode.SEPARATE_THREAD)
class SemaphoreViewTests extends FleetTestCase {

	private static final int LIMIT = 6;

	private static List<SemaphoreService> contexts;

	private SemaphoreView first;

	private SemaphoreView second;

	@BeforeAll
	static void start() {
		contexts = fleet.startSemaphores(2);
	}

	@BeforeEach
	void view() {
		this.first = contexts.get(0).asSemaphore(this.key, LIMIT);
		this.second = contexts.get(1).asSemaphore(this.key, LIMIT);
	}

	@AfterEach
	@Override
	void nothingIsLeft() {
		contexts.get(0).admin().clearLimit(this.key);
		super.nothingIsLeft();
	}

	@Test
	@DisplayName("Permits come back in whatever portions, by whichever thread and view of the same instance")
	void portions() throws Exception {
		this.first.acquire(3);
		this.first.acquire(2);
		assertThat(this.second.availablePermits()).isEqualTo(1);
		SemaphoreView sameInstance = contexts.get(0).asSemaphore(this.key, LIMIT);
		assertThat(sameInstance).isEqualTo(this.first).hasSameHashCodeAs(this.first).isNotEqualTo(this.second);
		for (int left = 5; left > 0; left--) {
			assertThat(this.second.availablePermits()).isEqualTo(LIMIT - left);
			boolean byOtherThread = left % 2 == 0;
			if (byOtherThread) {
				Call.onAnotherThread(() -> release(sameInstance, 1));
			}
			else {
				this.first.release();
			}
		}
		assertThat(this.second.availablePermits()).isEqualTo(LIMIT);
	}

	@Test
	@DisplayName("A part that is released is had by a waiter of another instance at once, and the rest stays held")
	void partToWaiter() throws Exception {
		this.first.acquire(LIMIT);
		Call<Boolean> waiting = Call.start(() -> this.second.tryAcquire(2, 20, TimeUnit.SECONDS));
		fleet.awaitWaitingForPermits(this.key, 1);
		this.first.release();
		assertThat(waiting.isDone()).as("had with 1 of 2 free").isFalse();
		long from = System.nanoTime();
		this.first.release();
		assertThat(waiting.get()).isTrue();
		assertThat(System.nanoTime() - from).isLessThan(Fleet.PROMPT.toNanos());
		assertThat(this.second.availablePermits()).isZero();
		this.first.release(LIMIT - 2);
		this.second.release(2);
	}

	@Test
	@DisplayName("A release of more than was acquired is an error and releases nothing, also if others hold permits")
	void tooMany() throws Exception {
		this.second.acquire(3);
		assertThatIllegalStateException().isThrownBy(this.first::release);
		this.first.acquire(2);
		assertThatIllegalStateException().isThrownBy(() -> this.first.release(3));
		assertThat(this.second.availablePermits()).isEqualTo(1);
		this.first.release(2);
		assertThatIllegalStateException().isThrownBy(this.first::release);
		assertThat(this.second.availablePermits()).isEqualTo(3);
		this.second.release(3);
	}

	@Test
	@DisplayName("Permits of a lease are not the view's to release")
	void notOfLeases() {
		SemaphoreRequest request = SemaphoreRequest.of(this.key, LIMIT).permits(2);
		try (var lease = contexts.get(0).acquire(request)) {
			assertThat(this.first.availablePermits()).isEqualTo(4);
			assertThatIllegalStateException().isThrownBy(this.first::release);
			lease.ensureHeld();
		}
	}

	@Test
	@DisplayName("drainPermits takes what is free and no more; what an operator's limit leaves free is available")
	void drains() throws Exception {
		this.first.acquire(2);
		assertThat(this.second.drainPermits()).isEqualTo(4);
		assertThat(this.second.drainPermits()).isZero();
		assertThat(this.first.tryAcquire()).isFalse();
		assertThat(this.first.tryAcquire(1, 50, TimeUnit.MILLISECONDS)).isFalse();
		contexts.get(0).admin().setLimit(this.key, 8);
		assertThat(this.first.availablePermits()).isEqualTo(2);
		assertThat(this.first.drainPermits()).isEqualTo(2);
		contexts.get(0).admin().setLimit(this.key, 3);
		assertThat(this.first.availablePermits()).isZero();
		this.second.release(4);
		this.first.release(4);
		assertThat(this.second.availablePermits()).isEqualTo(3);
	}

	@Test
	@DisplayName("Waits end by interrupt, or do not; interrupted ones leave nothing")
	void interrupts() throws Exception {
		this.first.acquire(LIMIT);
		Call<Boolean> interruptible = Call.start(() -> {
			this.second.acquire();
			return true;
		});
		fleet.awaitWaitingForPermits(this.key, 1);
		interruptible.interrupt();
		assertThatExceptionOfType(InterruptedException.class).isThrownBy(interruptible::get);
		fleet.awaitWaitingForPermits(this.key, 0);
		Call<Boolean> uninterruptible = Call.start(() -> {
			this.second.acquireUninterruptibly();
			return Thread.interrupted();
		});
		fleet.awaitWaitingForPermits(this.key, 1);
		uninterruptible.interrupt();
		this.first.release(LIMIT);
		assertThat(uninterruptible.get()).as("interrupt flag").isTrue();
		this.second.release();
	}

	@Test
	@DisplayName("S13 many threads of two instances acquire and release in portions of their own: never more than the"
			+ " limit, and all comes back")
	void crowded() throws Exception {
		Collection<Hold> holds = new ConcurrentLinkedQueue<>();
		Crowd crowd = new Crowd();
		for (SemaphoreView semaphore : List.of(this.first, this.second)) {
			crowd.add(5, () -> {
				Random random = new Random();
				for (int i = 0; i < 20; i++) {
					int permits = 1 + random.nextInt(4);
					long asked = System.nanoTime();
					semaphore.acquire(permits);
					long from = System.nanoTime();
					for (int left = permits; left > 0; left--) {
						holds.add(new Hold(1, 0, asked, from, System.nanoTime()));
						semaphore.release();
					}
				}
			});
		}
		crowd.run();
		assertThat(Overlaps.assertWithin(holds, LIMIT)).isEqualTo(LIMIT);
		assertThat(this.first.availablePermits()).isEqualTo(LIMIT);
		assertThat(this.second.drainPermits()).isEqualTo(LIMIT);
		this.second.release(LIMIT);
	}

	private static boolean release(SemaphoreView semaphore, int permits) {
		semaphore.release(permits);
		return true;
	}

}
