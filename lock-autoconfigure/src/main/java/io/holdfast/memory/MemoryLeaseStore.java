package io.holdfast.memory;

import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;
import java.util.regex.Pattern;

import io.holdfast.engine.store.FleetStore;
import io.holdfast.engine.store.FleetStore.Find;
import io.holdfast.engine.store.FleetStore.Page;
import io.holdfast.engine.store.FleetStore.Trace;
import io.holdfast.engine.store.InstanceStore;
import io.holdfast.engine.store.LeaseStore;
import io.holdfast.engine.store.LeaseStore.Standing;
import io.holdfast.engine.store.Resource;
import io.holdfast.engine.store.Resource.Kind;
import io.holdfast.engine.store.StoreCommandException;
import io.holdfast.engine.store.StoreNotifications;
import org.jspecify.annotations.Nullable;

/**
 * {@link LeaseStore} inside the JVM: one instance's access to shared
 * {@link MemoryLeases}. Every command is answered at once. Thread-safe.
 */
public final class MemoryLeaseStore implements LeaseStore {

	private static final HexFormat HEX = HexFormat.of();

	/** Format of a cursor: the last key of a page in hexadecimal. */
	private static final Pattern CURSOR = Pattern.compile("([0-9a-f]{2})+");

	private final MemoryLeases leases;

	private final MemoryInstanceStore instances;

	private volatile String instanceId = "";

	private volatile boolean listening;

	private volatile boolean counted;

	private volatile boolean closed;

	private volatile @Nullable StoreNotifications notifications;

	/**
	 * Create the store of an instance.
	 * @param leases the shared leases
	 */
	public MemoryLeaseStore(MemoryLeases leases) {
		this.leases = leases;
		this.instances = new MemoryInstanceStore(this, leases);
	}

	@Override
	public String place() {
		return "the memory of this JVM (holdfast.backend=memory), where they exclude no other process";
	}

	@Override
	public void start(String instanceId, StoreNotifications notifications) {
		this.instanceId = instanceId;
		this.listening = true;
		this.counted = true;
		this.notifications = notifications;
		this.leases.listeners.put(instanceId, this);
		notifications.listening();
	}

	@Override
	public void stop() {
		this.listening = false;
		this.leases.listeners.remove(this.instanceId);
	}

	/**
	 * Simulate the loss of the subscription, or its recovery.
	 * @param listening whether to receive notifications
	 */
	public void setListening(boolean listening) {
		this.listening = listening;
	}

	/**
	 * Simulate a subscription that receives messages but is not counted as a subscriber,
	 * such as a subscription at a replica.
	 * @param counted whether this store is counted as a subscriber
	 */
	public void setCounted(boolean counted) {
		this.counted = counted;
	}

	@Override
	public boolean isListening() {
		return this.listening;
	}

	@Override
	public long reconnects() {
		return 0;
	}

	@Override
	public CompletableFuture<AcquireReply> acquire(Resource resource, AcquireCommand command, boolean enqueue) {
		boolean polls = !this.listening;
		return answer(() -> this.leases.run(resource, (stored) -> stored.acquire(command, polls, enqueue)));
	}

	@Override
	public CompletableFuture<ReleaseReply> release(Resource resource, AcquireCommand ended,
			@Nullable AcquireCommand next) {
		boolean polls = !this.listening;
		return answer(() -> this.leases.run(resource, (stored) -> stored.release(ended.token(), next, polls)));
	}

	@Override
	public CompletableFuture<List<Boolean>> force(Resource resource, List<String> tokens) {
		return answer(() -> this.leases.run(resource, (stored) -> stored.force(tokens)));
	}

	@Override
	public int partOf(Resource resource) {
		return 0;
	}

	@Override
	public CompletableFuture<List<Boolean>> renew(List<Renewal> renewals) {
		return answer(() -> renewals.stream()
			.map((renewal) -> this.leases.run(renewal.resource(), (stored) -> stored.renew(renewal)))
			.toList());
	}

	@Override
	public CompletableFuture<ReleaseReply> retain(Renewal lease) {
		return answer(() -> this.leases.run(lease.resource(), (stored) -> stored.retain(lease)));
	}

	@Override
	public CompletableFuture<Standing> inspect(Resource resource, int maxHolders, int maxWaiters) {
		return answer(() -> this.leases.run(resource, (stored) -> stored.inspect(maxHolders, maxWaiters)));
	}

	@Override
	public CompletableFuture<Boolean> limit(Resource resource, @Nullable Integer limit) {
		return answer(() -> this.leases.run(resource, (stored) -> ((MemoryPermits) stored).limit(limit)));
	}

	@Override
	public FleetStore fleet() {
		return this::scan;
	}

	private CompletableFuture<Page> scan(Kind kind, @Nullable String cursor, int wanted) {
		String behind = (cursor != null) ? key(cursor) : "";
		return answer(() -> {
			List<String> keys = this.leases.keys(kind, behind, wanted);
			List<Find> finds = keys.stream()
				.map((key) -> new Find(key,
						trace(this.leases.run(new Resource(kind, key), (stored) -> stored.inspect(1, 0)))))
				.toList();
			boolean more = keys.size() == wanted;
			return new Page(finds, more ? HEX.formatHex(keys.get(wanted - 1).getBytes(StandardCharsets.UTF_8)) : null);
		});
	}

	private static String key(String cursor) {
		if (!CURSOR.matcher(cursor).matches()) {
			throw new IllegalArgumentException(
					"The cursor does not come from a page of this list: leave it out to begin with the first page");
		}
		return new String(HEX.parseHex(cursor), StandardCharsets.UTF_8);
	}

	private static Trace trace(Standing standing) {
		if (standing.holderCount() > 0) {
			return Trace.HOLDERS;
		}
		return (standing.limit() != null) ? Trace.LIMIT : Trace.QUEUE;
	}

	@Override
	public InstanceStore instances() {
		return this.instances;
	}

	/**
	 * Run a command, and return its completed future. The future has failed if this store
	 * is closed.
	 */
	<T extends @Nullable Object> CompletableFuture<T> answer(Supplier<T> command) {
		return this.closed
				? CompletableFuture
					.failedFuture(new StoreCommandException("The store of the leases was closed", false, null))
				: CompletableFuture.completedFuture(command.get());
	}

	/**
	 * Return the receiver of notifications, or {@code null} if this store does not
	 * receive any.
	 */
	@Nullable StoreNotifications notifications() {
		return this.listening ? this.notifications : null;
	}

	/** Return whether this store is counted as a subscriber. */
	boolean isCounted() {
		return this.listening && this.counted;
	}

	@Override
	public void close() {
		this.closed = true;
		stop();
	}

}
