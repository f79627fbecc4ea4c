package io.holdfast.memory;

import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;
import java.util.regex.Pattern;

import org.jspecify.annotations.Nullable;

import io.holdfast.engine.LeaseStore;
import io.holdfast.engine.Resource;
import io.holdfast.engine.StoreFailure;

/**
 * A {@link LeaseStore} inside the JVM: one instance's access to {@link MemoryLeases} that
 * it shares with others. Every command is answered at once. Thread-safe.
 */
public final class MemoryLeaseStore implements LeaseStore {

	static final Pattern TOKEN = Pattern.compile("[0-9a-f]{32}:[0-9]+");

	private final MemoryLeases leases;

	private volatile String instanceId = "";

	private volatile boolean listening;

	private volatile boolean closed;

	/**
	 * Create one instance's access.
	 * @param leases what is shared
	 */
	public MemoryLeaseStore(MemoryLeases leases) {
		this.leases = leases;
	}

	@Override
	public void start(String instanceId, WakeUps wakeUps) {
		this.instanceId = instanceId;
		this.listening = true;
		this.leases.listen(instanceId, wakeUps, () -> this.listening);
		wakeUps.listening();
	}

	@Override
	public void stop() {
		this.listening = false;
		this.leases.unlisten(this.instanceId);
	}

	/**
	 * Stop or resume receiving wake-ups, as if the subscription was lost.
	 * @param listening whether to receive them
	 */
	public void setListening(boolean listening) {
		this.listening = listening;
	}

	@Override
	public boolean isListening() {
		return this.listening;
	}

	@Override
	public boolean isOrdered() {
		return true;
	}

	@Override
	public CompletableFuture<AcquireReply> acquire(Resource resource, Ask ask, boolean enqueue) {
		return answer(() -> this.leases.acquire(resource.key(),
				new MemoryLeases.Queued(ask.token(), ask.claimMillis(), !this.listening), ask.leaseMillis(), enqueue));
	}

	@Override
	public CompletableFuture<ReleaseReply> release(Resource resource, Ask ended, @Nullable Ask next) {
		return answer(() -> this.leases.release(resource.key(), ended.token(), next, !this.listening));
	}

	@Override
	public int partOf(Resource resource) {
		return 0;
	}

	@Override
	public CompletableFuture<List<Boolean>> renew(List<Renewal> renewals) {
		return answer(() -> this.leases.renew(renewals));
	}

	@Override
	public CompletableFuture<KeyState> inspect(Resource resource) {
		return answer(() -> this.leases.inspect(resource.key()));
	}

	@Override
	public CompletableFuture<Boolean> shrink(Resource resource, Ask held, int kept) {
		throw new UnsupportedOperationException();
	}

	@Override
	public CompletableFuture<PermitState> inspectPermits(Resource resource, int maxHolders) {
		throw new UnsupportedOperationException();
	}

	@Override
	public CompletableFuture<Boolean> limit(Resource resource, @Nullable Integer limit) {
		throw new UnsupportedOperationException();
	}

	private <T> CompletableFuture<T> answer(Supplier<T> command) {
		return this.closed
				? CompletableFuture.failedFuture(new StoreFailure("The store of the leases was closed", false, null))
				: CompletableFuture.completedFuture(command.get());
	}

	@Override
	public void close() {
		this.closed = true;
		stop();
	}

}
