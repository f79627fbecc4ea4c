/**
 * API for applications: services that grant leases on keys, the leases, and their
 * exceptions.
 */
@NullMarked
package io.holdfast;

import org.jspecify.annotations.NullMarked;
