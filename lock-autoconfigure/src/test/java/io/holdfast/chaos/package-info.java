/**
 * Random faults on real processes: instances in JVMs of their own use what they share,
 * and write down what they see; the history of all of them is judged.
 */
@NullMarked
package io.holdfast.chaos;

import org.jspecify.annotations.NullMarked;
