package io.holdfast.testing;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

import org.jspecify.annotations.Nullable;

/**
 * A TCP proxy that loses connections as a firewall does that forgets them: neither side
 * gets anything any more, not even that the other one has closed it. At first it loses
 * none. Thread-safe.
 */
public final class HalfOpenProxy implements AutoCloseable {

	/** More than a connection says before it subscribes. */
	private static final int BEGINNING = 1000;

	private final ServerSocket listener;

	private final String host;

	private final int port;

	private final Set<Connection> connections = ConcurrentHashMap.newKeySet();

	private volatile @Nullable String lost;

	/**
	 * Start it on a free port.
	 * @param host where the server is
	 * @param port where the server is
	 */
	public HalfOpenProxy(String host, int port) {
		this.host = host;
		this.port = port;
		try {
			this.listener = new ServerSocket(0, 50, InetAddress.getByName(host));
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
		inBackground(this::accept);
	}

	/** Return its port, at the host of the server. */
	public int port() {
		return this.listener.getLocalPort();
	}

	/**
	 * Lose the connections of now that began with a text, and those to come that will.
	 * @param text what a client sent
	 */
	public void lose(String text) {
		this.lost = text;
		this.connections.forEach((connection) -> connection.look(text));
	}

	/** Lose no further ones. Those that are lost stay so. */
	public void pass() {
		this.lost = null;
	}

	private void accept() throws IOException {
		while (true) {
			Connection connection = new Connection(this.listener.accept(), new Socket(this.host, this.port));
			this.connections.add(connection);
			inBackground(() -> connection.forward(connection.client, connection.server));
			inBackground(() -> connection.forward(connection.server, connection.client));
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
		}, "half-open-proxy");
		thread.setDaemon(true);
		thread.start();
	}

	@Override
	public void close() throws IOException {
		this.listener.close();
		for (Connection connection : this.connections) {
			connection.close();
		}
	}

	private interface Piping {

		void run() throws IOException;

	}

	private final class Connection {

		private final Socket client;

		private final Socket server;

		private final StringBuilder beginning = new StringBuilder();

		private volatile boolean isLost;

		Connection(Socket client, Socket server) {
			this.client = client;
			this.server = server;
		}

		private synchronized void look(String text) {
			this.isLost |= this.beginning.indexOf(text) >= 0;
		}

		private synchronized void sent(String bytes) {
			if (this.beginning.length() < BEGINNING) {
				this.beginning.append(bytes);
			}
			String text = HalfOpenProxy.this.lost;
			if (text != null) {
				look(text);
			}
		}

		private void forward(Socket from, Socket to) throws IOException {
			byte[] buffer = new byte[1 << 16];
			InputStream in = from.getInputStream();
			try {
				for (int count = in.read(buffer); count > 0; count = in.read(buffer)) {
					if (from == this.client) {
						sent(new String(buffer, 0, count, StandardCharsets.ISO_8859_1));
					}
					if (!this.isLost) {
						to.getOutputStream().write(buffer, 0, count);
					}
				}
			}
			finally {
				if (!this.isLost) {
					close();
				}
			}
		}

		private void close() throws IOException {
			this.client.close();
			this.server.close();
		}

	}

}
