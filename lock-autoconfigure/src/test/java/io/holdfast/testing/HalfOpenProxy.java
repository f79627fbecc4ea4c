package io.holdfast.testing;

import java.io.IOException;
import java.io.InputStream;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

import org.jspecify.annotations.Nullable;

/**
 * TCP proxy that loses connections, like a forgetful firewall: neither side receives
 * anything any more, not even the close by the other side. Initially, the proxy loses no
 * connections. Thread-safe.
 */
public final class HalfOpenProxy extends TcpProxy {

	/** More bytes than a client sends before its subscription. */
	private static final int BEGINNING = 1000;

	private final Set<Connection> connections = ConcurrentHashMap.newKeySet();

	private volatile @Nullable String lost;

	/** Start the proxy on a free port. */
	public HalfOpenProxy(String host, int port) {
		super(host, port);
		up();
	}

	/**
	 * Lose the current and future connections whose first bytes contain a text.
	 * @param text the text from the client
	 */
	public void lose(String text) {
		this.lost = text;
		this.connections.forEach((connection) -> connection.look(text));
	}

	/** Lose no further connections. Lost connections stay lost. */
	public void pass() {
		this.lost = null;
	}

	@Override
	void accept(Socket client) throws IOException {
		Connection connection = new Connection(client, connect());
		this.connections.add(connection);
		inBackground(() -> connection.forward(connection.client, connection.server));
		inBackground(() -> connection.forward(connection.server, connection.client));
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
