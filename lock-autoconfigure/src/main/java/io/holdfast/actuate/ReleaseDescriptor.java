package io.holdfast.actuate;

import org.springframework.boot.actuate.endpoint.OperationResponseBody;

/**
 * The result of a release by force.
 *
 * @param released whether there was a holder
 * @since 0.1.0
 */
public record ReleaseDescriptor(boolean released) implements OperationResponseBody {
}
