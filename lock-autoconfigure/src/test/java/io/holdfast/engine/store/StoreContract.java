package io.holdfast.engine.store;

import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;

import io.holdfast.engine.store.LeaseStore.AcquireCommand;
import io.holdfast.engine.store.LeaseStore.AcquireReply;
import io.holdfast.engine.store.LeaseStore.AcquireReply.Busy;
import io.holdfast.engine.store.LeaseStore.AcquireReply.Granted;
import io.holdfast.engine.store.LeaseStore.ReleaseReply;
import io.holdfast.engine.store.LeaseStore.Renewal;
import io.holdfast.engine.store.LeaseStore.Standing;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;

import static io.holdfast.engine.Locks.lock;
import static io.holdfast.engine.Locks.renewal;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Several instances with a shared store, for the contracts of every {@link LeaseStore}.
 */
public abstract class StoreContract {

	protected static final String KEY = "stock:SKU 0001";

	protected static final long LEASE = 30_000;

	protected static final long CLAIM = 5_000;

	/** Lease time that outlasts an assertion, and is short enough to wait for. */
	protected static final long SHORT = 800;

	private final List<Instance> instances = new ArrayList<>();

	protected Instance a;

	protected Instance b;

	protected Instance c;

	/**
	 * Return the stores under test.
	 * @return the stores
	 */
	protected abstract SharedStores stores();

	/**
	 * Return whether the store detects absent instances.
	 * @return {@code false} for a cluster
	 */
	protected boolean detectsAbsence() {
		return true;
	}

	/** Return whether commands run in their order between two reconnects. */
	protected boolean keepsOrder() {
		return true;
	}

	protected LeaseStore newPollingStore() {
		return stores().open(true);
	}

	protected void elapse(Duration time) {
		stores().elapse(time);
	}

	protected void putForeign(String key, String value, @Nullable Duration ttl) {
		stores().putForeign(key, value, ttl);
	}

	/** Close an instance, and wait until the store detects its absence. */
	protected void leave(Instance instance) {
		instance.store.close();
		stores().awaitAbsence(instance.id);
	}

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
		Instance instance = new Instance(stores().open(false));
		this.instances.add(instance);
		instance.store.start(instance.id, instance);
		await().pollDelay(Duration.ZERO).until(instance::isReady);
		return instance;
	}

	protected Instance newPollingInstance() {
		Instance instance = new Instance(newPollingStore());
		this.instances.add(instance);
		instance.store.start(instance.id, instance);
		return instance;
	}

	protected static Granted granted(@Nullable AcquireReply reply) {
		assertThat(reply).isInstanceOf(Granted.class);
		return (Granted) reply;
	}

	protected static Busy busy(@Nullable AcquireReply reply) {
		assertThat(reply).isInstanceOf(Busy.class);
		return (Busy) reply;
	}

	/** Wait for a reply. Throws the failure of a failed command. */
	public static <T> T get(CompletableFuture<T> reply) {
		try {
			return reply.get(15, TimeUnit.SECONDS);
		}
		catch (ExecutionException ex) {
			if (ex.getCause() instanceof StoreCommandException failure) {
				throw failure;
			}
			throw new IllegalStateException(ex.getCause());
		}
		catch (InterruptedException | TimeoutException ex) {
			throw new IllegalStateException(ex);
		}
	}

	/**
	 * Instance, in place of an engine.
	 */
	public static final class Instance implements StoreNotifications {

		public final String id = UUID.randomUUID().toString().replace("-", "");

		public final LeaseStore store;

		public final List<WakeUp> wakeUps = new CopyOnWriteArrayList<>();

		/** Next fences of the tokens whose leases were released by force. */
		public final Map<String, Long> ended = new ConcurrentHashMap<>();

		public final List<String> reportsWanted = new CopyOnWriteArrayList<>();

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
			return acquire(lock(KEY), Commands.forLock(token(n), LEASE, CLAIM));
		}

		/** Acquire the key for a short lease. */
		public AcquireReply acquireBriefly(String n) {
			return acquire(lock(KEY), Commands.forLock(token(n), SHORT, SHORT));
		}

		public AcquireReply acquire(Resource resource, AcquireCommand command) {
			return get(this.store.acquire(resource, command, true));
		}

		public AcquireReply attempt(Resource resource, AcquireCommand command) {
			return get(this.store.acquire(resource, command, false));
		}

		public ReleaseReply release(String n) {
			return get(this.store.release(lock(KEY), Commands.forLock(token(n), LEASE, CLAIM), null));
		}

		public boolean release(Resource resource, AcquireCommand ended) {
			return get(this.store.release(resource, ended, null)).released();
		}

		public ReleaseReply release(Resource resource, AcquireCommand ended, AcquireCommand next) {
			return get(this.store.release(resource, ended, next));
		}

		public ReleaseReply release(String n, String next) {
			return get(this.store.release(lock(KEY), Commands.forLock(token(n), LEASE, CLAIM),
					Commands.forLock(token(next), LEASE, CLAIM)));
		}

		public boolean renew(String n, long leaseMillis) {
			return get(this.store.renew(List.of(renewal(KEY, token(n), leaseMillis)))).get(0);
		}

		/** Renew leases, with a command for each part of the store. */
		public List<Boolean> renew(List<Renewal> renewals) {
			Map<Integer, List<Renewal>> byPart = renewals.stream()
				.collect(Collectors.groupingBy((renewal) -> this.store.partOf(renewal.resource())));
			Map<Renewal, Boolean> kept = new HashMap<>();
			byPart.values().forEach((part) -> {
				List<Boolean> answers = get(this.store.renew(part));
				assertThat(answers).hasSameSizeAs(part);
				for (int i = 0; i < part.size(); i++) {
					kept.put(part.get(i), answers.get(i));
				}
			});
			return renewals.stream().map(kept::get).toList();
		}

		private AcquireCommand command(Share share, String n) {
			return share.command(token(n), LEASE, CLAIM);
		}

		public AcquireReply acquire(Share share, String n) {
			return acquire(share.resource(), command(share, n));
		}

		/** Acquire a share for a short lease, and with a short claim. */
		public AcquireReply acquireBriefly(Share share, String n) {
			return acquire(share.resource(), share.command(token(n), SHORT, SHORT));
		}

		public AcquireReply attempt(Share share, String n) {
			return attempt(share.resource(), command(share, n));
		}

		public ReleaseReply release(Share share, String n) {
			return get(this.store.release(share.resource(), command(share, n), null));
		}

		/** Release a whole resource, with a next token. */
		public ReleaseReply release(String n, Share next, String nextNumber) {
			return release(next.resource(), command(next.whole(), n), command(next, nextNumber));
		}

		public boolean renew(Share share, String n, long leaseMillis) {
			return renew(List.of(new Renewal(share.resource(), token(n), share.permits(), leaseMillis))).get(0);
		}

		public Standing inspect(Share share) {
			return permits(share.resource());
		}

		public boolean retain(Resource resource, String n, int permits, long millis) {
			return get(this.store.retain(new Renewal(resource, token(n), permits, millis))).released();
		}

		public Standing inspect() {
			return get(this.store.inspect(lock(KEY), 0, 0));
		}

		public Standing permits(Resource resource) {
			return get(this.store.inspect(resource, 10, 0));
		}

		public WakeUp awaitWakeUp() {
			return awaitWakeUp(1);
		}

		public WakeUp awaitWakeUp(int count) {
			await().pollDelay(Duration.ZERO).until(() -> this.wakeUps.size() >= count);
			return this.wakeUps.get(count - 1);
		}

		@Override
		public void granted(Resource resource, String token, long fence, long ttlMillis) {
			this.wakeUps.add(new WakeUp(resource, token, fence, ttlMillis));
		}

		@Override
		public void ended(String token, long nextFence) {
			this.ended.put(token, nextFence);
		}

		public long awaitEnded(String n) {
			await().pollDelay(Duration.ZERO).until(() -> this.ended.containsKey(token(n)));
			return this.ended.get(token(n));
		}

		@Override
		public void reportWanted(String report) {
			this.reportsWanted.add(report);
		}

		@Override
		public void listening() {
			this.listenings.incrementAndGet();
		}

	}

	/**
	 * Received wake-up.
	 *
	 * @param resource the resource
	 * @param token the token of the grant
	 * @param fence the fence of the grant
	 * @param ttlMillis the duration of the grant
	 */
	protected record WakeUp(Resource resource, String token, long fence, long ttlMillis) {
	}

}
