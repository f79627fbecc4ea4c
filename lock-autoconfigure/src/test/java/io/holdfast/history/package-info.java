/**
 * What happened to locks and permits, in one JVM or in several, in virtual time or in
 * real, as plain events; and who judges whether it may happen.
 */
@NullMarked
package io.holdfast.history;

import org.jspecify.annotations.NullMarked;
