package io.holdfast.engine.store;

import java.time.Duration;
import java.util.List;

import io.holdfast.engine.store.LeaseStore.AcquireCommand;
import io.holdfast.engine.store.LeaseStore.AcquireReply.Granted;
import io.holdfast.engine.store.LeaseStore.KeyState;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import static io.holdfast.engine.Locks.lock;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * In which order every {@link LeaseStore} grants one key to requests of different modes:
 * exclusive ones, readers and writers.
 */
public abstract class ModeOrderContract extends PermitStoreContract {

	@Test
	@DisplayName("readers that stand together are let in together, too, when the lock of another client has ended")
	void readersAfterForeignOwner() {
		putForeign(KEY, "another client", Duration.ofMillis(SHORT));
		busy(read(this.a, "1"));
		busy(read(this.b, "1"));
		busy(this.c.acquire("1"));
		elapse(MORE_THAN_SHORT);
		granted(read(this.a, "1"));
		assertThat(this.b.awaitWakeUp().ttlMillis()).isEqualTo(CLAIM);
		this.a.release(READ_WRITE, reader(this.a, "1"));
		this.b.release(READ_WRITE, reader(this.b, "1"));
		assertThat(this.c.awaitWakeUp().token()).isEqualTo(this.c.token("1"));
	}

	private static AcquireCommand exclusive(Instance instance, String n) {
		return AcquireCommand.forLock(instance.token(n), LEASE, CLAIM);
	}

	@Test
	@DisplayName("a reader keeps its place among those that wait exclusively: the key is kept for it, and it asks again")
	void readerKeepsItsPlaceAmongExclusive() {
		long fence = granted(this.a.acquire("1")).fence();
		busy(read(this.b, "1"));
		busy(this.c.acquire("1"));
		assertThat(this.a.inspect().waiting()).isEqualTo(1);
		assertThat(this.a.permits(READ_WRITE).waiting()).isEqualTo(2);
		this.a.release("1");
		WakeUp told = this.b.awaitWakeUp();
		assertThat(told).extracting(WakeUp::resource, WakeUp::token, WakeUp::ttlMillis)
			.containsExactly(READ_WRITE, this.b.token("1"), 0L);
		assertThat(told.fence()).isGreaterThan(fence);
		KeyState kept = this.a.inspect();
		assertThat(kept).extracting(KeyState::owner, KeyState::shared, KeyState::ttlMillis, KeyState::waiting)
			.containsExactly(null, false, 0L, 1);
		assertThat(busy(this.a.acquire("2")).foreign()).isTrue();
		assertThat(busy(this.c.acquire("1")).foreign()).isTrue();
		assertThat(granted(read(this.b, "1")).fence()).isGreaterThan(told.fence());
		assertThat(this.c.wakeUps).isEmpty();
		this.b.release(READ_WRITE, reader(this.b, "1"));
		WakeUp woken = this.c.awaitWakeUp();
		assertThat(woken).extracting(WakeUp::resource, WakeUp::token, WakeUp::ttlMillis)
			.containsExactly(lock(KEY), this.c.token("1"), CLAIM);
		assertThat(this.a.inspect().owner()).isEqualTo(this.c.token("1"));
		assertThat(this.b.permits(READ_WRITE).waiting()).isEqualTo(1);
		this.c.release("1");
		assertThat(this.a.awaitWakeUp().token()).isEqualTo(this.a.token("2"));
		this.a.release("2");
		assertThat(this.a.permits(READ_WRITE).waiting()).isZero();
	}

	@Test
	@DisplayName("one that waits exclusively keeps its place among readers and writers, which do not pass it")
	void exclusiveKeepsItsPlaceAmongReaders() {
		granted(read(this.a, "1"));
		busy(this.c.acquire("1"));
		assertThat(busy(read(this.b, "1")).foreign()).as("to ask again soon").isTrue();
		AcquireCommand unfair = new AcquireCommand(this.b.token("2"), 1, Resource.ALL, false, null, LEASE, CLAIM);
		busy(this.b.attempt(READ_WRITE, unfair));
		assertThat(this.a.permits(READ_WRITE).waiting()).isEqualTo(2);
		this.a.release(READ_WRITE, reader(this.a, "1"));
		WakeUp woken = this.c.awaitWakeUp();
		assertThat(woken).extracting(WakeUp::resource, WakeUp::token, WakeUp::ttlMillis)
			.containsExactly(lock(KEY), this.c.token("1"), CLAIM);
		assertThat(granted(this.c.acquire("1")).fence()).isEqualTo(woken.fence());
		// Behind those that came before, also when it is passed on inside an instance.
		assertThat(busy(this.c.release("1", "2").next()).foreign()).isTrue();
		assertThat(this.b.awaitWakeUp()).extracting(WakeUp::token, WakeUp::ttlMillis)
			.containsExactly(this.b.token("1"), 0L);
		granted(read(this.b, "1"));
		assertThat(this.c.wakeUps).hasSize(1);
		this.b.release(READ_WRITE, reader(this.b, "1"));
		assertThat(this.c.awaitWakeUp(2).token()).isEqualTo(this.c.token("2"));
	}

	@Test
	@DisplayName("a key that is released by force goes to the first, whatever its mode")
	void forcedReleaseKeepsTheOrder() {
		granted(this.a.acquire("1"));
		busy(read(this.b, "1"));
		busy(this.c.acquire("1"));
		assertThat(get(this.c.store.force(lock(KEY), List.of(this.a.token("1"))))).containsExactly(true);
		WakeUp told = this.b.awaitWakeUp();
		assertThat(told).extracting(WakeUp::token, WakeUp::ttlMillis).containsExactly(this.b.token("1"), 0L);
		assertThat(this.a.awaitEnded("1")).isLessThanOrEqualTo(told.fence());
		Granted reader = granted(read(this.b, "1"));
		assertThat(get(this.a.store.force(READ_WRITE, List.of(this.b.token("1"))))).containsExactly(true);
		WakeUp woken = this.c.awaitWakeUp();
		assertThat(woken.token()).isEqualTo(this.c.token("1"));
		assertThat(this.b.awaitEnded("1")).isBetween(reader.fence() + HandOverLimits.STRIDE, woken.fence());
	}

	@Test
	@DisplayName("several of both kinds have their turns in the order in which they came")
	void oneOrderOverKinds() {
		granted(write(this.a, "1"));
		busy(this.a.acquire("2"));
		busy(read(this.b, "3"));
		busy(this.b.acquire("4"));
		busy(write(this.c, "5"));
		busy(read(this.b, "6"));
		this.a.release(READ_WRITE, writer(this.a, "1"));
		assertThat(this.a.awaitWakeUp().token()).isEqualTo(this.a.token("2"));
		this.a.release("2");
		assertThat(this.b.awaitWakeUp()).extracting(WakeUp::token, WakeUp::ttlMillis)
			.containsExactly(this.b.token("3"), 0L);
		granted(read(this.b, "3"));
		this.b.release(READ_WRITE, reader(this.b, "3"));
		assertThat(this.b.awaitWakeUp(2).token()).isEqualTo(this.b.token("4"));
		this.b.release("4");
		assertThat(this.c.awaitWakeUp()).extracting(WakeUp::token, WakeUp::ttlMillis)
			.containsExactly(this.c.token("5"), 0L);
		granted(write(this.c, "5"));
		this.c.release(READ_WRITE, writer(this.c, "5"));
		assertThat(this.b.awaitWakeUp(3)).extracting(WakeUp::token, WakeUp::ttlMillis)
			.containsExactly(this.b.token("6"), CLAIM);
		this.b.release(READ_WRITE, reader(this.b, "6"));
		assertThat(this.a.inspect()).extracting(KeyState::owner, KeyState::waiting).containsExactly(null, 0);
		assertThat(this.a.permits(READ_WRITE)).isEqualTo(UNUSED);
		granted(this.a.attempt(lock(KEY), exclusive(this.a, "7")));
	}

	@Test
	@DisplayName("who gives up reading while the key is kept for it lets the next have it")
	void cancelsKeptKey() {
		granted(this.a.acquire("1"));
		busy(read(this.b, "1"));
		busy(this.c.acquire("1"));
		this.a.release("1");
		this.b.awaitWakeUp();
		this.b.release(READ_WRITE, reader(this.b, "1"));
		assertThat(this.c.awaitWakeUp().token()).isEqualTo(this.c.token("1"));
		this.c.release("1");
		assertThat(this.a.inspect()).extracting(KeyState::owner, KeyState::waiting).containsExactly(null, 0);
	}

	@Test
	@DisplayName("who gives up reading behind an exclusive lock leaves its place to the next reader, and nothing in the queue")
	void leavesPlaceBehindExclusive() {
		granted(this.a.acquire("1"));
		busy(write(this.b, "1"));
		busy(this.c.acquire("1"));
		busy(read(this.b, "2"));
		this.b.release(READ_WRITE, writer(this.b, "1"));
		this.a.release("1");
		// The reader came after it.
		assertThat(this.c.awaitWakeUp().token()).isEqualTo(this.c.token("1"));
		this.b.release(READ_WRITE, reader(this.b, "2"));
		this.c.release("1");
		assertThat(this.a.permits(READ_WRITE)).isEqualTo(UNUSED);
		granted(this.a.attempt(lock(KEY), exclusive(this.a, "2")));
	}

	@Test
	@DisplayName("a key that is kept for a reader which does not come is free for the next after its claim")
	void keptForItsClaim() {
		granted(this.a.acquire("1"));
		busy(this.b.acquire(READ_WRITE,
				new AcquireCommand(this.b.token("1"), 1, Resource.ALL, true, null, LEASE, SHORT)));
		this.a.release("1");
		this.b.awaitWakeUp();
		assertThat(busy(this.c.attempt(lock(KEY), exclusive(this.c, "1"))).ownerTtlMillis()).isBetween(1L, SHORT);
		elapse(MORE_THAN_SHORT);
		granted(this.c.attempt(lock(KEY), exclusive(this.c, "1")));
	}

	@Test
	@DisplayName("a reader that polls has its turn, too, and one that is gone does not keep the key")
	void keptForThoseThatAreThere() {
		Instance polling = newPollingInstance();
		granted(this.a.acquire("1"));
		busy(read(polling, "1"));
		busy(this.c.acquire("1"));
		this.a.release("1");
		busy(this.c.acquire("1"));
		granted(read(polling, "1"));
		busy(read(this.b, "1"));
		busy(write(this.b, "2"));
		polling.release(READ_WRITE, reader(polling, "1"));
		this.c.awaitWakeUp();
		if (seesWhoIsGone()) {
			busy(this.a.acquire("2"));
			leave(this.b);
			this.c.release("1");
			// Not known to be in vain before it asks, as only the first is.
			this.a.awaitWakeUp();
		}
	}

	@Test
	@DisplayName("a renewal of what is not held leaves a key alone that is kept for a reader")
	void keptThroughRenewals() {
		granted(this.a.acquire("1"));
		busy(read(this.b, "1"));
		busy(this.c.acquire("1"));
		this.a.release("1");
		this.b.awaitWakeUp();
		assertThat(renew(this.a, READ_WRITE, "9", 1, LEASE)).isFalse();
		assertThat(busy(this.c.acquire("1")).foreign()).as("still kept").isTrue();
		granted(read(this.b, "1"));
	}

	@Test
	@DisplayName("one that waits exclusively and is gone does not keep readers from the key")
	void readsAfterGoneExclusive() {
		granted(read(this.a, "1"));
		busy(this.c.acquire("1"));
		busy(read(this.b, "1"));
		if (seesWhoIsGone()) {
			leave(this.c);
			this.a.release(READ_WRITE, reader(this.a, "1"));
			assertThat(this.b.awaitWakeUp()).extracting(WakeUp::token, WakeUp::ttlMillis)
				.containsExactly(this.b.token("1"), CLAIM);
		}
	}

	@Test
	@DisplayName("a reader behind one that is gone has its turn in the order of both kinds")
	void readerBehindGoneReader() {
		if (!seesWhoIsGone()) {
			return;
		}
		granted(this.a.acquire("1"));
		busy(read(this.b, "1"));
		busy(read(this.c, "1"));
		leave(this.b);
		busy(this.a.acquire("2"));
		busy(read(this.c, "1"));
		this.a.release("1");
		assertThat(this.c.awaitWakeUp()).extracting(WakeUp::token, WakeUp::ttlMillis)
			.containsExactly(this.c.token("1"), 0L);
		granted(read(this.c, "1"));
		this.c.release(READ_WRITE, reader(this.c, "1"));
		assertThat(this.a.awaitWakeUp().token()).isEqualTo(this.a.token("2"));
	}

	@Test
	@DisplayName("one that waits exclusively and is gone does not keep readers from others, though more wait as it did")
	void readerBehindGoneExclusive() {
		if (!seesWhoIsGone()) {
			return;
		}
		Instance gone = newInstance();
		granted(read(this.a, "1"));
		busy(gone.acquire("1"));
		busy(read(this.c, "1"));
		busy(this.b.acquire("1"));
		leave(gone);
		granted(read(this.c, "1"));
		busy(read(this.a, "2"));
		this.a.release(READ_WRITE, reader(this.a, "1"));
		this.c.release(READ_WRITE, reader(this.c, "1"));
		assertThat(this.b.awaitWakeUp().token()).isEqualTo(this.b.token("1"));
	}

	@Test
	@DisplayName("readers ask again soon, and have the key, when one gives up that waited exclusively before them")
	void readerBehindCancelledExclusive() {
		granted(read(this.a, "1"));
		busy(this.b.acquire("1"));
		assertThat(busy(read(this.c, "1")).foreign()).as("to ask again soon").isTrue();
		this.b.release("1");
		granted(read(this.c, "1"));
		assertThat(busy(write(this.b, "2")).foreign()).isFalse();
	}

	@Test
	@DisplayName("what another client wrote is not taken for a key that is kept, whatever it looks like")
	void foreignOwnerThatLooksLikeReserved() {
		putForeign(KEY, "cafe:1234:r", Duration.ofMillis(LEASE));
		assertThat(busy(read(this.a, "1")).foreign()).isTrue();
		assertThat(this.a.inspect().owner()).isEqualTo("cafe:1234:r");
	}

	@Test
	@DisplayName("a reader that begins to poll behind an exclusive lock has one place as before")
	void pollsBehindExclusive() {
		Instance polling = newPollingInstance();
		granted(this.a.acquire("1"));
		busy(read(this.b, "1"));
		busy(polling.acquire(READ_WRITE, reader(this.b, "1")));
		this.a.release("1");
		granted(read(this.b, "1"));
		this.b.release(READ_WRITE, reader(this.b, "1"));
		granted(this.a.attempt(lock(KEY), exclusive(this.a, "2")));
		this.a.release("2");
		granted(this.a.attempt(lock(KEY), exclusive(this.a, "3")));
	}

}
