/**
 * Transactions of a database that are refused under a lease if a later holder has been
 * there. The engine knows nothing of them.
 */
@NullMarked
package io.holdfast.jdbc;

import org.jspecify.annotations.NullMarked;
