package io.holdfast.async;

/**
 * Thrown at the creation of a bean if Holdfast cannot work as the application is set up.
 * The application then does not start.
 */
public class SetupException extends IllegalStateException {

	private static final long serialVersionUID = 1L;

	private final String problem;

	private final String cure;

	/**
	 * Create the exception.
	 * @param problem the problem, as a sentence without its full stop
	 * @param cure the remedy, as a sentence without its full stop
	 */
	public SetupException(String problem, String cure) {
		super(problem + ". " + cure + ".");
		this.problem = problem;
		this.cure = cure;
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
