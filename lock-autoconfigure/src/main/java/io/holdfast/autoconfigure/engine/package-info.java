/**
 * Beans around engines: what connects them with the application, and starts, examines and
 * stops them.
 */
@NullMarked
package io.holdfast.autoconfigure.engine;

import org.jspecify.annotations.NullMarked;
