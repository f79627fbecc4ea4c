/**
 * Checks of fencing tokens in database transactions, which refuse late holders.
 * Independent of the engine.
 */
@NullMarked
package io.holdfast.jdbc;

import org.jspecify.annotations.NullMarked;
