package io.holdfast.actuate;

/**
 * What came of a release by force.
 *
 * @param released whether anybody held what was released
 */
public record ReleaseView(boolean released) {
}
