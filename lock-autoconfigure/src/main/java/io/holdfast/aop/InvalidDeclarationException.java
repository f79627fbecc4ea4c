package io.holdfast.aop;

import org.jspecify.annotations.Nullable;

/**
 * Thrown when an annotation of Holdfast cannot be applied as declared. Thrown while the
 * annotated bean is created, so that the application does not start.
 *
 * @since 0.1.0
 */
public class InvalidDeclarationException extends IllegalStateException {

	private static final long serialVersionUID = 1L;

	private final String problem;

	private final String cure;

	/**
	 * Create the exception.
	 * @param problem the problem, with annotation, class, method, attribute and value
	 * @param cure the remedy
	 */
	public InvalidDeclarationException(String problem, String cure) {
		super(problem + ". " + cure + ".");
		this.problem = problem;
		this.cure = cure;
	}

	/** Set the cause, or {@code null}, and return this exception. */
	InvalidDeclarationException causedBy(@Nullable Throwable cause) {
		initCause(cause);
		return this;
	}

	/**
	 * Return the problem and its location.
	 * @return a sentence without full stop
	 */
	public String getProblem() {
		return this.problem;
	}

	/**
	 * Return the remedy.
	 * @return a sentence without full stop
	 */
	public String getCure() {
		return this.cure;
	}

}
