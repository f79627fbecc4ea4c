package io.holdfast.testing;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;

/**
 * Asks a Redis whether it is there, without a driver.
 */
final class RedisPing {

	private static final int TIMEOUT_MILLIS = 2000;

	private RedisPing() {
	}

	/**
	 * Send a PING.
	 * @param host the host
	 * @param port the port
	 * @return the answer, as it is on the wire
	 * @throws IOException if there is none
	 */
	static String send(String host, int port) throws IOException {
		try (Socket socket = new Socket()) {
			socket.connect(new InetSocketAddress(host, port), TIMEOUT_MILLIS);
			socket.setSoTimeout(TIMEOUT_MILLIS);
			socket.getOutputStream().write("PING\r\n".getBytes(StandardCharsets.US_ASCII));
			String answer = new BufferedReader(
					new InputStreamReader(socket.getInputStream(), StandardCharsets.US_ASCII))
				.readLine();
			if (answer == null) {
				throw new IOException("The connection was closed without an answer");
			}
			return answer;
		}
	}

	/**
	 * Whether a Redis takes commands there, be it only from clients that log in.
	 * @param host the host
	 * @param port the port
	 * @return whether it is ready
	 */
	static boolean isAnswered(String host, int port) {
		try {
			String answer = send(host, port);
			return answer.equals("+PONG") || answer.startsWith("-NOAUTH") || answer.startsWith("-NOPERM");
		}
		catch (IOException ex) {
			return false;
		}
	}

}
