package io.holdfast.engine;

import io.holdfast.LockLease;
import io.holdfast.LockRequest;

/**
 * The locks of a {@link SimulatedInstance}: what views ask for is written down.
 */
final class SimulatedLocks extends DefaultLockService {

	SimulatedLocks(SimulatedInstance instance) {
		super(instance.engine, new Acquirer<>(Acquirer.ofLocks(instance.engine)) {

			@Override
			LockLease await(LockRequest request) throws InterruptedException {
				return ViewUse.current().ask(demand(request), () -> super.await(request));
			}

			@Override
			LockLease awaitUninterruptibly(LockRequest request) {
				return ViewUse.current().askUninterruptibly(demand(request), () -> super.awaitUninterruptibly(request));
			}

		});
	}

	private static Demand demand(LockRequest request) {
		return Demand.of(request, SimulatedInstance.SETTINGS).get(0);
	}

}
