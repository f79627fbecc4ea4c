package io.holdfast.engine.store;

import io.holdfast.async.SingleLine;

/**
 * Description of an instance for operators.
 *
 * @param application the name of its application
 * @param host the host that it runs on
 * @param process its process there
 */
public record InstanceInfo(String application, String host, long process) {

	/** Name of an application or host that has none. */
	public static final String UNKNOWN = "unknown";

	private static final int MAX_LENGTH = 100;

	/**
	 * Keep the part that can be shown: no control characters, and not too long.
	 * @param application the name of its application
	 * @param host the host that it runs on
	 * @param process its process there
	 */
	public InstanceInfo {
		application = SingleLine.shown(application, MAX_LENGTH);
		host = SingleLine.shown(host, MAX_LENGTH);
	}

}
