package io.holdfast.redis;

import org.springframework.data.redis.connection.RedisConnectionFactory;

/**
 * Runs scripts on the application's Redis without blocking whoever calls them.
 * Thread-safe.
 */
interface ScriptExecutor extends AutoCloseable {

	/**
	 * Send a call; it completes on any thread. A script that Redis does not know is sent
	 * again with its text.
	 * @param call the call
	 */
	void execute(ScriptCall<?> call);

	/**
	 * Whether calls reach Redis in the order in which they were given.
	 * @return whether they stay in order
	 */
	boolean isOrdered();

	/**
	 * Fail what was not sent yet, and all calls from now on.
	 */
	@Override
	void close();

	/**
	 * The best executor for a driver.
	 * @param factory the application's connections
	 * @return the executor
	 */
	static ScriptExecutor of(RedisConnectionFactory factory) {
		return Drivers.isSharedLettuce(factory) ? new LettuceScriptExecutor(factory)
				: new BlockingScriptExecutor(factory);
	}

}
