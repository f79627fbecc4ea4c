package io.holdfast.testing;

import java.io.IOException;
import java.io.InputStream;
import java.net.Socket;
import java.time.Duration;
import java.util.Arrays;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.locks.LockSupport;

/**
 * TCP proxy with the latency of a network: in both directions, bytes arrive in order, a
 * fixed time after their sending, regardless of the number of bytes under way.
 * Thread-safe.
 */
public final class DelayingProxy extends TcpProxy {

	private static final Packet END = new Packet(new byte[0], 0);

	private final long delayNanos;

	/**
	 * Start the proxy on a free port.
	 * @param delay the latency of each direction. The scheduling of threads adds some
	 * tens of microseconds
	 */
	public DelayingProxy(String host, int port, Duration delay) {
		super(host, port);
		this.delayNanos = delay.toNanos();
		up();
	}

	@Override
	void accept(Socket client) throws IOException {
		Socket server = connect();
		client.setTcpNoDelay(true);
		server.setTcpNoDelay(true);
		forward(client, server);
		forward(server, client);
	}

	/** Reads on while earlier bytes wait. */
	private void forward(Socket from, Socket to) {
		BlockingQueue<Packet> underWay = new LinkedBlockingQueue<>();
		inBackground(() -> read(from, underWay));
		inBackground(() -> write(underWay, to));
	}

	private void read(Socket from, BlockingQueue<Packet> underWay) throws IOException {
		byte[] buffer = new byte[1 << 16];
		try {
			InputStream in = from.getInputStream();
			for (int count = in.read(buffer); count > 0; count = in.read(buffer)) {
				underWay.add(new Packet(Arrays.copyOf(buffer, count), System.nanoTime() + this.delayNanos));
			}
		}
		finally {
			underWay.add(END);
		}
	}

	private static void write(BlockingQueue<Packet> underWay, Socket to) throws IOException {
		try (to) {
			for (Packet packet = underWay.take(); packet != END; packet = underWay.take()) {
				for (long left = packet.left(); left > 0; left = packet.left()) {
					LockSupport.parkNanos(left);
				}
				to.getOutputStream().write(packet.bytes());
			}
		}
		catch (InterruptedException ex) {
			Thread.currentThread().interrupt();
		}
	}

	private record Packet(byte[] bytes, long dueNanos) {

		long left() {
			return this.dueNanos - System.nanoTime();
		}

	}

}
