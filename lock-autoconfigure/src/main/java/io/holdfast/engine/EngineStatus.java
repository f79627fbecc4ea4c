package io.holdfast.engine;

import org.jspecify.annotations.Nullable;

/**
 * The state of an engine at one moment.
 *
 * @param polling whether its waiters ask at intervals because it is configured so
 * @param listening whether wake-ups reach it
 * @param trouble why they do not, or {@code null} if they do or that is not known
 * @param refusal why the store grants nothing, of all or of some kind: how it refused a
 * request for a lease, or a check that writes, in the last minute. {@code null} if it has
 * granted a lease of the same kind since, or, unless a right or a command is missing,
 * passed a check
 * @param held how many leases it holds in the store: nested leases are not counted
 * @param waiting how many requests wait
 * @param failingRenewals of how many leases the last renewal failed, or was not answered
 * in its time, so that they will be lost if that goes on
 */
public record EngineStatus(boolean polling, boolean listening, @Nullable String trouble, @Nullable String refusal,
		int held, int waiting, int failingRenewals) {
}
