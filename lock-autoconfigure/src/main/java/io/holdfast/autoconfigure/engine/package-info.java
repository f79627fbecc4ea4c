/**
 * Beans that connect engines with the application, and start, examine and stop them.
 */
@NullMarked
package io.holdfast.autoconfigure.engine;

import org.jspecify.annotations.NullMarked;
