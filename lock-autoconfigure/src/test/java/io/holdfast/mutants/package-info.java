/**
 * Checks that tests notice a missing line or a turned comparison of a script. Run by the
 * profile {@code mutants} only, since the checks take long.
 */
@NullMarked
package io.holdfast.mutants;

import org.jspecify.annotations.NullMarked;
