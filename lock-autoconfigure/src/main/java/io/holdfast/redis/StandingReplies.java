package io.holdfast.redis;

import java.util.List;
import java.util.Objects;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.IntStream;

import io.holdfast.engine.store.FleetStore.Standing;
import io.holdfast.engine.store.FleetStore.TokenState;
import io.holdfast.engine.store.LeaseStore.KeyState;
import io.holdfast.engine.store.LeaseStore.PermitHolder;
import io.holdfast.engine.store.LeaseStore.PermitState;
import io.holdfast.engine.store.Resource;
import io.holdfast.engine.store.Resource.Kind;
import io.holdfast.redis.script.ScriptReplies;
import org.jspecify.annotations.Nullable;

/**
 * Reads the replies of inspections: holders and queues. A holder that was written by
 * another program, or damaged, is none of an instance; in a queue it is left out.
 */
final class StandingReplies {

	/** The token, of permits how many, and a part for the scripts only. */
	private static final Pattern PERMITS = Pattern.compile("([0-9a-f]{32}:[0-9]{1,18}):([0-9]{1,18})(:.*)?");

	/** The token of a reader, or of one that waits, with its claim and mode. */
	private static final Pattern LOCK = Pattern.compile("([0-9a-f]{32}:[0-9]{1,18}):(?:[0-9]{1,18}:)?(r?)[sp]?");

	private StandingReplies() {
	}

	static Standing nothing(Resource resource) {
		return new Standing(resource, 0, null, 0, 0, 0, List.of(), 0, List.of());
	}

	static Standing semaphore(Resource resource, List<?> reply) {
		List<TokenState> holders = IntStream.range(0, number(reply, 5))
			.mapToObj((i) -> place(reply.get(6 + 2 * i), Kind.SEMAPHORE, ScriptReplies.number(reply.get(7 + 2 * i))))
			.toList();
		return new Standing(resource, 0, limit(reply), number(reply, 1), number(reply, 2), number(reply, 3), holders,
				number(reply, 4), queue(reply, Kind.SEMAPHORE));
	}

	static Standing lock(Resource resource, List<?> reply) {
		KeyState state = keyState(reply);
		String owner = state.owner();
		List<TokenState> holders = (owner != null)
				? List.of(TokenState.of(owner, Kind.LOCK, Resource.ALL, state.ttlMillis()))
				: state.readers()
					.stream()
					.map((reader) -> TokenState.of(reader.token(), Kind.LOCK, 1, reader.ttlMillis()))
					.toList();
		return new Standing(resource, state.fence(), null, 0, 0, (owner != null) ? 1 : state.readerCount(), holders,
				state.waiting(), queue(reply, Kind.LOCK));
	}

	/** Reads the reply for a lock. */
	static KeyState keyState(List<?> reply) {
		Object owner = reply.get(0);
		return new KeyState((owner != null) ? ScriptReplies.text(owner) : null, ScriptReplies.number(reply.get(1)),
				ScriptReplies.number(reply.get(2)), number(reply, 4), number(reply, 3), named(reply, Kind.LOCK));
	}

	/** Reads the reply for a semaphore. */
	static PermitState permitState(List<?> reply) {
		return new PermitState(limit(reply), number(reply, 1), number(reply, 2), number(reply, 3),
				named(reply, Kind.SEMAPHORE), number(reply, 4));
	}

	private static List<PermitHolder> named(List<?> reply, Kind kind) {
		return IntStream.range(0, number(reply, 5))
			.mapToObj((i) -> holder(reply.get(6 + 2 * i), kind, ScriptReplies.number(reply.get(7 + 2 * i))))
			.filter(Objects::nonNull)
			.toList();
	}

	private static @Nullable Integer limit(List<?> reply) {
		return (reply.get(0) != null) ? number(reply, 0) : null;
	}

	private static int number(List<?> reply, int at) {
		return (int) ScriptReplies.number(reply.get(at));
	}

	private static List<TokenState> queue(List<?> reply, Kind kind) {
		return reply.subList(6 + 2 * number(reply, 5), reply.size())
			.stream()
			.map((entry) -> place(entry, kind, 0))
			.filter((place) -> place.instance() != null)
			.toList();
	}

	private static TokenState place(Object entry, Kind kind, long ttlMillis) {
		PermitHolder holder = holder(entry, kind, ttlMillis);
		return (holder != null) ? TokenState.of(holder.token(), kind, holder.permits(), ttlMillis)
				: new TokenState(null, 0, kind, 0, ttlMillis);
	}

	/**
	 * Reads an entry of a holder, or of a queue.
	 * @return the holder, or {@code null} if another program wrote the entry or damaged
	 * it
	 */
	private static @Nullable PermitHolder holder(Object entry, Kind kind, long ttlMillis) {
		Matcher matcher = ((kind == Kind.LOCK) ? LOCK : PERMITS).matcher(ScriptReplies.text(entry));
		if (!matcher.matches()) {
			return null;
		}
		long permits = (kind == Kind.SEMAPHORE) ? Long.parseLong(matcher.group(2))
				: matcher.group(2).isEmpty() ? Resource.ALL : 1;
		return (permits <= Resource.ALL) ? new PermitHolder(matcher.group(1), (int) permits, ttlMillis) : null;
	}

}
