package io.holdfast.engine;

import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Stream;

import io.holdfast.LeaseContext;
import io.holdfast.engine.store.HandOverLimits;
import io.holdfast.engine.store.LeaseStore.AcquireCommand;
import io.holdfast.engine.store.Resource;
import io.holdfast.engine.store.Resource.Kind;
import io.holdfast.engine.store.StoreNotifications;
import org.jspecify.annotations.Nullable;

/**
 * Queues of an instance, and the parts that all queues share. A queue exists while it has
 * a waiter or a hold. Requests enter by {@link #acquire}. Notifications of the store find
 * their queue or hold by the token. Thread-safe.
 */
final class ResourceQueues implements StoreNotifications {

	private final LeaseEngine engine;

	final EngineContext context;

	final LeaseRenewer renewer;

	final TokenReleases releases;

	private final SkipLog skipLog;

	private final HandOverLimits lockHandOver;

	private final HandOverLimits semaphoreHandOver;

	private final int maxWaiters;

	private final int maxWaitersPerKey;

	private final Map<Resource, ResourceQueue> queues = new ConcurrentHashMap<>();

	/** Queues of the places, by token. */
	private final Map<String, ResourceQueue> places = new ConcurrentHashMap<>();

	/** Number of waiters in all queues. */
	private final AtomicInteger waiting = new AtomicInteger();

	/** Number of the last request or place. */
	final AtomicLong lastNumber = new AtomicLong();

	/** Create the queues of an instance. */
	ResourceQueues(LeaseEngine engine) {
		this.engine = engine;
		this.context = engine.context;
		this.renewer = new LeaseRenewer(this.context);
		this.releases = new TokenReleases(this);
		this.skipLog = new SkipLog(this.context);
		EngineSettings settings = this.context.settings;
		this.lockHandOver = settings.lockHandOver();
		this.semaphoreHandOver = settings.semaphoreHandOver();
		this.maxWaiters = settings.maxWaiters();
		this.maxWaitersPerKey = settings.maxWaitersPerKey();
	}

	/** Return the limits of local hand-overs. */
	HandOverLimits handOver(Kind kind) {
		return (kind == Kind.SEMAPHORE) ? this.semaphoreHandOver : this.lockHandOver;
	}

	/**
	 * Return whether the maximum number of waiting requests is reached. Each waiting
	 * request takes memory and perhaps a thread, which must not bring the application
	 * down.
	 * @param waitersOfKey the number of waiters for the key
	 */
	boolean isFull(int waitersOfKey) {
		return waitersOfKey >= this.maxWaitersPerKey || this.waiting.get() >= this.maxWaiters;
	}

	/** Return whether a token has a place or a hold. */
	boolean isInUse(String token) {
		// In this order, as a grant turns a place into a hold.
		return ofPlace(token) != null || this.renewer.find(token) != null;
	}

	/**
	 * Start the acquisition of one resource, or of several together.
	 * @param requests the requests, in sorted order of their keys
	 * @param thread the requesting thread, or {@code null} for an asynchronous request
	 * @param context the lease context of the request
	 * @return the pending acquisition
	 */
	PendingAcquisition<?> acquire(List<ResolvedRequest> requests, @Nullable Thread thread, LeaseContext context) {
		RequestObservation observation = this.context.observers.observe(this.engine, requests);
		return (observation == null || thread == null) ? acquire(requests, thread, context, observation)
				: observation.call(() -> acquire(requests, thread, context, observation));
	}

	private PendingAcquisition<?> acquire(List<ResolvedRequest> requests, @Nullable Thread thread, LeaseContext context,
			@Nullable RequestObservation observation) {
		PendingAcquisition<?> acquisition = (requests.size() == 1)
				? acquire(requests.get(0), thread, context, null, observation)
				: new MultiKeyAcquisition(this, requests, thread, context, observation).start();
		if (requests.get(0).optional()) {
			this.skipLog.follow(requests, acquisition);
		}
		return acquisition;
	}

	/**
	 * Start the acquisition of one resource.
	 * @param request the request
	 * @param thread the requesting thread, or {@code null} for an asynchronous request
	 * @param context the lease context of the request
	 * @param multiKey the request for several keys that this request is a part of, or
	 * {@code null}
	 * @param observation the observation of the request, or {@code null}
	 * @return the waiter
	 */
	Waiter acquire(ResolvedRequest request, @Nullable Thread thread, LeaseContext context,
			Waiter.@Nullable MultiKeyProgress multiKey, @Nullable RequestObservation observation) {
		// Start first: a failed start must not leave a queue behind.
		String instanceId = this.context.ensureStarted();
		ResourceQueue queue = this.queues.compute(request.resource(), (resource, existing) -> {
			ResourceQueue used = (existing != null) ? existing : new ResourceQueue(this, resource);
			used.announced++;
			return used;
		});
		Waiter waiter = new Waiter(queue, instanceId, this.lastNumber.incrementAndGet(), request, thread, context,
				multiKey, observation);
		queue.arrive(waiter);
		return waiter;
	}

	/**
	 * Remove an empty queue, unless an announced request has not arrived yet.
	 * @param arrived the number of arrived requests
	 */
	void forget(ResourceQueue queue, long arrived) {
		this.queues.computeIfPresent(queue.resource,
				(resource, known) -> (known == queue && queue.announced == arrived) ? null : known);
	}

	void addPlace(String token, ResourceQueue queue) {
		this.places.put(token, queue);
	}

	void removePlace(String token) {
		this.places.remove(token);
	}

	void addWaiting(int more) {
		this.waiting.addAndGet(more);
	}

	/** Return the queue with the place of a token, or {@code null}. */
	@Nullable ResourceQueue ofPlace(String token) {
		return this.places.get(token);
	}

	/** Return the queue of a resource, or {@code null} if there is none. */
	@Nullable ResourceQueue find(Resource resource) {
		return this.queues.get(resource);
	}

	/** Return all queues. */
	Stream<ResourceQueue> all() {
		return this.queues.values().stream();
	}

	/** Return a future of the waiters of all queues. */
	CompletableFuture<List<Waiter>> waiters() {
		return waiters(all());
	}

	/**
	 * Return a future of the number of requests that wait for a resource. Requests
	 * without waiting are not counted.
	 */
	CompletableFuture<Integer> waiting(Resource resource) {
		return waiters(Stream.ofNullable(find(resource))).thenApply((waiters) -> (int) waiters.stream()
			.filter((waiter) -> waiter.request.waits() && !waiter.result.isDone())
			.count());
	}

	private static CompletableFuture<List<Waiter>> waiters(Stream<ResourceQueue> queues) {
		List<CompletableFuture<List<Waiter>>> answers = queues.map(ResourceQueue::waiters).toList();
		return CompletableFuture.allOf(answers.toArray(CompletableFuture[]::new))
			.thenApply((done) -> answers.stream().map(CompletableFuture::join).flatMap(List::stream).toList());
	}

	/** Return the number of requests in all queues. */
	int waiting() {
		return this.waiting.get();
	}

	/** Return whether there are no queues and no places. */
	boolean isEmpty() {
		return this.queues.isEmpty() && this.places.isEmpty();
	}

	// Notifications of the store, mostly of grants to waiters of this instance by
	// commands of other holders.

	@Override
	public void granted(Resource resource, String token, long fence, long ttlMillis) {
		dispatch(resource, token, fence, ttlMillis, ttlMillis > 0);
	}

	@Override
	public void grantedUnconfirmed(Resource resource, String token, long fence) {
		dispatch(resource, token, fence, 0, true);
	}

	/**
	 * Pass a notification to the queue of its token.
	 * @param ttlMillis the duration of the grant, or 0 if the waiter must ask again
	 * @param granted whether the token was granted anything
	 */
	private void dispatch(Resource resource, String token, long fence, long ttlMillis, boolean granted) {
		ResourceQueue queue = ofPlace(token);
		if (queue != null) {
			queue.onNotified(token, fence, ttlMillis, granted);
		}
		else {
			onOtherToken(resource, token, fence, granted);
		}
	}

	/** Process a notification for a token without a place. */
	void onOtherToken(Resource resource, String token, long fence, boolean granted) {
		if (this.releases.isUnused(token)) {
			// The waiter has gone: release the grant, so that other waiters need not wait
			// for its expiry.
			this.releases.releaseAfterOther(resource, unknown(token));
		}
		else if (granted) {
			onGrantedAnew(resource, token, fence);
		}
	}

	/**
	 * End a hold whose token was granted again with a newer fence. The store had dropped
	 * the token, and a late copy of its ACQUIRE has queued it again. Other owners may
	 * have had the key in between.
	 */
	private void onGrantedAnew(Resource resource, String token, long fence) {
		Hold hold = this.renewer.find(token);
		if (hold != null && fence > hold.fence) {
			this.renewer.onTokenLost(token, "the store had dropped it, and has granted it again");
			this.releases.release(resource, unknown(token), Hold.NO_DOUBT, null);
		}
	}

	private AcquireCommand unknown(String token) {
		return AcquireCommand.unknown(token, this.context.settings.handoffTimeout().toMillis());
	}

	@Override
	public void ended(String token, long nextFence) {
		Hold hold = this.renewer.find(token);
		this.renewer.onTokenLost(token, nextFence, LeaseRenewer.FORCED);
		if (hold != null && hold.fence < nextFence && hold.isLost() && hold.doubtSince != Hold.NO_DOUBT
				&& !this.releases.isLeftToStore(hold)) {
			// A late copy of the ACQUIRE may have been granted after the forced release.
			this.releases.release(hold);
		}
		ResourceQueue queue = ofPlace(token);
		if (queue != null) {
			queue.onForced(token, nextFence);
		}
	}

	@Override
	public void reportWanted(String report) {
		InstanceDirectory directory = this.engine.directory();
		if (directory != null) {
			directory.answer(report);
		}
	}

	@Override
	public void listening() {
		all().forEach(ResourceQueue::onListening);
	}

}
