package io.holdfast.engine.store;

import java.time.Duration;
import java.util.List;

import io.holdfast.engine.store.LeaseStore.AcquireCommand;
import io.holdfast.engine.store.LeaseStore.AcquireReply;
import io.holdfast.engine.store.LeaseStore.AcquireReply.Busy;
import io.holdfast.engine.store.LeaseStore.AcquireReply.Granted;
import io.holdfast.engine.store.LeaseStore.KeyState;
import io.holdfast.engine.store.LeaseStore.PermitState;
import io.holdfast.engine.store.LeaseStore.ReleaseReply;
import io.holdfast.engine.store.Resource.Kind;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import static io.holdfast.engine.Locks.lock;
import static io.holdfast.engine.Locks.renewal;
import static org.assertj.core.api.Assertions.assertThat;

/**
 * What every {@link LeaseStore} must do with permits: those of semaphores, held, waited
 * for and limited, and in this class those of read-write locks and how they exclude
 * exclusive locks.
 */
public abstract class PermitStoreContract extends PermitSuccessionContract {

	protected static final Resource READ_WRITE = new Resource(Kind.READ_WRITE, KEY);

	protected static final PermitState UNUSED = new PermitState(null, 0, 0, 0, List.of(), 0);

	protected static AcquireCommand reader(Instance instance, String n) {
		return reader(instance, n, null);
	}

	private static AcquireCommand reader(Instance instance, String n, @Nullable String under) {
		return new AcquireCommand(instance.token(n), 1, Resource.ALL, true, under, LEASE, CLAIM);
	}

	protected static AcquireCommand writer(Instance instance, String n) {
		return ask(instance, n, Resource.ALL, Resource.ALL);
	}

	protected static AcquireReply read(Instance instance, String n) {
		return instance.acquire(READ_WRITE, reader(instance, n));
	}

	protected static AcquireReply write(Instance instance, String n) {
		return instance.acquire(READ_WRITE, writer(instance, n));
	}

	@Test
	@DisplayName("many read at the same time, and none writes; one writes, and no other reads or writes")
	void readersOrOneWriter() {
		Granted first = granted(read(this.a, "1"));
		Granted second = granted(read(this.b, "1"));
		assertThat(second.fence()).isGreaterThanOrEqualTo(first.fence() + 64);
		Busy busy = busy(this.c.attempt(READ_WRITE, writer(this.c, "1")));
		assertThat(busy.fence()).isEqualTo(second.fence());
		assertThat(busy.ownerTtlMillis()).isBetween(LEASE - 5000, LEASE);
		assertThat(busy.foreign()).isFalse();
		assertThat(this.a.release(READ_WRITE, reader(this.a, "1"))).isTrue();
		busy(this.c.attempt(READ_WRITE, writer(this.c, "1")));
		assertThat(this.b.release(READ_WRITE, reader(this.b, "1"))).isTrue();
		Granted third = granted(this.c.attempt(READ_WRITE, writer(this.c, "1")));
		assertThat(third.fence()).isGreaterThanOrEqualTo(second.fence() + 64);
		busy(this.a.attempt(READ_WRITE, writer(this.a, "2")));
		busy(this.a.attempt(READ_WRITE, reader(this.a, "3")));
		assertThat(this.a.permits(READ_WRITE).used()).isEqualTo(Resource.ALL);
		assertThat(this.c.release(READ_WRITE, writer(this.c, "1"))).isTrue();
		assertThat(this.a.permits(READ_WRITE)).isEqualTo(UNUSED);
	}

	@Test
	@DisplayName("fences grow over all modes")
	void fencesGrowOverModes() {
		Resource exclusive = lock(READ_WRITE.key());
		AcquireCommand ask = AcquireCommand.forLock(this.a.token("1"), LEASE, CLAIM);
		Granted first = granted(this.a.acquire(exclusive, ask));
		this.a.release(exclusive, ask);
		Granted written = granted(write(this.b, "1"));
		assertThat(written.fence()).isGreaterThanOrEqualTo(first.fence() + 64);
		this.b.release(READ_WRITE, writer(this.b, "1"));
		assertThat(granted(this.a.acquire(exclusive, AcquireCommand.forLock(this.a.token("2"), LEASE, CLAIM))).fence())
			.isGreaterThanOrEqualTo(written.fence() + 64);
	}

	@Test
	@DisplayName("readers that stand together are let in together, a writer between readers alone")
	void letsNeighbouringReadersIn() {
		granted(write(this.a, "1"));
		busy(read(this.b, "1"));
		busy(read(this.c, "1"));
		busy(write(this.b, "2"));
		busy(read(this.c, "2"));
		this.a.release(READ_WRITE, writer(this.a, "1"));
		assertThat(this.b.awaitWakeUp().resource()).isEqualTo(READ_WRITE);
		assertThat(this.c.awaitWakeUp().fence()).isGreaterThanOrEqualTo(this.b.awaitWakeUp().fence() + 64);
		PermitState state = this.a.permits(READ_WRITE);
		assertThat(state).extracting(PermitState::used, PermitState::waiting).containsExactly(2, 2);
		this.b.release(READ_WRITE, reader(this.b, "1"));
		this.c.release(READ_WRITE, reader(this.c, "1"));
		assertThat(this.b.awaitWakeUp(2).token()).isEqualTo(this.b.token("2"));
		state = this.a.permits(READ_WRITE);
		assertThat(state).extracting(PermitState::used, PermitState::waiting).containsExactly(Resource.ALL, 1);
		this.b.release(READ_WRITE, writer(this.b, "2"));
		assertThat(this.c.awaitWakeUp(2).token()).isEqualTo(this.c.token("2"));
	}

	@Test
	@DisplayName("no reader passes a writer that waits; when it gives up, they go on")
	void noReaderPassesWriter() {
		granted(read(this.a, "1"));
		busy(write(this.b, "1"));
		busy(read(this.c, "1"));
		busy(this.a.attempt(READ_WRITE, reader(this.a, "2")));
		this.b.release(READ_WRITE, writer(this.b, "1"));
		this.c.awaitWakeUp();
		assertThat(this.a.permits(READ_WRITE).used()).isEqualTo(2);
	}

	@Test
	@DisplayName("a writer brings in the next with its release, behind readers who wait; not while the key is locked exclusively")
	void writerBringsInNext() {
		Granted first = granted(write(this.a, "1"));
		Granted second = granted(this.a.release(READ_WRITE, writer(this.a, "1"), writer(this.a, "2")).next());
		assertThat(second.fence()).isGreaterThanOrEqualTo(first.fence() + 64);
		busy(read(this.b, "1"));
		busy(this.a.release(READ_WRITE, writer(this.a, "2"), writer(this.a, "3")).next());
		assertThat(this.b.awaitWakeUp().fence()).isGreaterThanOrEqualTo(second.fence() + 64);
		assertThat(holders(READ_WRITE)).containsExactly(this.b.token("1") + " 1");
		this.b.release(READ_WRITE, reader(this.b, "1"));
		assertThat(this.a.awaitWakeUp().token()).isEqualTo(this.a.token("3"));
		this.a.release(READ_WRITE, writer(this.a, "3"));
		granted(this.c.acquire("1"));
		busy(write(this.a, "4"));
		assertThat(busy(this.a.release(READ_WRITE, writer(this.a, "4"), writer(this.a, "5")).next()).foreign())
			.isTrue();
		assertThat(this.a.permits(READ_WRITE).waiting()).isEqualTo(1);
	}

	@Test
	@DisplayName("each reader has a lease of its own and dies alone")
	void readersEndAlone() {
		granted(this.a.acquire(READ_WRITE, brief(reader(this.a, "1"))));
		granted(read(this.b, "1"));
		elapse(MORE_THAN_SHORT);
		assertThat(renew(this.a, READ_WRITE, "1", 1, LEASE)).isFalse();
		assertThat(renew(this.b, READ_WRITE, "1", 1, 2 * LEASE)).isTrue();
		assertThat(holders(READ_WRITE)).containsExactly(this.b.token("1") + " 1");
		busy(write(this.c, "1"));
	}

	@Test
	@DisplayName("a writer may read, too, although others wait, and keeps that when it has given up writing")
	void readsUnderWriter() {
		granted(write(this.a, "1"));
		busy(write(this.b, "1"));
		AcquireCommand under = reader(this.a, "2", this.a.token("1"));
		Granted granted = granted(this.a.acquire(READ_WRITE, under));
		assertThat(granted.ttlMillis()).isBetween(LEASE - 1000, LEASE);
		granted(this.a.acquire(READ_WRITE, under));
		PermitState state = this.a.permits(READ_WRITE);
		assertThat(state).extracting(PermitState::used, PermitState::holderCount, PermitState::waiting)
			.containsExactly(Resource.ALL + 1, 2, 1);
		assertThat(this.a.release(READ_WRITE, writer(this.a, "1"))).isTrue();
		assertThat(holders(READ_WRITE)).containsExactly(this.a.token("2") + " 1");
		busy(read(this.c, "1"));
		assertThat(this.a.release(READ_WRITE, under)).isTrue();
		assertThat(this.b.awaitWakeUp().fence()).isGreaterThan(granted.fence());
		assertThat(holders(READ_WRITE)).containsExactly(this.b.token("1") + " " + Resource.ALL);
	}

	@Test
	@DisplayName("no reader comes under what is not a writer's, or no longer")
	void readsUnderWriterOnly() {
		granted(this.a.acquire(READ_WRITE, brief(writer(this.a, "1"))));
		busy(this.b.attempt(READ_WRITE, reader(this.b, "1", this.b.token("2"))));
		elapse(MORE_THAN_SHORT);
		granted(write(this.b, "3"));
		busy(this.a.attempt(READ_WRITE, reader(this.a, "2", this.a.token("1"))));
		this.b.release(READ_WRITE, writer(this.b, "3"));
		granted(read(this.a, "3"));
		busy(write(this.b, "4"));
		busy(this.a.attempt(READ_WRITE, reader(this.a, "4", this.a.token("3"))));
	}

	@Test
	@DisplayName("fences grow over exclusive locks, readers and writers of one key")
	void fencesGrowOverKinds() {
		long last = 0;
		for (int i = 0; i < 5; i++) {
			Granted exclusive = granted(this.a.acquire("" + i));
			assertThat(exclusive.fence()).isGreaterThanOrEqualTo(last + 64);
			this.a.release("" + i);
			Granted reader = granted(read(this.b, "" + i));
			assertThat(reader.fence()).isGreaterThanOrEqualTo(exclusive.fence() + 64);
			assertThat(this.a.inspect().fence()).isEqualTo(reader.fence());
			this.b.release(READ_WRITE, reader(this.b, "" + i));
			last = granted(write(this.c, "" + i)).fence();
			assertThat(last).isGreaterThanOrEqualTo(reader.fence() + 64);
			this.c.release(READ_WRITE, writer(this.c, "" + i));
		}
	}

	@Test
	@DisplayName("while one has a key exclusively no other reads or writes it, and who waits for that asks again")
	void exclusiveExcludesReadersAndWriters() {
		Granted exclusive = granted(this.a.acquire("1"));
		assertThat(busy(this.b.attempt(READ_WRITE, reader(this.b, "0"))).foreign()).isTrue();
		assertThat(busy(this.b.attempt(READ_WRITE, writer(this.b, "0"))).foreign()).isTrue();
		Busy busy = busy(read(this.b, "1"));
		assertThat(busy.foreign()).isTrue();
		assertThat(busy.fence()).isEqualTo(exclusive.fence());
		assertThat(busy.ownerTtlMillis()).isBetween(LEASE - 5000, LEASE);
		assertThat(busy(write(this.c, "1")).foreign()).isTrue();
		assertThat(busy(this.c.attempt(READ_WRITE, reader(this.c, "2"))).foreign()).isTrue();
		assertThat(renew(this.b, READ_WRITE, "1", 1, LEASE)).isFalse();
		PermitState state = this.b.permits(READ_WRITE);
		assertThat(state).extracting(PermitState::used, PermitState::holderCount, PermitState::waiting)
			.containsExactly(0, 0, 2);
		assertThat(this.b.release(READ_WRITE, reader(this.b, "3"))).isFalse();
		assertThat(this.a.inspect().owner()).isEqualTo(this.a.token("1"));
		assertThat(this.a.release("1").released()).isTrue();
		// Nothing is handed over across kinds; who asks first settles it in their
		// order.
		busy(write(this.c, "1"));
		assertThat(this.b.awaitWakeUp().fence()).isGreaterThan(exclusive.fence());
		assertThat(holders(READ_WRITE)).containsExactly(this.b.token("1") + " 1");
	}

	@Test
	@DisplayName("who gives up waiting behind an exclusive lock leaves only the queue")
	void cancelsBehindExclusive() {
		granted(this.a.acquire("1"));
		busy(write(this.b, "1"));
		busy(read(this.c, "1"));
		assertThat(this.b.release(READ_WRITE, writer(this.b, "1"))).isFalse();
		PermitState state = this.b.permits(READ_WRITE);
		assertThat(state).extracting(PermitState::used, PermitState::waiting).containsExactly(0, 1);
		assertThat(this.c.release(READ_WRITE, reader(this.c, "1"))).isFalse();
		assertThat(this.b.permits(READ_WRITE).waiting()).isZero();
		assertThat(this.a.inspect().owner()).isEqualTo(this.a.token("1"));
	}

	@Test
	@DisplayName("an exclusive lock that ended by time is no longer in the way of readers and writers")
	void exclusiveEndsByTime() {
		granted(this.a.acquireBriefly("1"));
		busy(write(this.b, "1"));
		elapse(MORE_THAN_SHORT);
		granted(write(this.b, "1"));
		assertThat(this.a.renew("1", LEASE)).isFalse();
		assertThat(this.a.release("1").released()).isFalse();
		assertThat(holders(READ_WRITE)).containsExactly(this.b.token("1") + " " + Resource.ALL);
	}

	@Test
	@DisplayName("while a key is read or written no owner has it exclusively, and who waits for that asks again")
	void readersAndWritersExcludeExclusive() {
		Granted shared = granted(this.a.acquire(READ_WRITE,
				new AcquireCommand(this.a.token("1"), 1, Resource.ALL, true, null, 2 * LEASE, CLAIM)));
		granted(this.b.acquire(READ_WRITE, brief(reader(this.b, "1"))));
		Busy busy = busy(this.c.acquire("1"));
		assertThat(busy.foreign()).isTrue();
		assertThat(busy.fence()).isGreaterThan(shared.fence());
		// Free when the last of them ends.
		assertThat(busy.ownerTtlMillis()).isBetween(LEASE, 2 * LEASE);
		KeyState state = this.c.inspect();
		assertThat(state).extracting(KeyState::owner, KeyState::shared, KeyState::fence, KeyState::waiting)
			.containsExactly("", true, busy.fence(), 1);
		assertThat(state.ttlMillis()).isBetween(LEASE, 2 * LEASE);
		assertThat(get(this.a.store.renew(List.of(renewal(KEY, this.a.token("1"), LEASE))))).containsExactly(false);
		assertThat(this.a.release("1")).isEqualTo(new ReleaseReply(false, null));
		ReleaseReply passedOn = this.c.release("1", "2");
		assertThat(passedOn.released()).isFalse();
		assertThat(busy(passedOn.next()).foreign()).isTrue();
		assertThat(this.c.inspect().waiting()).isEqualTo(1);
		assertThat(this.a.permits(READ_WRITE).used()).isEqualTo(2);
		this.a.release(READ_WRITE, reader(this.a, "1"));
		this.b.release(READ_WRITE, reader(this.b, "1"));
		assertThat(this.c.inspect().shared()).isFalse();
		assertThat(granted(this.c.acquire("2")).fence()).isGreaterThan(busy.fence());
		assertThat(this.c.inspect().waiting()).isZero();
	}

	@Test
	@DisplayName("readers and writers whose leases ended are no longer in the way of exclusive locks")
	void readersAndWritersEndByTime() {
		granted(this.a.acquire(READ_WRITE, brief(reader(this.a, "1"))));
		busy(write(this.b, "1"));
		// Not as long as the writer may wait.
		assertThat(busy(this.c.acquire("1")).ownerTtlMillis()).isLessThanOrEqualTo(SHORT);
		elapse(MORE_THAN_SHORT);
		assertThat(this.c.inspect()).extracting(KeyState::owner, KeyState::shared, KeyState::ttlMillis)
			.containsExactly(null, false, 0L);
		Granted exclusive = granted(this.c.acquire("1"));
		assertThat(exclusive.ttlMillis()).isBetween(LEASE - 1000, LEASE);
		assertThat(renew(this.a, READ_WRITE, "1", 1, LEASE)).isFalse();
		assertThat(this.a.release(READ_WRITE, reader(this.a, "1"))).isFalse();
		assertThat(busy(write(this.b, "1")).foreign()).isTrue();
		PermitState state = this.a.permits(READ_WRITE);
		assertThat(state).extracting(PermitState::used, PermitState::holderCount, PermitState::waiting)
			.containsExactly(0, 0, 1);
		assertThat(this.c.inspect().owner()).isEqualTo(this.c.token("1"));
		assertThat(this.c.release("1").released()).isTrue();
		assertThat(granted(write(this.b, "1")).fence()).isGreaterThan(exclusive.fence());
	}

	@Test
	@DisplayName("the lock of a client of the plain pattern excludes readers and writers, with and without end")
	void foreignOwnerExcludes() {
		putForeign(KEY, "stranger", Duration.ofMillis(SHORT));
		assertThat(busy(this.b.attempt(READ_WRITE, reader(this.b, "1"))).foreign()).isTrue();
		Busy busy = busy(read(this.a, "1"));
		assertThat(busy.foreign()).isTrue();
		assertThat(busy.ownerTtlMillis()).isBetween(0L, SHORT);
		elapse(MORE_THAN_SHORT);
		assertThat(granted(read(this.a, "1")).fence()).isGreaterThan(busy.fence());
		this.a.release(READ_WRITE, reader(this.a, "1"));
		putForeign(KEY, "stranger", null);
		assertThat(busy(write(this.a, "2")).ownerTtlMillis()).isEqualTo(-1);
		assertThat(this.a.inspect().owner()).isEqualTo("stranger");
	}

}
