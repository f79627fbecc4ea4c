package io.holdfast.aop;

import io.holdfast.async.SetupException;
import org.jspecify.annotations.Nullable;

/**
 * Thrown when an annotation of Holdfast cannot be applied as declared. Thrown while the
 * annotated bean is created, so that the application does not start.
 *
 * @since 0.1.0
 */
public class InvalidDeclarationException extends SetupException {

	private static final long serialVersionUID = 1L;

	/**
	 * Create the exception.
	 * @param problem the problem, with annotation, class, method, attribute and value
	 * @param cure the remedy
	 */
	public InvalidDeclarationException(String problem, String cure) {
		super(problem, cure);
	}

	/** Set the cause, or {@code null}, and return this exception. */
	InvalidDeclarationException causedBy(@Nullable Throwable cause) {
		initCause(cause);
		return this;
	}

}
