package io.holdfast.engine.store;

/**
 * Something about a store that may harm leases.
 *
 * @param certain whether it is known to be so; if not, it could not be found out
 * @param text the danger and the cure: one sentence or more, without the last full stop
 */
public record StoreDiagnostic(boolean certain, String text) {
}
