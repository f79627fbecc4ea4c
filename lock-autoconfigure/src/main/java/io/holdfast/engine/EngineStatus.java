package io.holdfast.engine;

import org.jspecify.annotations.Nullable;

/**
 * State of an engine at one moment.
 *
 * @param polling whether the engine is configured to poll instead of receiving
 * notifications
 * @param listening whether the engine receives notifications
 * @param trouble the reason why it does not receive notifications, or {@code null} if it
 * does or the reason is not known
 * @param refusal the reason why the store grants no locks or no permits: the last refusal
 * of a request or of a check that writes, if it is less than a minute old. {@code null}
 * if the store has granted a lease of this kind since. Also {@code null} if the store has
 * passed a check since, unless a right or a command is missing
 * @param held the number of leases in the store, without nested leases
 * @param waiting the number of waiting requests
 * @param failingRenewals the number of leases whose last renewal failed or was not
 * answered in time
 */
public record EngineStatus(boolean polling, boolean listening, @Nullable String trouble, @Nullable String refusal,
		int held, int waiting, int failingRenewals) {
}
