package io.holdfast.engine;

import java.util.Optional;
import java.util.concurrent.CompletableFuture;

import io.holdfast.KeyNamespace;
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
public class DefaultSemaphoreService implements SemaphoreService, SemaphoreAdmin {

	private static final Log logger = LogFactory.getLog(DefaultSemaphoreService.class);

	private final LeaseEngine engine;

	private final EngineContext context;

	private final LeaseAcquirer<SemaphoreRequest, PermitLease> acquirer;

	private final ForcedRelease forced;

	/**
	 * Create the service.
	 * @param engine the engine that grants the leases; not closed with this service
	 */
	public DefaultSemaphoreService(LeaseEngine engine) {
		this.engine = engine;
		this.context = engine.context;
		this.acquirer = new LeaseAcquirer<>(engine.queues, Kind.SEMAPHORE, PermitLease.class);
		this.forced = new ForcedRelease(engine.queues);
	}

	/**
	 * Set the namespace of requests that have none.
	 * @param namespace the namespace
	 */
	public void setKeyNamespace(KeyNamespace namespace) {
		this.acquirer.setKeyNamespace(namespace);
	}

	private Resource semaphore(String key) {
		return new Resource(Kind.SEMAPHORE, this.acquirer.named(SemaphoreRequest.of(key, 1)).key());
	}

	@Override
	public PermitLease acquire(SemaphoreRequest request) {
		return this.acquirer.acquire(request);
	}

	@Override
	public Optional<PermitLease> tryAcquire(SemaphoreRequest request) {
		return this.acquirer.tryAcquire(request);
	}

	@Override
	public CompletableFuture<PermitLease> acquireAsync(SemaphoreRequest request) {
		return this.acquirer.acquireAsync(request);
	}

	@Override
	public CompletableFuture<Optional<PermitLease>> tryAcquireAsync(SemaphoreRequest request) {
		return this.acquirer.tryAcquireAsync(request);
	}

	@Override
	public SemaphoreStatus status(String key) {
		Resource semaphore = semaphore(key);
		Standing state = this.context.awaitAnswer(this.engine.queues.releases.firstAnswers(semaphore)
			.thenCompose((released) -> this.context.inspect(semaphore, 0, 0)), semaphore, "The inspection");
		Integer operatorLimit = state.limit();
		Integer requestedLimit = (state.asked() > 0) ? Integer.valueOf(state.asked()) : null;
		return new StoredSemaphoreStatus(semaphore.key(), (operatorLimit != null) ? operatorLimit : requestedLimit,
				operatorLimit != null, state.used(), state.holderCount(), state.waiting(),
				this.context.awaitAnswer(this.engine.queues.waiting(semaphore), semaphore, "The inspection"));
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
		int count = this.forced.releaseAll(semaphore);
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
