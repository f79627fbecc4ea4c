package io.holdfast.testing;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.util.concurrent.ThreadLocalRandom;

/**
 * Finds ports that are free now. They lie below the range from which systems take the
 * ports of outgoing connections, so that a server that is down for a while finds its port
 * free again, and no client that tries to reach it connects to itself. Port + 10000, the
 * bus of a cluster's node, lies below that range too.
 */
public final class FreePorts {

	private static final int FIRST = 10_000;

	private static final int COUNT = 12_000;

	private FreePorts() {
	}

	/**
	 * Find a port.
	 * @return one that no process listens at now
	 */
	public static int next() {
		for (int i = 0; i < 100; i++) {
			int port = FIRST + ThreadLocalRandom.current().nextInt(COUNT);
			try (ServerSocket probe = new ServerSocket(port, 1, InetAddress.getLoopbackAddress())) {
				return probe.getLocalPort();
			}
			catch (IOException ex) {
				// Taken: try another one.
			}
		}
		throw new IllegalStateException("No free port found from " + FIRST + " to " + (FIRST + COUNT - 1));
	}

}
