package io.holdfast.engine.store;

/**
 * A danger to leases in the settings of a store or the rights of the application.
 *
 * @param certain whether the danger is certain; otherwise it could not be checked
 * @param text the danger and the remedy: one or more sentences, without the last full
 * stop
 */
public record StoreDiagnostic(boolean certain, String text) {
}
