package io.holdfast.engine;

import java.time.Duration;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Function;

import io.holdfast.LeaseStoreException;
import io.holdfast.LockLease;
import io.holdfast.LockRequest;
import io.holdfast.ReleaseResult;
import io.holdfast.async.CallResult;
import io.holdfast.async.FencedLease;
import io.holdfast.async.PromptAction;
import io.holdfast.async.SingleLine;
import io.holdfast.engine.store.Resource;
import org.jspecify.annotations.Nullable;

/**
 * The leases of several locks as one, which is held as long as all of them are.
 */
final class MultiKeyLease implements EngineLease, LockLease, FencedLease {

	private final EngineContext context;

	private final LeaseRenewer renewer;

	private final List<LeaseHandle> parts;

	private final List<String> keys;

	/** All of it, for messages. */
	private final Resource resource;

	private final AtomicBoolean released = new AtomicBoolean();

	private volatile @Nullable String refusal;

	private volatile boolean passed;

	/** Create the lease of several keys. */
	MultiKeyLease(EngineContext context, LeaseRenewer renewer, List<LeaseHandle> parts) {
		this.context = context;
		this.renewer = renewer;
		this.parts = List.copyOf(parts);
		this.keys = parts.stream().map(LeaseHandle::key).toList();
		this.resource = new Resource(parts.get(0).hold.resource().kind(), LockRequest.ofAll(this.keys).key());
	}

	/** Return the leases of the keys, in their order. */
	List<LeaseHandle> parts() {
		return this.parts;
	}

	/** Note that no keys are waited for any more: the time of its user begins. */
	void endWaitForOthers(long now) {
		this.parts.forEach((part) -> part.endWaitForOthers(now));
	}

	@Override
	public List<Hold> openHolds() {
		return this.parts.stream().map(LeaseHandle::openHolds).flatMap(List::stream).toList();
	}

	@Override
	public CompletableFuture<ReleaseResult> discardAsync() {
		return releaseParts(LeaseHandle::discardAsync);
	}

	@Override
	public String key() {
		return this.resource.key();
	}

	@Override
	public List<String> keys() {
		return this.keys;
	}

	@Override
	public long fencingToken() {
		throw new IllegalStateException(
				"A lease of several keys has a fencing token for each of them: use fencingToken(key)");
	}

	@Override
	public long fencingToken(String key) {
		return this.parts.stream()
			.filter((part) -> part.key().equals(key))
			.mapToLong((part) -> part.hold.fence)
			.findFirst()
			.orElseThrow(() -> new IllegalArgumentException(
					SingleLine.of("'" + key + "' is none of the keys of this lease, which are " + key())));
	}

	@Override
	public boolean isFenced() {
		return this.parts.get(0) instanceof LockLease part && part.isFenced();
	}

	@Override
	public String fenceName(String key) {
		return this.context.fenceName(key);
	}

	@Override
	public void refuse(String key, String why, String message) {
		if (this.refusal == null) {
			this.refusal = message;
		}
		for (LeaseHandle part : this.parts) {
			if (part.key().equals(key) && part instanceof FencedLease fenced) {
				fenced.refuse(key, why, message);
			}
		}
	}

	@Override
	public @Nullable String refusal() {
		return this.refusal;
	}

	@Override
	public void passed() {
		this.passed = true;
	}

	@Override
	public boolean hasPassed() {
		return this.passed;
	}

	@Override
	public boolean isHeld() {
		return this.parts.stream().allMatch(LeaseHandle::isHeld);
	}

	@Override
	public Duration remaining() {
		return this.parts.stream().map(LeaseHandle::remaining).min(Comparator.naturalOrder()).orElseThrow();
	}

	@Override
	public void ensureHeld() {
		this.parts.forEach(LeaseHandle::ensureHeld);
	}

	@Override
	public void extend(Duration leaseTime) {
		LeaseHandle.checkRenewal(leaseTime, this.resource);
		ensureHeld();
		this.context.awaitAnswer(renewAsync(leaseTime.toMillis()), this.resource, "The renewal");
		ensureHeld();
	}

	/** Renew all parts, those together that the store keeps together. */
	CompletableFuture<Void> renewAsync(long millis) {
		List<Hold> holds = this.parts.stream().map((part) -> part.hold).toList();
		return this.renewer.renewNow(holds, millis);
	}

	@Override
	public void onLost(Runnable action) {
		if (action instanceof PromptAction) {
			// It may run more than once.
			this.parts.forEach((part) -> part.onLost(action));
			return;
		}
		AtomicBoolean first = new AtomicBoolean(true);
		Runnable once = () -> {
			if (first.getAndSet(false)) {
				action.run();
			}
		};
		this.parts.forEach((part) -> part.onLost(once));
	}

	@Override
	public void waiveMinHold() {
		this.parts.forEach(LeaseHandle::waiveMinHold);
	}

	@Override
	public void markCallerGone() {
		this.parts.forEach(LeaseHandle::markCallerGone);
	}

	@Override
	public boolean isReleased() {
		return this.released.get();
	}

	@Override
	public ReleaseResult release() {
		return Futures.await(this.context.scheduler, releaseParts(LeaseHandle::startBlockingRelease),
				this.context.releasePatience(), (error) -> (error instanceof LeaseStoreException trouble) ? trouble
						: EngineExceptions.releaseTrouble(this.resource, error));
	}

	@Override
	public CompletableFuture<ReleaseResult> releaseAsync() {
		return releaseParts(LeaseHandle::startRelease).whenCompleteAsync(
				(result, error) -> this.parts.forEach(LeaseHandle::tellObservers), this.context::executeCode);
	}

	@Override
	public void close() {
		this.context.awaitSent(sendRelease(), this.resource);
	}

	@Override
	public CompletableFuture<?> sendRelease() {
		return sendParts(LeaseHandle::sendRelease);
	}

	@Override
	public CompletableFuture<?> sendReleaseAsync() {
		return sendParts(LeaseHandle::sendReleaseAsync);
	}

	private CompletableFuture<?> sendParts(Function<LeaseHandle, CompletableFuture<?>> release) {
		return this.released.compareAndSet(false, true)
				? CompletableFuture.allOf(this.parts.stream().map(release).toArray(CompletableFuture[]::new))
				: CompletableFuture.completedFuture(null);
	}

	/** Release all at once: the order only matters for acquiring. */
	private CompletableFuture<ReleaseResult> releaseParts(
			Function<LeaseHandle, CompletableFuture<ReleaseResult>> release) {
		if (!this.released.compareAndSet(false, true)) {
			return CompletableFuture.completedFuture(ReleaseResult.ALREADY_RELEASED);
		}
		List<CompletableFuture<ReleaseResult>> results = this.parts.stream().map(release).toList();
		CompletableFuture<ReleaseResult> result = new CompletableFuture<>();
		CompletableFuture.allOf(results.toArray(CompletableFuture[]::new)).whenComplete((done, error) -> {
			if (error != null) {
				result.completeExceptionally(CallResult.cause(error));
			}
			else {
				boolean lost = results.stream().map(CompletableFuture::join).anyMatch(ReleaseResult.LOST::equals);
				result.complete(lost ? ReleaseResult.LOST : ReleaseResult.RELEASED);
			}
		});
		return result;
	}

	@Override
	public String toString() {
		return "MultiKeyLease[" + SingleLine.of(key()) + ", "
				+ (isHeld() ? remaining().toMillis() + " ms left" : "not held") + "]";
	}

}
