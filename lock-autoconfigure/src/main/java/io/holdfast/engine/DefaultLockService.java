package io.holdfast.engine;

import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.function.BiConsumer;

import io.holdfast.LockAdmin;
import io.holdfast.LockLease;
import io.holdfast.LockMode;
import io.holdfast.LockRequest;
import io.holdfast.LockService;
import io.holdfast.LockStatus;
import io.holdfast.LockStatus.Owner;
import io.holdfast.LockView;
import io.holdfast.ReadWriteLockView;
import io.holdfast.async.SingleLine;
import io.holdfast.engine.store.LeaseStore.Standing;
import io.holdfast.engine.store.Resource;
import io.holdfast.engine.store.Resource.Kind;
import io.holdfast.engine.store.Tokens;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

/**
 * {@link LockService} on top of a {@link LeaseEngine}. Thread-safe. Not final, so that
 * applications can proxy it with aspects.
 *
 * @since 0.1.0
 */
public class DefaultLockService extends EngineService<LockRequest, LockLease> implements LockService, LockAdmin {

	private static final Log logger = LogFactory.getLog(DefaultLockService.class);

	/** Leases of the views. */
	final ThreadLock.Holds threadHolds = new ThreadLock.Holds();

	/**
	 * Create the service.
	 * @param engine the engine that grants the leases; not closed with this service
	 */
	public DefaultLockService(LeaseEngine engine) {
		super(engine, Kind.LOCK, LockLease.class);
	}

	private Resource lock(LockRequest request) {
		return new Resource(Kind.LOCK, named(request).key());
	}

	@Override
	public LockLease acquire(LockRequest request) {
		if (!request.isFenced()) {
			return super.acquire(request);
		}
		checkFence(request, request.isForCode());
		return withRaisedToken(request, super.acquire(request));
	}

	@Override
	public Optional<LockLease> tryAcquire(LockRequest request) {
		return super.tryAcquire(request);
	}

	@Override
	public CompletableFuture<LockLease> acquireAsync(LockRequest request) {
		checkFence(request, false);
		return super.acquireAsync(request);
	}

	@Override
	public CompletableFuture<Optional<LockLease>> tryAcquireAsync(LockRequest request) {
		checkFence(request, false);
		return super.tryAcquireAsync(request);
	}

	/** Refuse a fenced request whose code does not run on the calling thread. */
	private void checkFence(LockRequest request, boolean codeOfThread) {
		if (!request.isFenced()) {
			return;
		}
		if (!codeOfThread) {
			throw new IllegalArgumentException(SingleLine.of("The request of lock '" + request.key() + "' is fenced")
					+ ", which is for code on the requesting thread: use withLock(request, code),"
					+ " or leave out fenced() and call Fences.check(lease) in each transaction under the lease");
		}
		if (this.engine.fence() == null) {
			throw new IllegalStateException(SingleLine.of("The request of lock '" + request.key() + "' is fenced")
					+ ", but no database keeps a fence: that needs spring-jdbc, a DataSource and its"
					+ " transaction manager in the context of the lock service, whose LeaseEngine is a bean");
		}
	}

	/**
	 * Raise the token of a fenced lease in the databases, before the caller gets the
	 * lease.
	 */
	private LockLease withRaisedToken(LockRequest request, LockLease lease) {
		BiConsumer<LockLease, LockRequest> fence = this.engine.fence();
		if (fence != null) {
			try {
				fence.accept(lease, request);
			}
			catch (Throwable ex) {
				lease.discardAsync();
				throw ex;
			}
		}
		return lease;
	}

	@Override
	public LockView asLock(LockRequest request) {
		if (request.keys().size() > 1) {
			throw new IllegalArgumentException("A view is of one key, but the request is for " + request.keys().size()
					+ " keys (" + request.key() + "): use acquire(request), which returns one lease for all of them");
		}
		checkFence(request, false);
		return new ThreadLock(named(request), this);
	}

	@Override
	public ReadWriteLockView asReadWriteLock(LockRequest request) {
		checkFence(request, false);
		LockRequest named = named(request);
		return new LockPair(named.key(), asLock(named.mode(LockMode.READ)), asLock(named.mode(LockMode.EXCLUSIVE)));
	}

	@Override
	public LockStatus status(String key) {
		return status(LockRequest.of(key));
	}

	/** Return the state of the lock of a request for one key. */
	LockStatus status(LockRequest request) {
		Resource lock = lock(request);
		Standing state = stateAfterReleases(lock);
		String owner = state.owner();
		Owner kind = (owner != null) ? kind(owner) : (state.readerCount() > 0) ? Owner.READERS : Owner.NONE;
		return StoredLockStatus.of(this.engine, state, kind, waitingHere(lock));
	}

	private Owner kind(String owner) {
		if (this.context.isOwn(owner)) {
			return Owner.THIS_INSTANCE;
		}
		return Tokens.isToken(owner) ? Owner.OTHER_INSTANCE : Owner.FOREIGN;
	}

	@Override
	public LockAdmin admin() {
		return this;
	}

	@Override
	public boolean forceRelease(String key) {
		return forceRelease(key, (Long) null).released();
	}

	/**
	 * Release a key as {@link #forceRelease(String)} does, but only if the grant is still
	 * the one that the caller has seen.
	 * @param key the key to release
	 * @param fencingToken the fencing token of the seen grant, or {@code null} to release
	 * any grant
	 * @return the state of the key before the release, and whether it was released
	 * @throws IllegalArgumentException if the key is not allowed
	 * @throws io.holdfast.LeaseStoreException if the store failed
	 */
	public ForcedResult forceRelease(String key, @Nullable Long fencingToken) {
		Resource lock = lock(LockRequest.of(key));
		Standing state = state(lock, 0);
		ForcedResult found = find(state);
		if (!found.held() || fencingToken != null && !found.isGrantOf(fencingToken)) {
			return found;
		}
		boolean released = (state.owner() != null) ? releaseExclusive(lock, state.owner(), found)
				: releaseReaders(lock);
		return found.released(released);
	}

	private ForcedResult find(Standing state) {
		String owner = state.owner();
		if (owner == null) {
			boolean heldByReaders = state.readerCount() > 0;
			return new ForcedResult(heldByReaders, false, heldByReaders ? state.fence() : 0, null, null);
		}
		if (!Tokens.isToken(owner)) {
			// The fence belongs to a holder before the foreign owner.
			return new ForcedResult(true, false, 0, null, null);
		}
		Hold own = this.engine.queues.renewer.find(owner);
		return new ForcedResult(true, false, state.fence(), state.holders().get(0),
				(own != null && own.thread != null) ? own.thread.getName() : null);
	}

	@Override
	public boolean forceRelease(String key, LockMode mode) {
		Objects.requireNonNull(mode, "mode");
		Resource lock = lock(LockRequest.of(key));
		if (mode == LockMode.READ) {
			return releaseReaders(lock);
		}
		Standing state = state(lock, 0);
		return state.owner() != null && releaseExclusive(lock, state.owner(), find(state));
	}

	private boolean releaseReaders(Resource lock) {
		int count = releaseAll(lock);
		if (count > 0) {
			logger.warn("Lock '" + SingleLine.of(lock.key()) + "' was released by force in the names of its readers: "
					+ count);
		}
		return count > 0;
	}

	private boolean releaseExclusive(Resource lock, String owner, ForcedResult found) {
		boolean released = release(lock, List.of(owner)) == 1;
		logger.warn("Lock '" + SingleLine.of(lock.key())
				+ (released ? "' was released by force; its owner: "
						: "' was to be released by force, but has another owner, or none, by now; its owner was: ")
				+ kind(owner) + found.describe("", null));
		return released;
	}

	/** Read lock and write lock of a key. */
	private record LockPair(String key, LockView readLock, LockView writeLock) implements ReadWriteLockView {

		@Override
		public String toString() {
			return "read-write lock '" + SingleLine.of(this.key) + "'";
		}

	}

}
