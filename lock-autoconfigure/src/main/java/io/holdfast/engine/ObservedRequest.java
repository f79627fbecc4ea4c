package io.holdfast.engine;

import java.util.List;

import io.holdfast.LockMode;
import io.holdfast.engine.store.Resource.Kind;
import org.jspecify.annotations.Nullable;

/**
 * One request as observers see it, whether it is for one key or for several together.
 *
 * @param engine the engine that was asked
 * @param kind the kind of resource
 * @param keys the keys, in the order in which they are acquired
 * @param mode how locks are asked for; {@code null} for semaphores
 * @param permits how many permits; 0 for locks
 * @param name the name in the request, or {@code null}
 * @param optional whether the caller goes on without it
 * @since 0.1.0
 */
public record ObservedRequest(ObservedEngine engine, Kind kind, List<String> keys, @Nullable LockMode mode, int permits,
		@Nullable String name, boolean optional) {

	static ObservedRequest of(ObservedEngine engine, List<ResolvedRequest> requests) {
		ResolvedRequest first = requests.get(0);
		Kind kind = first.resource().kind();
		List<String> keys = requests.stream().map((request) -> request.resource().key()).toList();
		return new ObservedRequest(engine, kind, keys, mode(first), (kind == Kind.SEMAPHORE) ? first.permits() : 0,
				first.name(), first.optional());
	}

	private static @Nullable LockMode mode(ResolvedRequest request) {
		return switch (request.resource().kind()) {
			case LOCK -> request.reads() ? LockMode.READ : LockMode.EXCLUSIVE;
			case SEMAPHORE -> null;
		};
	}

}
