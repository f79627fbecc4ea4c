package io.holdfast.engine;

import io.holdfast.LockLease;
import io.holdfast.LockRequest;

/**
 * Locks of a {@link SimulatedInstance}, with a record of the requests by views.
 */
final class SimulatedLocks extends DefaultLockService {

	SimulatedLocks(SimulatedInstance instance) {
		super(instance.engine);
	}

	@Override
	LockLease await(LockRequest request) throws InterruptedException {
		return ViewUse.current().ask(request(request), () -> super.await(request));
	}

	@Override
	LockLease awaitUninterruptibly(LockRequest request) {
		return ViewUse.current().askUninterruptibly(request(request), () -> super.awaitUninterruptibly(request));
	}

	private static ResolvedRequest request(LockRequest request) {
		return Settings.resolve(request, SimulatedInstance.SETTINGS).get(0);
	}

}
