/**
 * What is observed and counted, as registries, scrapes and traces show it.
 */
@NullMarked
package io.holdfast.observation;

import org.jspecify.annotations.NullMarked;
