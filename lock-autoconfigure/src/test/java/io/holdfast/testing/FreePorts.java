package io.holdfast.testing;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.util.concurrent.ThreadLocalRandom;

import org.jspecify.annotations.Nullable;

/**
 * Search for free ports. Each JVM takes ports from its own range, in order. Therefore, a
 * server that is down for some time finds its port free again, although many servers
 * start at that time, and no process listens at a port that a test keeps free. The ranges
 * are below the ports for outgoing connections, so that no client that tries to reach a
 * server connects to itself. Port + 10000, the bus of a cluster's node, is below the
 * ports for outgoing connections, too, and above all ranges.
 */
public final class FreePorts {

	private static final int FIRST = 10_000;

	private static final int RANGES = 40;

	private static final int LENGTH = 200;

	/** Sign to other JVMs that the range is taken, at the first port of the range. */
	private static @Nullable ServerSocket guard;

	private static int given;

	private FreePorts() {
	}

	/**
	 * Return a free port.
	 * @return a port without a listener, which this method has not returned for a long
	 * time
	 */
	public static synchronized int next() {
		ServerSocket range = guard;
		if (range == null) {
			range = takeRange();
			guard = range;
		}
		for (int i = 1; i < LENGTH; i++) {
			given = given % (LENGTH - 1) + 1;
			ServerSocket probe = listen(range.getLocalPort() + given);
			if (probe != null) {
				close(probe);
				return range.getLocalPort() + given;
			}
		}
		throw new IllegalStateException("No free port found above " + range.getLocalPort());
	}

	private static ServerSocket takeRange() {
		int random = ThreadLocalRandom.current().nextInt(RANGES);
		for (int i = 0; i < RANGES; i++) {
			ServerSocket free = listen(FIRST + (random + i) % RANGES * LENGTH);
			if (free != null) {
				return free;
			}
		}
		throw new IllegalStateException("No free range of ports found from " + FIRST);
	}

	private static @Nullable ServerSocket listen(int port) {
		try {
			// Not the loopback address that Java prefers, which may be of IPv6.
			return new ServerSocket(port, 1, InetAddress.getByName("127.0.0.1"));
		}
		catch (IOException ex) {
			// The port is taken.
			return null;
		}
	}

	private static void close(ServerSocket socket) {
		try {
			socket.close();
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
	}

}
