/**
 * Auto-configuration and properties.
 */
@NullMarked
package io.holdfast.autoconfigure;

import org.jspecify.annotations.NullMarked;
