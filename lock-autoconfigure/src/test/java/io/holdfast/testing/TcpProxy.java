package io.holdfast.testing;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;

/** Proxy of a server, at a free port of the server's host. */
abstract class TcpProxy implements AutoCloseable {

	private final String host;

	private final int port;

	private final ServerSocket listener;

	private final Queue<Socket> sockets = new ConcurrentLinkedQueue<>();

	/** Take a port. */
	TcpProxy(String host, int port) {
		this.host = host;
		this.port = port;
		try {
			this.listener = new ServerSocket(0, 50, InetAddress.getByName(host));
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
	}

	/** Return the port of this proxy, at the server's host. */
	public int port() {
		return this.listener.getLocalPort();
	}

	/** Start accepting connections. */
	final void start() {
		inBackground(() -> {
			while (true) {
				accept(keep(this.listener.accept()));
			}
		});
	}

	/** Process a new connection. */
	abstract void accept(Socket client) throws IOException;

	/** Open a connection to the server. */
	final Socket connect() throws IOException {
		return keep(new Socket(this.host, this.port));
	}

	private Socket keep(Socket socket) {
		this.sockets.add(socket);
		return socket;
	}

	final void inBackground(Piping piping) {
		Thread thread = new Thread(() -> {
			try {
				piping.run();
			}
			catch (IOException ex) {
				// The client or the server has closed the connection.
			}
		}, getClass().getSimpleName());
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

	/** Action of a proxy's thread. */
	interface Piping {

		void run() throws IOException;

	}

}
