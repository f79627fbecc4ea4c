package io.holdfast.engine;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;

import io.holdfast.LockLease;
import io.holdfast.LockMode;
import io.holdfast.LockRequest;
import io.holdfast.engine.store.HandOverLimits;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Hand-over of a read-write lock between writers of an instance, without the store.
 */
class WriterHandOverTests extends ScriptedEngine {

	private static final int COUNT = 3;

	private static final LockRequest READ = REQUEST.mode(LockMode.READ);

	private static final LockRequest WRITE = REQUEST.mode(LockMode.EXCLUSIVE);

	WriterHandOverTests() {
		super(Settings.with(EngineSettings.defaults(), new HandOverLimits(COUNT, Duration.ofMillis(5))));
	}

	@Test
	void theNextWriterGetsTheTokenWithAHigherFence() {
		LockLease first = granted(WRITE, 100);
		CompletableFuture<LockLease> second = this.service.acquireAsync(WRITE);
		first.release();
		assertThat(second.join().fencingToken()).isEqualTo(101);
		assertThat(this.store.sent()).containsExactly("acquire 1");
		second.join().releaseAsync();
		assertThat(this.store.sent()).containsExactly("release 1");
	}

	@Test
	void aSingleWriterContendsAtATime() {
		CompletableFuture<LockLease> first = this.service.acquireAsync(WRITE);
		CompletableFuture<LockLease> second = this.service.acquireAsync(WRITE);
		assertThat(this.store.sent()).containsExactly("acquire 1");
		first.cancel(false);
		assertThat(this.store.sent()).as("the place serves the next writer").isEmpty();
		this.store.last("acquire 1").granted(100, 30_000);
		assertThat(second).isCompleted();
	}

	@Test
	void theStoreDecidesAfterTheMaximumTime() {
		LockLease first = granted(WRITE, 100);
		this.service.acquireAsync(WRITE);
		this.store.elapse(5);
		first.releaseAsync();
		assertThat(this.store.sent()).containsExactly("acquire 1", "release 1 next 2");
	}

	@Test
	void theStoreDecidesAfterTheMaximumCount() {
		LockLease last = granted(WRITE, 100);
		List<CompletableFuture<LockLease>> waiting = new ArrayList<>();
		for (int i = 0; i <= COUNT; i++) {
			waiting.add(this.service.acquireAsync(WRITE));
		}
		for (int i = 0; i < COUNT; i++) {
			last.release();
			last = waiting.get(i).join();
		}
		assertThat(last.fencingToken()).isEqualTo(100 + COUNT);
		last.releaseAsync();
		assertThat(waiting.get(COUNT)).isNotDone();
		assertThat(this.store.sent()).containsExactly("acquire 1", "release 1 next " + (COUNT + 2));
	}

	@Test
	void aWriterContendsDespiteReadersOfItsInstance() {
		granted(READ, 100);
		this.service.acquireAsync(WRITE);
		assertThat(this.store.sent()).containsExactly("acquire 1", "acquire 2");
	}

	@Test
	void readersContendOnArrivalAndAreNotPassedByWriters() {
		LockLease first = granted(WRITE, 100);
		this.service.acquireAsync(READ);
		this.service.acquireAsync(READ);
		CompletableFuture<LockLease> writer = this.service.acquireAsync(WRITE);
		assertThat(this.store.sent()).containsExactly("acquire 1", "acquire 2", "acquire 3");
		first.releaseAsync();
		assertThat(writer).isNotDone();
		assertThat(this.store.sent()).containsExactly("release 1 next 4");
	}

	@Test
	void aReaderBehindAWriterContendsOnceTheWriterHolds() {
		LockLease first = granted(WRITE, 100);
		CompletableFuture<LockLease> writer = this.service.acquireAsync(WRITE);
		this.service.acquireAsync(READ);
		assertThat(this.store.sent()).containsExactly("acquire 1");
		first.release();
		assertThat(writer).isCompleted();
		assertThat(this.store.sent()).containsExactly("acquire 3");
		writer.join().releaseAsync();
		assertThat(this.store.sent()).containsExactly("release 1");
	}

	@Test
	void readLeasesAreNotHandedOver() {
		LockLease first = granted(READ, 100);
		this.service.acquireAsync(READ);
		first.releaseAsync();
		assertThat(this.store.sent()).containsExactly("acquire 1", "acquire 2", "release 1");
	}

	@Test
	void aLostHoldIsNotHandedOverAndTheNextWriterAsks() {
		LockLease first = granted(WRITE, 100);
		CompletableFuture<LockLease> second = this.service.acquireAsync(WRITE);
		renewer().renewNow(renewer().holds(), 30_000);
		this.store.sent();
		this.store.last("renew 1").renewed(false);
		assertThat(this.store.sent()).containsExactly("acquire 2");
		first.releaseAsync();
		assertThat(second).isNotDone();
	}

	@Test
	void aWriterWithoutRenewalGetsNoHandOver() {
		LockLease first = granted(WRITE, 100);
		CompletableFuture<LockLease> second = this.service.acquireAsync(WRITE.autoRenew(false));
		first.releaseAsync();
		assertThat(second).isNotDone();
	}

	@Test
	void aRetainedHoldIsNotHandedOver() {
		LockLease first = granted(WRITE.minHold(Duration.ofMillis(100)), 100);
		CompletableFuture<LockLease> second = this.service.acquireAsync(WRITE);
		first.releaseAsync();
		assertThat(second).isNotDone();
		assertThat(this.store.sent()).contains("retain 1 for 100", "acquire 2");
	}

}
