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

	private final BlockingAcquirer<SemaphoreRequest, PermitLease> acquirer;

	private final ForcedRelease forced;

	private volatile @Nullable KeyNamespace namespace;

	/**
	 * Create the service.
	 * @param engine the engine that grants the leases; not closed with this service
	 */
	public DefaultSemaphoreService(LeaseEngine engine) {
		this.engine = engine;
		this.context = engine.context;
		this.acquirer = BlockingAcquirer.ofPermits(engine.queues);
		this.forced = new ForcedRelease(engine.queues);
	}

	/**
	 * Set the namespace of requests that have none.
	 * @param namespace the namespace
	 */
	public void setKeyNamespace(KeyNamespace namespace) {
		this.namespace = namespace;
	}

	private SemaphoreRequest named(SemaphoreRequest request) {
		KeyNamespace namespace = this.namespace;
		return (namespace != null) ? namespace.apply(request) : request;
	}

	private String named(String key) {
		return named(SemaphoreRequest.of(key, 1)).key();
	}

	@Override
	public PermitLease acquire(SemaphoreRequest request) {
		return this.acquirer.acquire(named(request));
	}

	@Override
	public Optional<PermitLease> tryAcquire(SemaphoreRequest request) {
		return this.acquirer.tryAcquire(named(request));
	}

	@Override
	public CompletableFuture<PermitLease> acquireAsync(SemaphoreRequest request) {
		return this.acquirer.acquireAsync(named(request));
	}

	@Override
	public CompletableFuture<Optional<PermitLease>> tryAcquireAsync(SemaphoreRequest request) {
		return this.acquirer.tryAcquireAsync(named(request));
	}

	@Override
	public SemaphoreStatus status(String key) {
		String name = named(key);
		Resource semaphore = semaphore(name);
		Standing state = this.context.awaitAnswer(this.engine.queues.releases.firstAnswers(semaphore)
			.thenCompose((released) -> this.context.inspect(semaphore, 0, 0)), semaphore, "The inspection");
		Integer operatorLimit = state.limit();
		Integer requestedLimit = (state.asked() > 0) ? Integer.valueOf(state.asked()) : null;
		return new StoredSemaphoreStatus(name, (operatorLimit != null) ? operatorLimit : requestedLimit,
				operatorLimit != null, state.used(), state.holderCount(), state.waiting(),
				this.context.awaitAnswer(this.engine.queues.waiting(semaphore), semaphore, "The inspection"));
	}

	private static Resource semaphore(String key) {
		return new Resource(Kind.SEMAPHORE, key);
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
		String name = named(key);
		limit(name, limit);
		logger.info("The limit of semaphore '" + SingleLine.of(name) + "' was set to " + limit);
	}

	@Override
	public boolean clearLimit(String key) {
		String name = named(key);
		boolean cleared = limit(name, null);
		if (cleared) {
			logger.info("The limit of semaphore '" + SingleLine.of(name) + "' was cleared");
		}
		return cleared;
	}

	@Override
	public boolean forceRelease(String key) {
		String name = named(key);
		int count = this.forced.releaseAll(semaphore(name));
		if (count > 0) {
			logger.warn("The permits of semaphore '" + SingleLine.of(name)
					+ "' were released by force in the names of their holders: " + count);
		}
		return count > 0;
	}

	private boolean limit(String key, @Nullable Integer limit) {
		Resource semaphore = semaphore(key);
		return this.context.awaitAnswerToChange(this.context.limit(semaphore, limit), semaphore, "Setting the limit");
	}

	/** State of a semaphore in the store. */
	private record StoredSemaphoreStatus(String key, @Nullable Integer limit, boolean limitSet, int used, int holders,
			int waiting, int waitingInThisInstance) implements SemaphoreStatus {
	}

}
