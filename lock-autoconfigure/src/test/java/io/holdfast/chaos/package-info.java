/**
 * Random faults on real processes: instances in JVMs of their own use shared keys and
 * write histories, which are judged together.
 */
@NullMarked
package io.holdfast.chaos;

import org.jspecify.annotations.NullMarked;
