package io.holdfast.engine;

import java.util.Optional;
import java.util.concurrent.CompletableFuture;

import io.holdfast.PermitLease;
import io.holdfast.SemaphoreAdmin;
import io.holdfast.SemaphoreRequest;
import io.holdfast.SemaphoreService;
import io.holdfast.SemaphoreStatus;
import io.holdfast.async.SingleLine;
import io.holdfast.engine.store.LeaseStore.Standing;
import io.holdfast.engine.store.Resource;
import io.holdfast.engine.store.Resource.Kind;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

/**
 * {@link SemaphoreService} on top of a {@link LeaseEngine}. Thread-safe. Not final, so
 * that applications can proxy it with aspects.
 *
 * @since 0.1.0
 */
public class DefaultSemaphoreService extends EngineService<SemaphoreRequest, PermitLease>
		implements SemaphoreService, SemaphoreAdmin {

	private static final Log logger = LogFactory.getLog(DefaultSemaphoreService.class);

	/**
	 * Create the service.
	 * @param engine the engine that grants the leases; not closed with this service
	 */
	public DefaultSemaphoreService(LeaseEngine engine) {
		super(engine, Kind.SEMAPHORE, PermitLease.class);
	}

	private Resource semaphore(String key) {
		return new Resource(Kind.SEMAPHORE, named(SemaphoreRequest.of(key, 1)).key());
	}

	@Override
	public PermitLease acquire(SemaphoreRequest request) {
		return super.acquire(request);
	}

	@Override
	public Optional<PermitLease> tryAcquire(SemaphoreRequest request) {
		return super.tryAcquire(request);
	}

	@Override
	public CompletableFuture<PermitLease> acquireAsync(SemaphoreRequest request) {
		return super.acquireAsync(request);
	}

	@Override
	public CompletableFuture<Optional<PermitLease>> tryAcquireAsync(SemaphoreRequest request) {
		return super.tryAcquireAsync(request);
	}

	@Override
	public SemaphoreStatus status(String key) {
		Resource semaphore = semaphore(key);
		Standing state = stateAfterReleases(semaphore);
		Integer operatorLimit = state.limit();
		Integer requestedLimit = (state.asked() > 0) ? Integer.valueOf(state.asked()) : null;
		return new StoredSemaphoreStatus(semaphore.key(), (operatorLimit != null) ? operatorLimit : requestedLimit,
				operatorLimit != null, state.used(), state.holderCount(), state.waiting(), waitingHere(semaphore));
	}

	@Override
	public SemaphoreAdmin admin() {
		return this;
	}

	@Override
	public void setLimit(String key, int limit) {
		if (limit < 0 || limit > Resource.ALL) {
			throw new IllegalArgumentException("limit of semaphore '" + SingleLine.of(key) + "' is " + limit
					+ ", which is not from 0 to " + Resource.ALL);
		}
		Resource semaphore = semaphore(key);
		limit(semaphore, limit);
		logger.info("The limit of " + semaphore + " was set to " + limit);
	}

	@Override
	public boolean clearLimit(String key) {
		Resource semaphore = semaphore(key);
		boolean cleared = limit(semaphore, null);
		if (cleared) {
			logger.info("The limit of " + semaphore + " was cleared");
		}
		return cleared;
	}

	@Override
	public boolean forceRelease(String key) {
		Resource semaphore = semaphore(key);
		int count = releaseAll(semaphore);
		if (count > 0) {
			logger.warn(
					"The permits of " + semaphore + " were released by force in the names of their holders: " + count);
		}
		return count > 0;
	}

	private boolean limit(Resource semaphore, @Nullable Integer limit) {
		return this.context.awaitAnswerToChange(this.context.limit(semaphore, limit), semaphore, "Setting the limit");
	}

	/** State of a semaphore in the store. */
	private record StoredSemaphoreStatus(String key, @Nullable Integer limit, boolean limitSet, int used, int holders,
			int waiting, int waitingInThisInstance) implements SemaphoreStatus {
	}

}
