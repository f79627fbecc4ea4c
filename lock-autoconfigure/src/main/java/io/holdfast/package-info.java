/**
 * The API of applications: services that grant leases on keys, the leases, and the few
 * errors.
 */
@NullMarked
package io.holdfast;

import org.jspecify.annotations.NullMarked;
