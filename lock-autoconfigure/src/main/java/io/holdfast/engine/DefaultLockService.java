package io.holdfast.engine;

import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;

import io.holdfast.LockLease;
import io.holdfast.LockMode;
import io.holdfast.LockRequest;
import io.holdfast.LockService;
import io.holdfast.LockStatus;
import io.holdfast.LockStatus.Owner;
import io.holdfast.LockView;
import io.holdfast.ReadWriteLockView;
import io.holdfast.engine.LeaseStore.Ask;
import io.holdfast.engine.LeaseStore.Holder;
import io.holdfast.engine.LeaseStore.KeyState;
import io.holdfast.engine.LeaseStore.PermitState;
import io.holdfast.engine.Resource.Kind;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

/**
 * The {@link LockService} of a {@link LeaseEngine}. Thread-safe. Not final, so that
 * applications can put aspects around it.
 */
public class DefaultLockService implements LockService {

	private static final Log logger = LogFactory.getLog(DefaultLockService.class);

	/** How many readers are looked at, or released by force, at a time. */
	private static final int READERS = 1000;

	private final LeaseEngine engine;

	private final Acquirer<LockLease> acquirer;

	private final ThreadHolds threadHolds = new ThreadHolds();

	/**
	 * Create the service.
	 * @param engine what grants the leases, which is not closed with this service
	 */
	public DefaultLockService(LeaseEngine engine) {
		this.engine = engine;
		this.acquirer = new Acquirer<>(engine, LockLease.class::cast);
	}

	@Override
	public LockLease acquire(LockRequest request) {
		return this.acquirer.acquire(demand(request));
	}

	@Override
	public Optional<LockLease> tryAcquire(LockRequest request) {
		return this.acquirer.tryAcquire(demand(request));
	}

	@Override
	public CompletableFuture<LockLease> acquireAsync(LockRequest request) {
		return this.acquirer.acquireAsync(demand(request));
	}

	@Override
	public CompletableFuture<Optional<LockLease>> tryAcquireAsync(LockRequest request) {
		return this.acquirer.tryAcquireAsync(demand(request));
	}

	LockLease await(LockRequest request) throws InterruptedException {
		return this.acquirer.await(demand(request));
	}

	LockLease awaitUninterruptibly(LockRequest request) {
		return this.acquirer.awaitUninterruptibly(demand(request));
	}

	private Demand demand(LockRequest request) {
		return Demand.of(request, this.engine.settings);
	}

	@Override
	public LockView asLock(String key) {
		return view(LockRequest.of(key));
	}

	@Override
	public ReadWriteLockView asReadWriteLock(String key) {
		LockRequest request = LockRequest.of(key);
		LockView reading = view(request.mode(LockMode.READ));
		LockView writing = view(request.mode(LockMode.WRITE));
		return new ReadWriteLockView() {

			@Override
			public LockView readLock() {
				return reading;
			}

			@Override
			public LockView writeLock() {
				return writing;
			}

			@Override
			public String toString() {
				return "read-write lock '" + key + "'";
			}

		};
	}

	private LockView view(LockRequest request) {
		return new ThreadLock(this, request, this.threadHolds);
	}

	@Override
	public LockStatus status(String key) {
		Resource lock = lock(key);
		KeyState state = inspect(lock);
		if (state.shared()) {
			return sharedStatus(key, state);
		}
		String owner = state.owner();
		if (owner == null) {
			return new LockStatus(key, Owner.NONE, null, state.fence(), state.waiting());
		}
		return new LockStatus(key, kind(owner), ttl(state.ttlMillis()), state.fence(), state.waiting());
	}

	private LockStatus sharedStatus(String key, KeyState state) {
		PermitState shared = inspectShared(key);
		List<Holder> holders = shared.holders();
		int waiting = state.waiting() + shared.waiting();
		return holders.isEmpty() ? new LockStatus(key, Owner.NONE, null, state.fence(), waiting) : new LockStatus(key,
				Owner.READ_WRITE, ttl(holders.get(holders.size() - 1).ttlMillis()), state.fence(), waiting);
	}

	private static @Nullable Duration ttl(long millis) {
		return (millis >= 0) ? Duration.ofMillis(millis) : null;
	}

	private Owner kind(String owner) {
		if (this.engine.isOwn(owner)) {
			return Owner.THIS_INSTANCE;
		}
		return Tokens.isToken(owner) ? Owner.OTHER_INSTANCE : Owner.FOREIGN;
	}

	private static Resource lock(String key) {
		return new Resource(Kind.LOCK, LockRequest.of(key).key());
	}

	private KeyState inspect(Resource lock) {
		return this.engine.answer(this.engine.store.inspect(lock), lock, "The inspection");
	}

	private PermitState inspectShared(String key) {
		Resource lock = new Resource(Kind.READ_WRITE, key);
		return this.engine.answer(this.engine.store.inspectPermits(lock, READERS), lock, "The inspection");
	}

	@Override
	public boolean forceRelease(String key) {
		Resource lock = lock(key);
		KeyState state = inspect(lock);
		if (state.shared()) {
			return forceReleaseAll(new Resource(Kind.READ_WRITE, key));
		}
		String owner = state.owner();
		if (owner == null) {
			return false;
		}
		boolean released = forceRelease(lock, owner);
		logger
			.warn("Lock '" + key
					+ (released ? "' was released by force; its owner: "
							: "' was to be released by force, but changed hands meanwhile; its owner was: ")
					+ kind(owner));
		return released;
	}

	private boolean forceReleaseAll(Resource lock) {
		int released = 0;
		List<Holder> holders = inspectShared(lock.key()).holders();
		for (Holder holder : holders) {
			released += forceRelease(lock, holder.token()) ? 1 : 0;
		}
		logger.warn("Lock '" + lock.key() + "' was released by force in the name of " + released
				+ " readers or writers of a read-write lock");
		return released > 0;
	}

	private boolean forceRelease(Resource lock, String owner) {
		boolean released = this.engine
			.answer(this.engine.store.release(lock, Ask.unknown(owner, 0), null), lock, "The forced release")
			.released();
		Hold own = this.engine.keeper.find(owner);
		if (released && own != null) {
			this.engine.lose(own, "it was released by force");
		}
		return released;
	}

	/** Whether nothing is held, waited for or remembered, also of semaphores. */
	boolean isIdle() {
		return this.engine.isIdle();
	}

}
