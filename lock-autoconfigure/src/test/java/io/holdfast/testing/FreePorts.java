package io.holdfast.testing;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.util.concurrent.ThreadLocalRandom;

import org.jspecify.annotations.Nullable;

/**
 * Finds ports that are free now. Each JVM takes them from a range of its own, one after
 * the other: a server that is down for a while finds its port free again, however many
 * others start at that time, and nothing listens where a test wants nothing to. They lie
 * below those that systems take for outgoing connections, so that no client that tries to
 * reach a server connects to itself. Port + 10000, the bus of a cluster's node, lies
 * below these too, and above all others.
 */
public final class FreePorts {

	private static final int FIRST = 10_000;

	private static final int RANGES = 40;

	private static final int LENGTH = 200;

	/** Tells other JVMs that the range is taken; its port is the first of the range. */
	private static @Nullable ServerSocket guard;

	private static int given;

	private FreePorts() {
	}

	/**
	 * Find a port.
	 * @return one that no process listens at now, and that this method has not returned
	 * for long
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
			// Not at the loopback address that Java prefers, which may be that of IPv6.
			return new ServerSocket(port, 1, InetAddress.getByName("127.0.0.1"));
		}
		catch (IOException ex) {
			// Taken.
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
