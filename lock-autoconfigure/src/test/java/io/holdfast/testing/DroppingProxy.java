package io.holdfast.testing;

import java.io.IOException;
import java.net.Socket;

/**
 * A TCP proxy before a server that drops every n-th connection when that is opened.
 */
public final class DroppingProxy extends TcpProxy {

	private final int each;

	private final Way way;

	private int connections;

	/**
	 * Start it on a free port.
	 * @param host where the server is
	 * @param port where the server is
	 * @param each which connections are dropped: every one of so many
	 * @param way how
	 */
	public DroppingProxy(String host, int port, int each, Way way) {
		super(host, port);
		this.each = each;
		this.way = way;
		start();
	}

	@Override
	void accept(Socket client) throws IOException {
		if (++this.connections % this.each != 0) {
			Socket server = connect();
			inBackground(() -> forward(client, server));
			inBackground(() -> forward(server, client));
		}
		else if (this.way == Way.CLOSES) {
			client.close();
		}
	}

	private static void forward(Socket from, Socket to) throws IOException {
		try (from; to) {
			from.getInputStream().transferTo(to.getOutputStream());
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

}
