package io.holdfast.engine;

import java.time.Duration;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;

import io.holdfast.LockLease;
import io.holdfast.LockRequest;
import io.holdfast.ReleaseResult;
import io.holdfast.async.BlockingWait;
import io.holdfast.async.FencedLease;
import io.holdfast.async.PromptAction;
import io.holdfast.async.SingleLine;
import io.holdfast.engine.store.Resource;

/**
 * One lease of several locks, which is held while the leases of all locks are held.
 */
final class MultiKeyLease extends EngineLease implements LockLease, FencedLease {

	private final List<LeaseHandle> parts;

	private final List<String> keys;

	/** Resource whose key lists all keys, for messages. */
	private final Resource resource;

	/** Create the lease. */
	MultiKeyLease(List<LeaseHandle> parts) {
		this.parts = List.copyOf(parts);
		this.keys = parts.stream().map(LeaseHandle::key).toList();
		this.resource = new Resource(parts.get(0).hold.resource().kind(), LockRequest.ofAll(this.keys).key());
	}

	/** Return the leases of the keys, in the order of the keys. */
	List<LeaseHandle> parts() {
		return this.parts;
	}

	/** Note that all keys are granted: the user's time begins. */
	void endWaitForOthers(long now) {
		this.parts.forEach((part) -> part.hold.endWaitForOthers(part, now));
	}

	@Override
	EngineContext context() {
		return this.parts.get(0).context();
	}

	@Override
	List<Hold> holds() {
		return this.parts.stream().map((part) -> part.hold).toList();
	}

	@Override
	Resource resource() {
		return this.resource;
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
		return this.parts.get(0).request.fenced();
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
	public void onLost(Runnable action) {
		if (action instanceof PromptAction) {
			// Prompt actions tolerate several calls.
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
		return this.parts.get(0).isReleased();
	}

	/** Release all locks at once: only acquisitions need the order. */
	@Override
	CompletableFuture<ReleaseResult> startRelease(boolean used, boolean blocking) {
		List<CompletableFuture<ReleaseResult>> results = this.parts.stream()
			.map((part) -> part.startRelease(used, blocking))
			.toList();
		return CompletableFuture.allOf(results.toArray(CompletableFuture[]::new)).thenApply((done) -> {
			boolean lost = results.stream().map(CompletableFuture::join).anyMatch(ReleaseResult.LOST::equals);
			return lost ? ReleaseResult.LOST : BlockingWait.join(results.get(0));
		});
	}

	@Override
	CompletableFuture<?> startUnawaitedRelease(boolean blocking) {
		return CompletableFuture.allOf(this.parts.stream()
			.map((part) -> part.startUnawaitedRelease(blocking))
			.toArray(CompletableFuture[]::new));
	}

	@Override
	void tellObservers() {
		this.parts.forEach(LeaseHandle::tellObservers);
	}

	@Override
	public String toString() {
		return "MultiKeyLease[" + SingleLine.of(key()) + ", "
				+ (isHeld() ? remaining().toMillis() + " ms left" : "not held") + "]";
	}

}
