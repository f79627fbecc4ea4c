package io.holdfast.engine;

import io.holdfast.LockLease;
import io.holdfast.LockRequest;
import io.holdfast.engine.store.Resource.Kind;

/**
 * The locks of a {@link SimulatedInstance}: what views ask for is written down.
 */
final class SimulatedLocks extends DefaultLockService {

	SimulatedLocks(SimulatedInstance instance) {
		super(instance.engine, new LeaseAcquirer<>(instance.engine.queues, Kind.LOCK, LockLease.class) {

			@Override
			protected LockLease await(LockRequest request) throws InterruptedException {
				return ViewUse.current().ask(request(request), () -> super.await(request));
			}

			@Override
			public LockLease awaitUninterruptibly(LockRequest request) {
				return ViewUse.current()
					.askUninterruptibly(request(request), () -> super.awaitUninterruptibly(request));
			}

		});
	}

	private static ResolvedRequest request(LockRequest request) {
		return Settings.resolve(request, SimulatedInstance.SETTINGS).get(0);
	}

}
