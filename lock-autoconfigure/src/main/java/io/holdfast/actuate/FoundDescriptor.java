package io.holdfast.actuate;

import java.time.Instant;

/**
 * Counts of a search, as endpoints show them.
 *
 * @param matching how many match the search
 * @param total how many there are
 * @param held how many of them are held
 * @param waiting how many wait, in queues or inside of instances, as far as these told
 * @param complete whether all of it was counted; if not, there are at least as many
 * @param counted when it was counted, by the clock of the instance that answers
 * @since 0.1.0
 */
public record FoundDescriptor(int matching, int total, int held, long waiting, boolean complete, Instant counted) {
}
