package io.holdfast.testing;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

import org.jspecify.annotations.Nullable;

/**
 * Proxy of a server, at a free port of this machine. Thread-safe.
 * <p>
 * Public, as references to its methods fail in other packages otherwise.
 */
public abstract class TcpProxy implements AutoCloseable {

	private final int port = FreePorts.next();

	private final Set<Socket> sockets = ConcurrentHashMap.newKeySet();

	private volatile InetSocketAddress server;

	private @Nullable ServerSocket listener;

	private @Nullable Thread acceptor;

	TcpProxy(String host, int port) {
		this.server = new InetSocketAddress(host, port);
	}

	/** Return the host of the proxy. */
	public final String host() {
		return "127.0.0.1";
	}

	/**
	 * Return the port of the proxy, which stays the same after {@link #down()} and
	 * {@link #up()}.
	 */
	public final int port() {
		return this.port;
	}

	/** Connect new connections to another server. Existing connections stay. */
	public final void redirect(String host, int port) {
		this.server = new InetSocketAddress(host, port);
	}

	/** Accept connections, again on the same port. */
	public final synchronized void up() {
		if (this.listener == null) {
			try {
				ServerSocket socket = new ServerSocket(this.port, 50, InetAddress.getByName(host()));
				this.listener = socket;
				this.acceptor = inBackground(() -> {
					while (true) {
						accept(keep(socket.accept()));
					}
				});
			}
			catch (IOException ex) {
				throw new UncheckedIOException(ex);
			}
		}
	}

	/**
	 * Close all connections and refuse new connections, as if the server was not running.
	 */
	public final synchronized void down() {
		if (this.listener != null) {
			closeQuietly(this.listener);
			try {
				// Before the end of accept(), the system still takes connections.
				this.acceptor.join();
			}
			catch (InterruptedException ex) {
				Thread.currentThread().interrupt();
			}
			this.listener = null;
		}
		this.sockets.forEach(this::discard);
	}

	/** Close the proxy and all connections. */
	@Override
	public final void close() {
		down();
	}

	/** Process a new connection. */
	abstract void accept(Socket client) throws IOException;

	/** Open a connection to the server. */
	final Socket connect() throws IOException {
		Socket socket = new Socket();
		connect(socket);
		return socket;
	}

	final void connect(Socket socket) throws IOException {
		keep(socket).connect(this.server);
	}

	private Socket keep(Socket socket) {
		this.sockets.add(socket);
		return socket;
	}

	final void discard(Socket socket) {
		closeQuietly(socket);
		this.sockets.remove(socket);
	}

	static void closeQuietly(AutoCloseable socket) {
		try {
			socket.close();
		}
		catch (Exception ex) {
			// The other side has closed the connection.
		}
	}

	final Thread inBackground(Piping piping) {
		Thread thread = new Thread(() -> {
			try {
				piping.run();
			}
			catch (IOException ex) {
				// The client, the server or the proxy has closed the connection.
			}
		}, getClass().getSimpleName() + " " + this.port);
		thread.setDaemon(true);
		thread.start();
		return thread;
	}

	/** Action of a proxy's thread. */
	interface Piping {

		void run() throws IOException;

	}

}
