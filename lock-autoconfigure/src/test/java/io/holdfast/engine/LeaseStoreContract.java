package io.holdfast.engine;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;

import io.holdfast.engine.LeaseStore.Ask;
import io.holdfast.engine.LeaseStore.AcquireReply;
import io.holdfast.engine.LeaseStore.AcquireReply.Busy;
import io.holdfast.engine.LeaseStore.AcquireReply.Granted;
import io.holdfast.engine.LeaseStore.KeyState;
import io.holdfast.engine.LeaseStore.ReleaseReply;
import io.holdfast.engine.LeaseStore.Renewal;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import static io.holdfast.engine.Locks.lock;
import static io.holdfast.engine.Locks.renewal;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * What every {@link LeaseStore} must do, seen by several instances on one shared store.
 */
public abstract class LeaseStoreContract {

	protected static final String KEY = "stock:SKU 0001";

	protected static final long LEASE = 30_000;

	protected static final long CLAIM = 5_000;

	/** Long enough not to end while a test looks at it, short enough to wait for. */
	protected static final long SHORT = 300;

	private final List<Instance> instances = new ArrayList<>();

	protected Instance a;

	protected Instance b;

	protected Instance c;

	/**
	 * The store of a further instance, sharing its content with the others.
	 * @return a store that was not started
	 */
	protected abstract LeaseStore newStore();

	/**
	 * Let time pass, really or virtually.
	 * @param time how much
	 */
	protected abstract void elapse(Duration time);

	/**
	 * Let a client other than Holdfast own a key.
	 * @param key the key as users name it
	 * @param value what it writes
	 * @param ttl how long, or {@code null} for no end
	 */
	protected abstract void putForeign(String key, String value, @Nullable Duration ttl);

	@BeforeEach
	void startInstances() {
		this.a = newInstance();
		this.b = newInstance();
		this.c = newInstance();
	}

	@AfterEach
	void closeInstances() {
		this.instances.forEach((instance) -> instance.store.close());
	}

	protected Instance newInstance() {
		Instance instance = new Instance(newStore());
		this.instances.add(instance);
		instance.store.start(instance.id, instance);
		await().until(instance::isReady);
		return instance;
	}

	@Test
	@DisplayName("a free key is granted for the lease time, with a fence")
	void grantsFreeKey() {
		Granted granted = granted(this.a.acquire("1"));
		assertThat(granted.fence()).isPositive();
		assertThat(granted.ttlMillis()).isBetween(LEASE - 1000, LEASE);
		KeyState state = this.b.inspect();
		assertThat(state.owner()).isEqualTo(this.a.token("1"));
		assertThat(state.ttlMillis()).isBetween(LEASE - 5000, LEASE);
		assertThat(state.fence()).isEqualTo(granted.fence());
		assertThat(state.waiting()).isZero();
	}

	@Test
	@DisplayName("acquiring again by the same token is the same grant")
	void acquireIsIdempotent() {
		Granted first = granted(this.a.acquire("1"));
		Granted second = granted(this.a.acquire("1"));
		assertThat(second.fence()).isEqualTo(first.fence());
		assertThat(this.a.release("1").released()).isTrue();
		assertThat(this.b.inspect().owner()).isNull();
	}

	@Test
	@DisplayName("acquiring again never shortens the lease")
	void acquireNeverShortens() {
		granted(this.a.acquire("1"));
		Granted again = granted(
				get(this.a.store.acquire(lock(KEY), Ask.forLock(this.a.token("1"), SHORT, SHORT), true)));
		assertThat(again.ttlMillis()).isGreaterThan(SHORT);
		assertThat(this.a.inspect().ttlMillis()).isGreaterThan(SHORT);
	}

	@Test
	@DisplayName("fences grow with each grant, by more than what is given out inside one instance")
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
	@DisplayName("whoever comes second learns the owner's time and fence")
	void tellsBusy() {
		Granted granted = granted(this.a.acquire("1"));
		Busy busy = busy(this.b.acquire("1"));
		assertThat(busy.ownerTtlMillis()).isBetween(LEASE - 5000, LEASE);
		assertThat(busy.fence()).isEqualTo(granted.fence());
		assertThat(busy.foreign()).isFalse();
	}

	@Test
	@DisplayName("two keys do not matter to each other")
	void keysAreIndependent() {
		granted(this.a.acquire("1"));
		granted(get(this.b.store.acquire(lock("another"), Ask.forLock(this.b.token("1"), LEASE, CLAIM), true)));
	}

	@Test
	@DisplayName("a foreign owner is told as such, and excludes until it ends")
	void respectsForeignOwner() {
		putForeign(KEY, "somebody", Duration.ofMillis(SHORT));
		Busy busy = busy(this.a.acquire("1"));
		assertThat(busy.foreign()).isTrue();
		assertThat(busy.ownerTtlMillis()).isBetween(0L, SHORT);
		assertThat(this.a.inspect().owner()).isEqualTo("somebody");
		elapse(Duration.ofMillis(SHORT + 20));
		granted(this.a.acquire("1"));
	}

	@Test
	@DisplayName("whoever comes second can tell old hand-offs by the fence, also behind a foreign owner")
	void tellsAFenceBehindForeignOwner() {
		Granted before = granted(this.a.acquire("1"));
		this.a.release("1");
		elapse(Duration.ofMillis(5));
		putForeign(KEY, "somebody", Duration.ofMillis(SHORT));
		Busy busy = busy(this.b.acquire("1"));
		assertThat(busy.fence()).isGreaterThanOrEqualTo(before.fence());
		elapse(Duration.ofMillis(SHORT + 20));
		assertThat(granted(this.b.acquire("1")).fence()).isGreaterThan(busy.fence());
	}

	@Test
	@DisplayName("S2 a foreign owner without end is told as such and left alone")
	void leavesOwnerWithoutEndAlone() {
		putForeign(KEY, this.a.id.substring(1) + "x:1", null);
		Busy busy = busy(this.a.acquire("1"));
		assertThat(busy.foreign()).isTrue();
		assertThat(busy.ownerTtlMillis()).isEqualTo(-1);
		assertThat(this.a.release("1").released()).isFalse();
		assertThat(this.a.inspect().ttlMillis()).isEqualTo(-1);
	}

	@Test
	@DisplayName("F43 a lease that ended is not renewed, and its release leaves the next owner alone")
	void endsByTime() {
		Granted first = granted(
				get(this.a.store.acquire(lock(KEY), Ask.forLock(this.a.token("1"), SHORT, SHORT), true)));
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
	@DisplayName("a release is true once")
	void releasesOnce() {
		granted(this.a.acquire("1"));
		assertThat(this.a.release("1")).isEqualTo(new ReleaseReply(true, null));
		assertThat(this.a.release("1")).isEqualTo(new ReleaseReply(false, null));
		assertThat(this.b.release("1").released()).isFalse();
	}

	@Test
	@DisplayName("a released key goes to those who wait, in their order, for a claim")
	void handsOverInOrder() {
		granted(this.a.acquire("1"));
		busy(this.b.acquire("1"));
		busy(this.c.acquire("1"));
		// Asking again keeps the place.
		Busy last = busy(this.b.acquire("1"));
		assertThat(this.a.inspect().waiting()).isEqualTo(2);
		this.a.release("1");
		WakeUp first = this.b.awaitWakeUp();
		assertThat(first.resource()).isEqualTo(lock(KEY));
		assertThat(first.token()).isEqualTo(this.b.token("1"));
		assertThat(first.fence()).isGreaterThan(last.fence());
		assertThat(first.ttlMillis()).isEqualTo(CLAIM);
		assertThat(this.a.inspect().ttlMillis()).isBetween(1L, CLAIM);
		assertThat(busy(this.c.acquire("1")).fence()).isEqualTo(first.fence());
		this.b.release("1");
		assertThat(this.c.awaitWakeUp().fence()).isGreaterThan(first.fence());
		assertThat(this.b.wakeUps).hasSize(1);
	}

	@Test
	@DisplayName("a hand-off becomes a full lease of the same fence when its token asks")
	void handOffBecomesLease() {
		granted(this.a.acquire("1"));
		busy(this.b.acquire("1"));
		this.a.release("1");
		WakeUp wakeUp = this.b.awaitWakeUp();
		Granted granted = granted(this.b.acquire("1"));
		assertThat(granted.fence()).isEqualTo(wakeUp.fence());
		assertThat(granted.ttlMillis()).isGreaterThan(CLAIM);
	}

	@Test
	@DisplayName("who does not want to wait is not handed anything")
	void doesNotQueueUnasked() {
		granted(this.a.acquire("1"));
		busy(get(this.b.store.acquire(lock(KEY), Ask.forLock(this.b.token("1"), LEASE, CLAIM), false)));
		assertThat(this.a.inspect().waiting()).isZero();
		this.a.release("1");
		assertThat(this.a.inspect().owner()).isNull();
	}

	@Test
	@DisplayName("who comes to a free key passes it on to the one who waited before")
	void passesOnToHeadOfQueue() {
		granted(get(this.a.store.acquire(lock(KEY), Ask.forLock(this.a.token("1"), SHORT, SHORT), true)));
		busy(this.b.acquire("1"));
		elapse(Duration.ofMillis(SHORT + 20));
		busy(this.c.acquire("1"));
		assertThat(this.b.awaitWakeUp().token()).isEqualTo(this.b.token("1"));
		assertThat(this.a.inspect().owner()).isEqualTo(this.b.token("1"));
	}

	@Test
	@DisplayName("who gave up waiting is not handed anything")
	void cancelsWait() {
		granted(this.a.acquire("1"));
		busy(this.b.acquire("1"));
		busy(this.c.acquire("1"));
		assertThat(this.b.release("1").released()).isFalse();
		this.a.release("1");
		this.c.awaitWakeUp();
		assertThat(this.b.wakeUps).isEmpty();
	}

	@Test
	@DisplayName("the next of an instance gets the key with the release, if nobody waits before it")
	void releasesToNext() {
		Granted first = granted(this.a.acquire("1"));
		ReleaseReply reply = this.a.release("1", "2");
		assertThat(reply.released()).isTrue();
		Granted next = granted(reply.next());
		assertThat(next.fence()).isGreaterThan(first.fence());
		assertThat(next.ttlMillis()).isBetween(LEASE - 1000, LEASE);
		assertThat(this.a.inspect().owner()).isEqualTo(this.a.token("2"));
	}

	@Test
	@DisplayName("the next of an instance goes behind those who wait already")
	void queuesNextAtTail() {
		granted(this.a.acquire("1"));
		busy(this.b.acquire("1"));
		ReleaseReply reply = this.a.release("1", "2");
		assertThat(reply.released()).isTrue();
		Busy next = busy(reply.next());
		assertThat(next.fence()).isEqualTo(this.b.awaitWakeUp().fence());
		assertThat(next.ownerTtlMillis()).isBetween(1L, CLAIM);
		this.b.release("1");
		assertThat(this.a.awaitWakeUp().token()).isEqualTo(this.a.token("2"));
	}

	@Test
	@DisplayName("the next of a waiter that gives up takes its place in the queue")
	void nextKeepsPlace() {
		granted(this.a.acquire("1"));
		busy(this.b.acquire("1"));
		busy(this.c.acquire("1"));
		ReleaseReply reply = this.b.release("1", "2");
		assertThat(reply.released()).isFalse();
		busy(reply.next());
		this.a.release("1");
		assertThat(this.b.awaitWakeUp().token()).isEqualTo(this.b.token("2"));
		assertThat(this.c.wakeUps).isEmpty();
	}

	@Test
	@DisplayName("a late copy of a release does not revive a next that is over")
	void lateReleaseDoesNotReviveNext() {
		granted(this.a.acquire("1"));
		granted(this.a.release("1", "2").next());
		this.a.release("2");
		assertThat(this.a.release("1", "2")).isEqualTo(new ReleaseReply(false, null));
		KeyState state = this.a.inspect();
		assertThat(state.owner()).isNull();
		assertThat(state.waiting()).isZero();
	}

	@Test
	@DisplayName("a copy of a release tells again what became of next")
	void repeatedReleaseTellsNext() {
		granted(this.a.acquire("1"));
		Granted first = granted(this.a.release("1", "2").next());
		ReleaseReply again = this.a.release("1", "2");
		assertThat(again.released()).isFalse();
		assertThat(granted(again.next()).fence()).isEqualTo(first.fence());
	}

	@Test
	@DisplayName("a token that neither held nor waited brings in nobody")
	void strangerBringsInNobody() {
		granted(this.b.acquire("1"));
		assertThat(this.a.release("1", "2")).isEqualTo(new ReleaseReply(false, null));
		assertThat(this.b.inspect().waiting()).isZero();
	}

	@Test
	@DisplayName("a lease is renewed by lengthening, never by shortening")
	void renewsByLengthening() {
		granted(this.a.acquire("1"));
		assertThat(this.a.renew("1", 2 * LEASE)).isTrue();
		assertThat(this.a.inspect().ttlMillis()).isGreaterThan(LEASE);
		assertThat(this.a.renew("1", SHORT)).isTrue();
		assertThat(this.a.inspect().ttlMillis()).isGreaterThan(LEASE);
	}

	@Test
	@DisplayName("many renewals are answered in their order, the lost among the kept")
	void renewsManyInOrder() {
		List<CompletableFuture<AcquireReply>> acquired = new ArrayList<>();
		List<Renewal> renewals = new ArrayList<>();
		List<Boolean> expected = new ArrayList<>();
		for (int i = 0; i < 1100; i++) {
			boolean kept = i % 7 != 0;
			if (kept) {
				acquired
					.add(this.a.store.acquire(lock("many" + i), Ask.forLock(this.a.token("" + i), LEASE, CLAIM), true));
			}
			renewals.add(renewal("many" + i, this.a.token("" + i), LEASE));
			expected.add(kept);
		}
		acquired.forEach(LeaseStoreContract::get);
		assertThat(get(this.a.store.renew(renewals))).isEqualTo(expected);
	}

	@Test
	@DisplayName("no renewals are no trouble")
	void renewsNothing() {
		assertThat(get(this.a.store.renew(List.of()))).isEmpty();
	}

	@Test
	@DisplayName("a stopped store receives no wake-ups, until it is started again")
	void stopsAndStartsAgain() {
		granted(this.a.acquire("1"));
		this.b.store.stop();
		assertThat(this.b.store.isListening()).isFalse();
		busy(this.c.acquire("1"));
		this.a.release("1");
		assertThat(this.c.inspect().owner()).isEqualTo(this.c.token("1"));
		this.b.store.start(this.b.id, this.b);
		await().until(this.b.store::isListening);
		busy(this.b.acquire("2"));
		this.c.release("1");
		assertThat(this.b.awaitWakeUp().token()).isEqualTo(this.b.token("2"));
	}

	@Test
	@DisplayName("a closed store fails commands")
	void failsWhenClosed() {
		this.a.store.close();
		CompletableFuture<AcquireReply> reply = this.a.store.acquire(lock(KEY),
				Ask.forLock(this.a.token("1"), LEASE, CLAIM), true);
		assertThat(reply).failsWithin(Duration.ofSeconds(5))
			.withThrowableOfType(ExecutionException.class)
			.withCauseInstanceOf(StoreFailure.class);
	}

	protected static Granted granted(@Nullable AcquireReply reply) {
		assertThat(reply).isInstanceOf(Granted.class);
		return (Granted) reply;
	}

	protected static Busy busy(@Nullable AcquireReply reply) {
		assertThat(reply).isInstanceOf(Busy.class);
		return (Busy) reply;
	}

	protected static <T> T get(CompletableFuture<T> reply) {
		try {
			return reply.get(10, TimeUnit.SECONDS);
		}
		catch (ExecutionException ex) {
			if (ex.getCause() instanceof StoreFailure failure) {
				throw failure;
			}
			throw new IllegalStateException(ex.getCause());
		}
		catch (InterruptedException | TimeoutException ex) {
			throw new IllegalStateException(ex);
		}
	}

	/**
	 * An instance, as the engine would be one.
	 */
	protected static final class Instance implements LeaseStore.WakeUps {

		public final String id = UUID.randomUUID().toString().replace("-", "");

		public final LeaseStore store;

		public final List<WakeUp> wakeUps = new CopyOnWriteArrayList<>();

		public final AtomicInteger listenings = new AtomicInteger();

		Instance(LeaseStore store) {
			this.store = store;
		}

		private boolean isReady() {
			return this.store.isListening() && this.listenings.get() > 0;
		}

		public String token(String n) {
			return this.id + ":" + n;
		}

		public AcquireReply acquire(String n) {
			return get(this.store.acquire(lock(KEY), Ask.forLock(token(n), LEASE, CLAIM), true));
		}

		public ReleaseReply release(String n) {
			return get(this.store.release(lock(KEY), Ask.forLock(token(n), LEASE, CLAIM), null));
		}

		public ReleaseReply release(String n, String next) {
			return get(this.store.release(lock(KEY), Ask.forLock(token(n), LEASE, CLAIM),
					Ask.forLock(token(next), LEASE, CLAIM)));
		}

		public boolean renew(String n, long leaseMillis) {
			return get(this.store.renew(List.of(renewal(KEY, token(n), leaseMillis)))).get(0);
		}

		public KeyState inspect() {
			return get(this.store.inspect(lock(KEY)));
		}

		public WakeUp awaitWakeUp() {
			await().until(() -> !this.wakeUps.isEmpty());
			return this.wakeUps.get(0);
		}

		@Override
		public void handedOver(Resource resource, String token, long fence, long ttlMillis) {
			this.wakeUps.add(new WakeUp(resource, token, fence, ttlMillis));
		}

		@Override
		public void listening() {
			this.listenings.incrementAndGet();
		}

	}

	/**
	 * A wake-up that came.
	 *
	 * @param resource what
	 * @param token who was granted it
	 * @param fence the fence of the grant
	 * @param ttlMillis how long it lasts
	 */
	protected record WakeUp(Resource resource, String token, long fence, long ttlMillis) {
	}

}
