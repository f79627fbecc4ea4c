package io.holdfast.engine;

import java.util.List;

import io.holdfast.LockMode;
import io.holdfast.engine.store.Resource.Kind;
import org.jspecify.annotations.Nullable;

/**
 * One request as observers see it, whether it is for one key or for several together.
 *
 * @param engine the engine that was asked, for questions to its store only
 * @param kind the kind of resource
 * @param keys the keys, in the order in which they are acquired
 * @param mode how locks are asked for; {@code null} for semaphores
 * @param permits how many permits; 0 for locks
 * @param name the name in the request, or {@code null}
 * @param optional whether the caller goes on without it
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
