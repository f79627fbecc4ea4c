package io.holdfast.redis.driver;

/**
 * Thrown at the creation of a bean if Holdfast cannot use the driver or connection
 * factory of the application. The application then does not start.
 */
public final class RedisDriverException extends IllegalStateException {

	private static final long serialVersionUID = 1L;

	private final String problem;

	private final String cure;

	RedisDriverException(String problem, String cure) {
		super(problem + ". " + cure);
		this.problem = problem;
		this.cure = cure;
	}

	/** Create the exception for a factory of another library. */
	static RedisDriverException foreign(String problem, Object factory, String cure) {
		return new RedisDriverException(problem + " " + factory.getClass().getName()
				+ ", which is neither a LettuceConnectionFactory nor a JedisConnectionFactory, nor a Spring proxy of one",
				cure);
	}

	/** Return the problem, as a sentence without its full stop. */
	public String getProblem() {
		return this.problem;
	}

	/** Return the remedy, as a sentence without its full stop. */
	public String getCure() {
		return this.cure;
	}

}
