/**
 * Whether the tests notice when a line of a script is missing or a comparison turned. Run
 * by the profile {@code mutants} only, as it takes long.
 */
@NullMarked
package io.holdfast.mutants;

import org.jspecify.annotations.NullMarked;
