package io.holdfast.memory;

import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.regex.Pattern;

import io.holdfast.engine.store.FleetStore;
import io.holdfast.engine.store.LeaseStore.Standing;
import io.holdfast.engine.store.Resource;
import io.holdfast.engine.store.Resource.Kind;
import org.jspecify.annotations.Nullable;

/**
 * Operators' view of {@link MemoryLeases}. Every command is answered at once.
 * Thread-safe.
 */
final class MemoryFleetStore implements FleetStore {

	private static final HexFormat HEX = HexFormat.of();

	/** Format of a cursor: the last key of a page in hexadecimal. */
	private static final Pattern CURSOR = Pattern.compile("([0-9a-f]{2})+");

	private final MemoryLeaseStore store;

	private final MemoryLeases leases;

	MemoryFleetStore(MemoryLeaseStore store, MemoryLeases leases) {
		this.store = store;
		this.leases = leases;
	}

	@Override
	public CompletableFuture<Page> scan(Kind kind, @Nullable String cursor, int wanted) {
		String behind = (cursor != null) ? key(cursor) : "";
		return this.store.answer(() -> {
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

}
