package io.holdfast.engine.store;

import java.util.List;

import io.holdfast.engine.store.LeaseStore.PermitState;

/**
 * What every {@link LeaseStore} must do with the permits of semaphores: held, waited for
 * and limited.
 */
public abstract class PermitStoreContract extends PermitSuccessionContract {

	protected static final PermitState UNUSED = new PermitState(null, 0, 0, 0, List.of(), 0);

}
