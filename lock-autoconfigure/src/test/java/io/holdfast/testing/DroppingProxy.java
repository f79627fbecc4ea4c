package io.holdfast.testing;

import java.io.IOException;
import java.net.Socket;

/** TCP proxy that drops every n-th connection at its opening. */
public final class DroppingProxy extends TcpProxy {

	private final int each;

	private final Way way;

	private int connections;

	/**
	 * Start the proxy on a free port.
	 * @param host the host of the server
	 * @param port the port of the server
	 * @param each the number n: every n-th connection is dropped
	 * @param way the way of dropping
	 */
	public DroppingProxy(String host, int port, int each, Way way) {
		super(host, port);
		this.each = each;
		this.way = way;
		up();
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

	/** Way of dropping a connection. */
	public enum Way {

		/** The connection is closed immediately. */
		CLOSES,

		/** The connection stays open, and receives no answers. */
		SWALLOWS

	}

}
