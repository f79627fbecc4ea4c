package io.holdfast.testing;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;

/**
 * A TCP proxy before a server that drops every n-th connection when that is opened.
 */
public final class DroppingProxy implements AutoCloseable {

	private final ServerSocket listener;

	private final Queue<Socket> sockets = new ConcurrentLinkedQueue<>();

	/**
	 * Start it on a free port.
	 * @param host where the server is
	 * @param port where the server is
	 * @param each which connections are dropped: every one of so many
	 * @param way how
	 */
	public DroppingProxy(String host, int port, int each, Way way) {
		try {
			this.listener = new ServerSocket(0, 50, InetAddress.getByName(host));
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
		inBackground(() -> {
			for (int number = 1; true; number++) {
				Socket client = keep(this.listener.accept());
				if (number % each != 0) {
					Socket server = keep(new Socket(host, port));
					inBackground(() -> forward(client, server));
					inBackground(() -> forward(server, client));
				}
				else if (way == Way.CLOSES) {
					client.close();
				}
			}
		});
	}

	/** Return its port, at the host of the server. */
	public int port() {
		return this.listener.getLocalPort();
	}

	private Socket keep(Socket socket) {
		this.sockets.add(socket);
		return socket;
	}

	private static void forward(Socket from, Socket to) throws IOException {
		try (from; to) {
			from.getInputStream().transferTo(to.getOutputStream());
		}
	}

	private static void inBackground(Piping piping) {
		Thread thread = new Thread(() -> {
			try {
				piping.run();
			}
			catch (IOException ex) {
				// One of the two has closed its connection.
			}
		}, "dropping-proxy");
		thread.setDaemon(true);
		thread.start();
	}

	@Override
	public void close() throws IOException {
		this.listener.close();
		for (Socket socket : this.sockets) {
			socket.close();
		}
	}

	/**
	 * What becomes of a connection that is dropped.
	 */
	public enum Way {

		/** It is closed at once. */
		CLOSES,

		/** It stays open, and nothing is ever answered. */
		SWALLOWS

	}

	private interface Piping {

		void run() throws IOException;

	}

}
