package io.holdfast.actuate;

import org.springframework.boot.actuate.endpoint.OperationResponseBody;

/**
 * What came of a release by force.
 *
 * @param released whether anybody held what was released
 */
public record ReleaseView(boolean released) implements OperationResponseBody {
}
