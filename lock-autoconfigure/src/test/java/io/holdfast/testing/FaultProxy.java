package io.holdfast.testing;

import java.io.IOException;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Arrays;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;

/**
 * TCP proxy between clients and a server, which fails on request. The proxy has a single
 * mode at a time, initially {@link #pass()}. Thread-safe.
 */
public final class FaultProxy extends TcpProxy {

	private static final Fault NONE = new Fault(Kind.NONE, Duration.ZERO, "");

	private final Set<Connection> connections = ConcurrentHashMap.newKeySet();

	private final AtomicReference<Fault> fault = new AtomicReference<>(NONE);

	private final AtomicInteger cuts = new AtomicInteger();

	private FaultProxy(String host, int port) {
		super(host, port);
		up();
	}

	/** Start a proxy on a free port of this machine. */
	public static FaultProxy to(String host, int port) {
		return new FaultProxy(host, port);
	}

	/** Forward everything. */
	public void pass() {
		become(NONE);
	}

	/** Forward everything, but delay replies. The throughput stays the same. */
	public void delay(Duration delay) {
		become(new Fault(Kind.DELAY, delay, ""));
	}

	/**
	 * Accept connections, and swallow all bytes of new and existing connections. At the
	 * end of this mode, the proxy resets all connections with swallowed bytes: otherwise,
	 * a reply could be taken for the reply to a swallowed request.
	 */
	public void blackHole() {
		become(new Fault(Kind.BLACK_HOLE, Duration.ZERO, ""));
	}

	/**
	 * Forward the next request that contains a text, so that the server executes the
	 * request, but swallow the reply and close the client's connection regularly (FIN).
	 * This applies to a single connection. The mode is then {@link #pass()} again.
	 * @param request a text in the request, for example {@code "EVALSHA"}
	 */
	public void swallowRepliesThenFin(String request) {
		become(new Fault(Kind.FIN, Duration.ZERO, request));
	}

	/**
	 * Do as {@link #swallowRepliesThenFin(String)}, but reset the client's connection
	 * (RST).
	 * @param request a text in the request, for example {@code "EVALSHA"}
	 */
	public void swallowRepliesThenReset(String request) {
		become(new Fault(Kind.RESET, Duration.ZERO, request));
	}

	/**
	 * Return the number of connections that were closed after their replies were
	 * swallowed.
	 * @return the number since the start of the proxy
	 */
	public int cuts() {
		return this.cuts.get();
	}

	private synchronized void become(Fault next) {
		Fault before = this.fault.getAndSet(next);
		if (before.kind() == Kind.BLACK_HOLE && next.kind() != Kind.BLACK_HOLE) {
			this.connections.stream().filter((connection) -> connection.swallowed).forEach(Connection::reset);
		}
	}

	@Override
	void accept(Socket client) {
		Connection connection = new Connection(client);
		this.connections.add(connection);
		inBackground(connection::forwardRequests);
	}

	private enum Kind {

		NONE, DELAY, BLACK_HOLE, FIN, RESET

	}

	private record Fault(Kind kind, Duration delay, String request) {

		boolean isAskedForBy(byte[] request) {
			return (this.kind == Kind.FIN || this.kind == Kind.RESET)
					&& new String(request, StandardCharsets.ISO_8859_1).contains(this.request);
		}

	}

	/**
	 * Reply of the server, and the time of passing the reply to the client. Without bytes
	 * at the end.
	 */
	private record Reply(byte[] bytes, long dueNanos) {
	}

	/**
	 * Connection of a client, and the connection to the server, opened for the first
	 * request.
	 */
	private final class Connection {

		private final Socket client;

		/**
		 * Also the monitor for sending requests, and for closing the client's connection.
		 */
		private final Socket server = new Socket();

		private final BlockingQueue<Reply> replies = new LinkedBlockingQueue<>();

		/** Guarded by the proxy's monitor. */
		private boolean swallowed;

		private volatile boolean cut;

		/** Fault in place of the next reply. Guarded by the server socket's monitor. */
		private Fault pending = NONE;

		Connection(Socket client) {
			this.client = client;
		}

		private void forwardRequests() {
			try {
				for (byte[] bytes = read(this.client); bytes.length > 0; bytes = read(this.client)) {
					if (!isSwallowed()) {
						forwardRequest(bytes);
					}
				}
			}
			catch (IOException ex) {
				// Closed by either side, or by a fault.
			}
			end(this.client);
		}

		private void forwardRequest(byte[] bytes) throws IOException {
			synchronized (this.server) {
				if (this.cut) {
					return;
				}
				if (!this.server.isConnected()) {
					connect(this.server);
					inBackground(this::readReplies);
					inBackground(this::writeReplies);
				}
				Fault current = FaultProxy.this.fault.get();
				if (current.isAskedForBy(bytes)) {
					this.pending = current;
				}
				this.server.getOutputStream().write(bytes);
			}
		}

		private void readReplies() {
			try {
				byte[] bytes;
				do {
					bytes = read(this.server);
					if (!isCutInsteadOfReply()) {
						Duration delay = FaultProxy.this.fault.get().delay();
						this.replies.add(new Reply(bytes, System.nanoTime() + delay.toNanos()));
					}
				}
				while (bytes.length > 0);
				if (this.cut) {
					end(this.server);
				}
			}
			catch (IOException ex) {
				end(this.server);
			}
		}

		private void writeReplies() {
			try {
				Reply reply;
				do {
					reply = this.replies.take();
					TimeUnit.NANOSECONDS.sleep(reply.dueNanos() - System.nanoTime());
					if (!isSwallowed()) {
						this.client.getOutputStream().write(reply.bytes());
					}
				}
				while (reply.bytes().length > 0);
				if (!isSwallowed()) {
					end(this.client);
				}
			}
			catch (IOException | InterruptedException ex) {
				end(this.client);
			}
		}

		/**
		 * Cut the client off in place of a reply if a fault is pending. Return whether
		 * the client is cut off. Its request was sent before, under the same monitor.
		 */
		private boolean isCutInsteadOfReply() throws IOException {
			synchronized (this.server) {
				if (this.cut || this.pending == NONE || !FaultProxy.this.fault.compareAndSet(this.pending, NONE)) {
					return this.cut;
				}
				this.cut = true;
				// First, so that the count includes every cut that a client notices.
				FaultProxy.this.cuts.incrementAndGet();
				// The server executes its requests before it sees this end.
				this.server.shutdownOutput();
				if (this.pending.kind() == Kind.FIN) {
					// Reads on: closing a socket with unread bytes would reset the
					// connection.
					this.client.shutdownOutput();
				}
				else {
					reset();
				}
				return true;
			}
		}

		/** Return whether bytes vanish. The connection is then unusable. */
		private boolean isSwallowed() {
			synchronized (FaultProxy.this) {
				this.swallowed |= (FaultProxy.this.fault.get().kind() == Kind.BLACK_HOLE);
				return this.swallowed || this.cut;
			}
		}

		/** End the other side, too, unless a fault has separated both sides. */
		private void end(Socket side) {
			if (this.cut) {
				closeQuietly(side);
			}
			if (!this.cut || (this.client.isClosed() && this.server.isClosed())) {
				close();
			}
		}

		private void reset() {
			closeQuietly(() -> this.client.setSoLinger(true, 0));
			closeQuietly(this.client);
		}

		private void close() {
			discard(this.client);
			discard(this.server);
			this.replies.add(new Reply(new byte[0], System.nanoTime()));
			FaultProxy.this.connections.remove(this);
		}

		private static byte[] read(Socket socket) throws IOException {
			byte[] buffer = new byte[1 << 16];
			int count = socket.getInputStream().read(buffer);
			return (count > 0) ? Arrays.copyOf(buffer, count) : new byte[0];
		}

	}

}
