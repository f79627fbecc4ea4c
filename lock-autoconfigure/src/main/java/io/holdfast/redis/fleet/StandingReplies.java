package io.holdfast.redis.fleet;

import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import java.util.stream.Stream;

import io.holdfast.engine.store.FleetStore.Place;
import io.holdfast.engine.store.FleetStore.Standing;
import io.holdfast.engine.store.LeaseStore.PermitHolder;
import io.holdfast.engine.store.Resource;
import io.holdfast.engine.store.Resource.Kind;
import io.holdfast.redis.script.ScriptReplies;
import org.jspecify.annotations.Nullable;

/**
 * Reads what the scripts that look reply of holders and queues. A holder that was written
 * by another program, or damaged, is none of an instance; in a queue it is left out.
 */
public final class StandingReplies {

	/** The token, of permits how many, and what matters to the scripts only. */
	private static final Pattern ENTRY = Pattern.compile("([0-9a-f]{32}:[0-9]{1,18}):([0-9]{1,18})(:.*)?");

	private StandingReplies() {
	}

	static Standing nothing(Resource resource) {
		return new Standing(resource, 0, null, 0, 0, 0, List.of(), 0, List.of());
	}

	static Standing semaphore(Resource resource, List<?> reply) {
		Object limit = reply.get(0);
		int named = number(reply, 5);
		List<Place> holders = holders(reply, 6, named, Kind.SEMAPHORE);
		List<Place> queue = queue(reply, 6 + 2 * named, reply.size(), Kind.SEMAPHORE);
		return new Standing(resource, 0, (limit != null) ? (int) ScriptReplies.number(limit) : null, number(reply, 1),
				number(reply, 2), number(reply, 3), holders, number(reply, 4), queue);
	}

	static Standing lock(String key, List<?> reply) {
		Object owner = reply.get(0);
		boolean shared = ScriptReplies.flag(reply.get(4));
		int waiting = number(reply, 3);
		int sharing = number(reply, 6);
		int named = number(reply, 7);
		int queueAt = 8 + 2 * named;
		int othersAt = queueAt + 1 + number(reply, queueAt);
		List<Place> queue = Stream
			.concat(queue(reply, queueAt + 1, othersAt, Kind.LOCK).stream(),
					queue(reply, othersAt, reply.size(), Kind.READ_WRITE).stream())
			.toList();
		List<Place> holders = shared ? holders(reply, 8, named, Kind.READ_WRITE)
				: (owner != null)
						? List.of(Place.of(ScriptReplies.text(owner), Kind.LOCK, 1, ScriptReplies.number(reply.get(1))))
						: List.of();
		boolean readWrite = shared || owner == null && waiting == 0 && sharing > 0;
		return new Standing(new Resource(readWrite ? Kind.READ_WRITE : Kind.LOCK, key),
				ScriptReplies.number(reply.get(2)), null, 0, 0, shared ? number(reply, 5) : holders.size(), holders,
				waiting + sharing, queue);
	}

	private static int number(List<?> reply, int at) {
		return (int) ScriptReplies.number(reply.get(at));
	}

	private static List<Place> holders(List<?> reply, int from, int count, Kind kind) {
		return IntStream.range(0, count)
			.map((i) -> from + 2 * i)
			.boxed()
			.map((at) -> place(reply.get(at), kind, ScriptReplies.number(reply.get(at + 1))))
			.toList();
	}

	private static List<Place> queue(List<?> reply, int from, int to, Kind kind) {
		return reply.subList(from, to)
			.stream()
			.map((entry) -> place(entry, kind, 0))
			.filter((place) -> place.instance() != null)
			.toList();
	}

	private static Place place(Object entry, Kind kind, long ttlMillis) {
		PermitHolder holder = holder(entry, kind, ttlMillis);
		return (holder != null) ? Place.of(holder.token(), kind, holder.permits(), ttlMillis)
				: new Place(null, 0, kind, 0, ttlMillis);
	}

	/**
	 * Reads an entry of a holder, or of a queue.
	 * @return the holder, or {@code null} if another program wrote the entry or damaged
	 * it
	 */
	public static @Nullable PermitHolder holder(Object entry, Kind kind, long ttlMillis) {
		Matcher matcher = ENTRY.matcher(ScriptReplies.text(entry));
		if (!matcher.matches()) {
			return null;
		}
		long permits = (kind == Kind.LOCK) ? 1 : Long.parseLong(matcher.group(2));
		return (permits <= Resource.ALL) ? new PermitHolder(matcher.group(1), (int) permits, ttlMillis) : null;
	}

}
