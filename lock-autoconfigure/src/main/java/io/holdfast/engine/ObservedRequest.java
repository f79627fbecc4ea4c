package io.holdfast.engine;

import java.util.List;

import io.holdfast.LockMode;
import io.holdfast.engine.store.Resource.Kind;
import org.jspecify.annotations.Nullable;

/**
 * Request from an observer's view, for one key or for several keys.
 *
 * @param engine the engine of the request, only for queries of its store
 * @param kind the kind of resource
 * @param keys the keys, in the order in which they are acquired
 * @param mode the mode of a lock; {@code null} for semaphores
 * @param permits the number of permits; 0 for locks
 * @param name the name of the request, or {@code null}
 * @param optional whether the caller goes on without the lease
 * @since 0.1.0
 */
public record ObservedRequest(LeaseEngine engine, Kind kind, List<String> keys, @Nullable LockMode mode, int permits,
		@Nullable String name, boolean optional) {

	static ObservedRequest of(LeaseEngine engine, List<ResolvedRequest> requests) {
		ResolvedRequest first = requests.get(0);
		boolean semaphore = first.resource().kind() == Kind.SEMAPHORE;
		LockMode mode = first.reads() ? LockMode.READ : LockMode.EXCLUSIVE;
		return new ObservedRequest(engine, first.resource().kind(),
				requests.stream().map((request) -> request.resource().key()).toList(), semaphore ? null : mode,
				semaphore ? first.permits() : 0, first.name(), first.optional());
	}

}
