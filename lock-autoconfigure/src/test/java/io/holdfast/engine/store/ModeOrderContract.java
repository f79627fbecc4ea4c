package io.holdfast.engine.store;

import java.time.Duration;
import java.util.List;
import java.util.Objects;

import io.holdfast.engine.store.LeaseStore.AcquireCommand;
import io.holdfast.engine.store.LeaseStore.AcquireReply;
import io.holdfast.engine.store.LeaseStore.AcquireReply.Busy;
import io.holdfast.engine.store.LeaseStore.AcquireReply.Granted;
import io.holdfast.engine.store.LeaseStore.ReleaseReply;
import io.holdfast.engine.store.LeaseStore.Renewal;
import io.holdfast.engine.store.LeaseStore.Standing;
import io.holdfast.engine.store.LeaseStore.TokenState;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import static io.holdfast.engine.Locks.lock;
import static io.holdfast.engine.Locks.renewal;
import static org.assertj.core.api.Assertions.assertThat;

/**
 * Contract of every {@link LeaseStore} for both modes of a lock: exclusion and order of
 * readers and exclusive owners.
 */
public abstract class ModeOrderContract extends PermitStoreContract {

	protected static final Resource LOCK = lock(KEY);

	protected static AcquireCommand reader(Instance instance, String n) {
		return Commands.forReader(instance.token(n), LEASE, CLAIM);
	}

	protected static AcquireCommand exclusive(Instance instance, String n) {
		return Commands.forLock(instance.token(n), LEASE, CLAIM);
	}

	protected static AcquireReply read(Instance instance, String n) {
		return instance.acquire(LOCK, reader(instance, n));
	}

	private static boolean release(Instance instance, AcquireCommand ended) {
		return instance.release(LOCK, ended);
	}

	private static boolean renewReader(Instance instance, String n, long leaseMillis) {
		return instance.renew(List.of(new Renewal(LOCK, instance.token(n), 1, leaseMillis))).get(0);
	}

	private List<String> readers() {
		return get(this.a.store.inspect(LOCK, 10, 0)).holders()
			.stream()
			.filter((holder) -> holder.permits() == 1)
			.map(TokenState::token)
			.sorted()
			.toList();
	}

	// Exclusion

	@Test
	@DisplayName("A key has any number of readers, or a single exclusive owner")
	void readersOrOwner() {
		Granted first = granted(read(this.a, "1"));
		Granted second = granted(read(this.b, "1"));
		assertThat(second.fence()).isGreaterThanOrEqualTo(first.fence() + 64);
		assertThat(granted(read(this.a, "1")).fence()).as("after a lost reply").isEqualTo(second.fence());
		Busy busy = busy(this.c.attempt(LOCK, exclusive(this.c, "1")));
		assertThat(busy.fence()).isEqualTo(second.fence());
		assertThat(busy.ownerTtlMillis()).isBetween(LEASE - 5000, LEASE);
		assertThat(busy.foreign()).isFalse();
		assertThat(busy.owner()).isNull();
		assertThat(release(this.a, reader(this.a, "1"))).isTrue();
		busy(this.c.attempt(LOCK, exclusive(this.c, "1")));
		assertThat(release(this.b, reader(this.b, "1"))).isTrue();
		Granted third = granted(this.c.attempt(LOCK, exclusive(this.c, "1")));
		assertThat(third.fence()).isGreaterThanOrEqualTo(second.fence() + 64);
		assertThat(busy(this.a.attempt(LOCK, exclusive(this.a, "2"))).owner()).isEqualTo(this.c.id);
		assertThat(busy(this.a.attempt(LOCK, reader(this.a, "3"))).owner()).isEqualTo(this.c.id);
		assertThat(this.c.release("1").released()).isTrue();
		assertThat(this.a.inspect()).extracting(Standing::owner, Standing::readerCount, Standing::waiting)
			.containsExactly(null, 0, 0);
	}

	@Test
	@DisplayName("An exclusive waiter follows released and expired readers, and the next token waits behind")
	void ownerFollowsEndedReaders() {
		granted(read(this.a, "1"));
		granted(this.b.acquire(LOCK, brief(reader(this.b, "1"))));
		busy(this.c.acquire("1"));
		elapse(MORE_THAN_SHORT);
		ReleaseReply released = get(this.a.store.release(LOCK, reader(this.a, "1"), exclusive(this.a, "2")));
		assertThat(released.released()).isTrue();
		Busy behind = busy(Objects.requireNonNull(released.next()));
		assertThat(behind.owner()).isEqualTo(this.c.id);
		assertThat(this.c.awaitWakeUp().token()).isEqualTo(this.c.token("1"));
		assertThat(this.a.inspect()).extracting(Standing::owner, Standing::readerCount, Standing::waiting)
			.containsExactly(this.c.token("1"), 0, 1);
	}

	@Test
	@DisplayName("Readers exclude an exclusive owner until the end of the last reader")
	void readersExcludeOwners() {
		Granted shared = granted(this.a.acquire(LOCK, Commands.forReader(this.a.token("1"), 2 * LEASE, CLAIM)));
		granted(this.b.acquire(LOCK, brief(reader(this.b, "1"))));
		Busy busy = busy(this.c.acquire("1"));
		assertThat(busy.fence()).isGreaterThan(shared.fence());
		// The key is free at the end of the last reader.
		assertThat(busy.ownerTtlMillis()).isBetween(LEASE, 2 * LEASE);
		Standing state = this.c.inspect();
		assertThat(state).extracting(Standing::owner, Standing::readerCount, Standing::fence, Standing::waiting)
			.containsExactly(null, 2, busy.fence(), 1);
		assertThat(state.ttlMillis()).isBetween(LEASE, 2 * LEASE);
		assertThat(get(this.a.store.renew(List.of(renewal(KEY, this.a.token("1"), LEASE))))).containsExactly(false);
		ReleaseReply ended = this.c.release("1", "2");
		assertThat(ended.released()).isFalse();
		busy(ended.next());
		assertThat(this.c.inspect().waiting()).isEqualTo(1);
		release(this.a, reader(this.a, "1"));
		release(this.b, reader(this.b, "1"));
		assertThat(this.c.awaitWakeUp().token()).isEqualTo(this.c.token("2"));
		assertThat(granted(this.c.acquire("2")).fence()).isGreaterThan(busy.fence());
		assertThat(this.c.inspect().waiting()).isZero();
	}

	@Test
	@DisplayName("Each reader has its own lease")
	void readersEndAlone() {
		granted(this.a.acquire(LOCK, brief(reader(this.a, "1"))));
		granted(read(this.b, "1"));
		elapse(MORE_THAN_SHORT);
		assertThat(renewReader(this.a, "1", LEASE)).isFalse();
		assertThat(renewReader(this.b, "1", 2 * LEASE)).isTrue();
		assertThat(release(this.a, reader(this.a, "1"))).isFalse();
		assertThat(readers()).containsExactly(this.b.token("1"));
		assertThat(this.a.inspect().ttlMillis()).isGreaterThan(LEASE);
		busy(this.c.acquire("1"));
	}

	@Test
	@DisplayName("Renewals of readers and owners are answered in order, with lost readers among held readers")
	void renewsModesTogether() {
		granted(read(this.a, "1"));
		granted(read(this.a, "2"));
		granted(this.a.acquire(lock("another"), exclusive(this.a, "3")));
		assertThat(this.a.renew(List.of(new Renewal(LOCK, this.a.token("1"), 1, 2 * LEASE),
				new Renewal(lock("another"), this.a.token("3"), Resource.ALL, 2 * LEASE),
				new Renewal(LOCK, this.a.token("4"), 1, 2 * LEASE),
				new Renewal(LOCK, this.a.token("2"), 1, 3 * LEASE))))
			.containsExactly(true, true, false, true);
		assertThat(this.a.inspect().ttlMillis()).isBetween(2 * LEASE, 3 * LEASE);
	}

	@Test
	@DisplayName("An expired reader among readers excludes nothing and holds nothing")
	void endedAmongReaders() {
		granted(this.a.acquire(LOCK, brief(reader(this.a, "1"))));
		granted(read(this.b, "1"));
		busy(this.c.acquire("1"));
		elapse(MORE_THAN_SHORT);
		busy(read(this.a, "1"));
		assertThat(release(this.b, reader(this.b, "1"))).isTrue();
		assertThat(this.c.awaitWakeUp().token()).isEqualTo(this.c.token("1"));
	}

	@Test
	@DisplayName("A request behind readers learns their number, also as the next token of a release")
	void tellsReaders() {
		granted(this.a.acquire(LOCK, brief(reader(this.a, "1"))));
		granted(read(this.b, "1"));
		granted(read(this.b, "2"));
		assertThat(busy(this.c.attempt(LOCK, exclusive(this.c, "1"))).held()).isEqualTo(3);
		elapse(MORE_THAN_SHORT);
		assertThat(busy(this.c.attempt(LOCK, exclusive(this.c, "1"))).held()).isEqualTo(2);
		assertThat(busy(this.c.acquire("1")).held()).isEqualTo(2);
		assertThat(busy(read(this.a, "2"))).extracting(Busy::held, Busy::limit, Busy::owner)
			.containsExactly(2, 0, null);
		assertThat(busy(this.c.release("1", "2").next()).held()).isEqualTo(2);
		assertThat(release(this.a, reader(this.a, "2"))).isFalse();
		assertThat(release(this.b, reader(this.b, "1"))).isTrue();
		assertThat(release(this.b, reader(this.b, "2"))).isTrue();
		assertThat(this.c.awaitWakeUp().token()).isEqualTo(this.c.token("2"));
		assertThat(busy(read(this.a, "3"))).extracting(Busy::held, Busy::owner).containsExactly(0, this.c.id);
		assertThat(busy(this.b.attempt(LOCK, exclusive(this.b, "3"))).held()).isZero();
	}

	@Test
	@DisplayName("Fences grow over both modes of a key")
	void fencesGrowOverModes() {
		long last = 0;
		for (int i = 0; i < 5; i++) {
			Granted exclusive = granted(this.a.acquire("" + i));
			assertThat(exclusive.fence()).isGreaterThanOrEqualTo(last + 64);
			this.a.release("" + i);
			last = granted(read(this.b, "" + i)).fence();
			assertThat(last).isGreaterThanOrEqualTo(exclusive.fence() + 64);
			assertThat(this.a.inspect().fence()).isEqualTo(last);
			release(this.b, reader(this.b, "" + i));
		}
	}

	@Test
	@DisplayName("A foreign owner excludes readers, with and without an end")
	void foreignOwnerExcludes() {
		putForeign(KEY, "stranger", Duration.ofMillis(SHORT));
		assertThat(busy(this.b.attempt(LOCK, reader(this.b, "1"))).foreign()).isTrue();
		Busy busy = busy(read(this.a, "1"));
		assertThat(busy.foreign()).isTrue();
		assertThat(busy.owner()).isNull();
		assertThat(busy.ownerTtlMillis()).isBetween(0L, SHORT);
		busy(read(this.b, "1"));
		busy(this.c.acquire("1"));
		elapse(MORE_THAN_SHORT);
		// Neighbouring readers are granted together, too.
		assertThat(granted(read(this.a, "1")).fence()).isGreaterThan(busy.fence());
		assertThat(this.b.awaitWakeUp().ttlMillis()).isEqualTo(CLAIM);
		release(this.a, reader(this.a, "1"));
		release(this.b, reader(this.b, "1"));
		this.c.awaitWakeUp();
		this.c.release("1");
		putForeign(KEY, "stranger", null);
		assertThat(busy(read(this.a, "2")).ownerTtlMillis()).isEqualTo(-1);
		assertThat(this.a.inspect().owner()).isEqualTo("stranger");
	}

	@Test
	@DisplayName("A foreign value is not taken for a reader, even with the text of a reader's token")
	void foreignOwnerThatLooksLikeReader() {
		putForeign(KEY, this.b.token("1") + ":r", Duration.ofMillis(LEASE));
		assertThat(busy(read(this.b, "1")).foreign()).isTrue();
		assertThat(renewReader(this.b, "1", LEASE)).isFalse();
		assertThat(release(this.b, reader(this.b, "1"))).isFalse();
		assertThat(this.a.inspect().owner()).isEqualTo(this.b.token("1") + ":r");
	}

	// Order

	@Test
	@DisplayName("Neighbouring readers are granted together, and an exclusive owner between readers alone")
	void grantsNeighbouringReadersTogether() {
		granted(this.a.acquire("1"));
		busy(read(this.b, "1"));
		busy(read(this.c, "1"));
		busy(this.b.acquire("2"));
		busy(read(this.c, "2"));
		this.a.release("1");
		WakeUp woken = this.b.awaitWakeUp();
		assertThat(woken).extracting(WakeUp::resource, WakeUp::token, WakeUp::ttlMillis)
			.containsExactly(LOCK, this.b.token("1"), CLAIM);
		assertThat(this.c.awaitWakeUp().fence()).isGreaterThanOrEqualTo(woken.fence() + 64);
		assertThat(this.a.inspect()).extracting(Standing::readerCount, Standing::waiting).containsExactly(2, 2);
		release(this.b, reader(this.b, "1"));
		release(this.c, reader(this.c, "1"));
		assertThat(this.b.awaitWakeUp(2).token()).isEqualTo(this.b.token("2"));
		assertThat(this.a.inspect()).extracting(Standing::owner, Standing::waiting)
			.containsExactly(this.b.token("2"), 1);
		this.b.release("2");
		assertThat(this.c.awaitWakeUp(2).token()).isEqualTo(this.c.token("2"));
	}

	@Test
	@DisplayName("No reader passes an exclusive waiter, and readers follow after its cancellation")
	void noReaderPassesOwner() {
		granted(read(this.a, "1"));
		busy(this.b.acquire("1"));
		busy(read(this.c, "1"));
		busy(this.a.attempt(LOCK, reader(this.a, "2")));
		this.b.release("1");
		this.c.awaitWakeUp();
		assertThat(readers()).containsExactlyInAnyOrder(this.a.token("1"), this.c.token("1"));
	}

	@Test
	@DisplayName("A release brings in a next token of the other mode, in order")
	void bringsInOtherMode() {
		granted(this.a.acquire("1"));
		granted(this.a.release(LOCK, exclusive(this.a, "1"), reader(this.a, "2")).next());
		busy(this.b.acquire("1"));
		busy(this.a.release(LOCK, reader(this.a, "2"), reader(this.a, "3")).next());
		assertThat(this.b.awaitWakeUp().token()).isEqualTo(this.b.token("1"));
		this.b.release("1");
		assertThat(this.a.awaitWakeUp().token()).isEqualTo(this.a.token("3"));
		granted(this.a.release(LOCK, reader(this.a, "3"), exclusive(this.a, "4")).next());
	}

	@Test
	@DisplayName("A cancelled waiter leaves its place to the next token only if both are exclusive")
	void leavesPlace() {
		granted(this.a.acquire("1"));
		busy(this.b.acquire("1"));
		busy(read(this.b, "2"));
		busy(this.c.acquire("1"));
		busy(this.b.release("1", "3").next());
		busy(this.b.release(LOCK, reader(this.b, "2"), reader(this.b, "4")).next());
		this.a.release("1");
		assertThat(this.b.awaitWakeUp().token()).isEqualTo(this.b.token("3"));
		this.b.release("3");
		assertThat(this.c.awaitWakeUp().token()).isEqualTo(this.c.token("1"));
		this.c.release("1");
		assertThat(this.b.awaitWakeUp(2).token()).isEqualTo(this.b.token("4"));
	}

	@Test
	@DisplayName("Waiters of both modes are served in the order of their arrival")
	void commonOrder() {
		granted(this.a.acquire("1"));
		busy(this.a.acquire("2"));
		busy(read(this.b, "3"));
		busy(this.b.acquire("4"));
		busy(this.c.acquire("5"));
		busy(read(this.b, "6"));
		this.a.release("1");
		assertThat(this.a.awaitWakeUp().token()).isEqualTo(this.a.token("2"));
		this.a.release("2");
		assertThat(this.b.awaitWakeUp().token()).isEqualTo(this.b.token("3"));
		release(this.b, reader(this.b, "3"));
		assertThat(this.b.awaitWakeUp(2).token()).isEqualTo(this.b.token("4"));
		this.b.release("4");
		assertThat(this.c.awaitWakeUp().token()).isEqualTo(this.c.token("5"));
		this.c.release("5");
		assertThat(this.b.awaitWakeUp(3).token()).isEqualTo(this.b.token("6"));
		release(this.b, reader(this.b, "6"));
		assertThat(this.a.inspect()).extracting(Standing::owner, Standing::readerCount, Standing::waiting)
			.containsExactly(null, 0, 0);
		granted(this.a.attempt(LOCK, exclusive(this.a, "7")));
	}

	@Test
	@DisplayName("A forced release hands the key to the first waiters, of any mode")
	void forcedReleaseKeepsTheOrder() {
		granted(this.a.acquire("1"));
		busy(read(this.b, "1"));
		busy(read(this.b, "2"));
		busy(this.c.acquire("1"));
		assertThat(get(this.c.store.force(LOCK, List.of(this.a.token("1"))))).containsExactly(true);
		WakeUp first = this.b.awaitWakeUp();
		assertThat(first).extracting(WakeUp::token, WakeUp::ttlMillis).containsExactly(this.b.token("1"), CLAIM);
		assertThat(this.a.awaitEnded("1")).isLessThanOrEqualTo(first.fence());
		assertThat(get(this.a.store.force(LOCK, List.of(this.b.token("1"), this.b.token("2"), this.b.token("3")))))
			.containsExactly(true, true, false);
		WakeUp woken = this.c.awaitWakeUp();
		assertThat(woken.token()).isEqualTo(this.c.token("1"));
		assertThat(this.b.awaitEnded("2")).isBetween(first.fence() + HandOverLimits.STRIDE, woken.fence());
		assertThat(this.b.awaitEnded("1")).isLessThanOrEqualTo(woken.fence());
	}

	@Test
	@DisplayName("A release also wakes up waiters of its own instance")
	void tellsOwnWaiters() {
		granted(this.a.acquire("1"));
		busy(read(this.a, "2"));
		busy(read(this.b, "1"));
		busy(read(this.a, "3"));
		this.a.release("1");
		assertThat(this.a.awaitWakeUp(2).token()).isEqualTo(this.a.token("3"));
		assertThat(this.b.awaitWakeUp().ttlMillis()).isEqualTo(CLAIM);
		assertThat(readers()).hasSize(3);
	}

	// Absent waiters

	@Test
	@DisplayName("An absent exclusive waiter does not block readers, also before further exclusive waiters")
	void readerBehindAbsentOwner() {
		if (!detectsAbsence()) {
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
		release(this.a, reader(this.a, "1"));
		release(this.c, reader(this.c, "1"));
		assertThat(this.b.awaitWakeUp().token()).isEqualTo(this.b.token("1"));
	}

	@Test
	@DisplayName("A polling exclusive waiter that stops asking no longer blocks readers")
	void readerBehindSilentOwner() {
		Instance polling = newPollingInstance();
		granted(read(this.a, "1"));
		busy(polling.acquire(LOCK, brief(exclusive(polling, "1"))));
		busy(read(this.b, "1"));
		for (int i = 0; i < 3; i++) {
			elapse(STALE.dividedBy(2));
			busy(polling.acquire(LOCK, brief(exclusive(polling, "1"))));
			busy(read(this.b, "1"));
		}
		elapse(STALE);
		granted(read(this.b, "1"));
	}

	@Test
	@DisplayName("A polling exclusive waiter gets the key after the readers, also without recent questions")
	void silentOwnerIsServed() {
		Instance polling = newPollingInstance();
		granted(read(this.a, "1"));
		for (int i = 0; i < 2; i++) {
			busy(polling.acquire(LOCK, brief(exclusive(polling, "1"))));
		}
		// This waiter keeps the queue from expiring.
		busy(this.b.acquire("1"));
		elapse(STALE);
		assertThat(release(this.a, reader(this.a, "1"))).isTrue();
		assertThat(this.a.inspect().owner()).isEqualTo(polling.token("1"));
	}

}
