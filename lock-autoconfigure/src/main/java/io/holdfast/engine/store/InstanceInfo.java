package io.holdfast.engine.store;

import io.holdfast.async.SingleLine;

/**
 * Description of an instance for operators.
 *
 * @param application the name of the application
 * @param host the name of the host
 * @param process the id of the process on the host
 */
public record InstanceInfo(String application, String host, long process) {

	/** Name of an application or host without a name. */
	public static final String UNKNOWN = "unknown";

	private static final int MAX_LENGTH = 100;

	/**
	 * Create a description. Names are shortened and stripped of control characters.
	 * @param application the name of the application
	 * @param host the name of the host
	 * @param process the id of the process on the host
	 */
	public InstanceInfo {
		application = SingleLine.shown(application, MAX_LENGTH);
		host = SingleLine.shown(host, MAX_LENGTH);
	}

}
