package io.holdfast.engine.store;

/**
 * Contract of every {@link LeaseStore} for permits of semaphores: holders, waiters and
 * limits.
 */
public abstract class PermitStoreContract extends PermitSuccessionContract {

}
