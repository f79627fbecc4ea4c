package io.holdfast.actuate;

import org.jspecify.annotations.Nullable;

import org.springframework.boot.actuate.endpoint.OperationResponseBody;

/**
 * The result of a release by force.
 *
 * @param released whether there was a holder
 * @param problem why the holder was left alone; absent otherwise
 */
public record ReleaseDescriptor(boolean released, @Nullable String problem) implements OperationResponseBody {
}
