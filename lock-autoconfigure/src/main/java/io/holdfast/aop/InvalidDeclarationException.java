package io.holdfast.aop;

import org.jspecify.annotations.Nullable;

/**
 * An annotation of Holdfast's cannot be applied as it is declared. Thrown while the
 * annotated bean is created, so that an application with such a declaration does not
 * start.
 *
 * @since 0.1.0
 */
public class InvalidDeclarationException extends IllegalStateException {

	private static final long serialVersionUID = 1L;

	private final String problem;

	private final String cure;

	/**
	 * Create the exception.
	 * @param problem the problem: the annotation, class, method, attribute and value
	 * @param cure the text to write instead
	 */
	public InvalidDeclarationException(String problem, String cure) {
		super(problem + ". " + cure + ".");
		this.problem = problem;
		this.cure = cure;
	}

	/** Add the error behind it, or {@code null}. */
	InvalidDeclarationException causedBy(@Nullable Throwable cause) {
		initCause(cause);
		return this;
	}

	/**
	 * Return the problem and its place.
	 * @return one sentence without its full stop
	 */
	public String getProblem() {
		return this.problem;
	}

	/**
	 * Return the cure.
	 * @return one sentence without its full stop
	 */
	public String getCure() {
		return this.cure;
	}

}
