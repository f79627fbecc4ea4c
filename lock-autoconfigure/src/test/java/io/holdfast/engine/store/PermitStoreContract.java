package io.holdfast.engine.store;

/**
 * What every {@link LeaseStore} must do with the permits of semaphores: held, waited for
 * and limited.
 */
public abstract class PermitStoreContract extends PermitSuccessionContract {

}
