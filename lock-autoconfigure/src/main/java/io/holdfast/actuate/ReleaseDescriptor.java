package io.holdfast.actuate;

import org.jspecify.annotations.Nullable;

import org.springframework.boot.actuate.endpoint.OperationResponseBody;

/**
 * Result of a forced release.
 *
 * @param released whether a holder was released
 * @param problem the reason why a holder was not released; absent otherwise
 */
public record ReleaseDescriptor(boolean released, @Nullable String problem) implements OperationResponseBody {
}
