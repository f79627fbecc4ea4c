package io.holdfast.testing;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;

final class RedisPing {

	private static final int TIMEOUT_MILLIS = 2000;

	private RedisPing() {
	}

	/**
	 * Send a PING.
	 * @param host the host
	 * @param port the port
	 * @return the answer in the format of the protocol
	 * @throws IOException if there is no answer
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
	 * Return whether a Redis takes commands, possibly only from clients with a password.
	 * @param host the host
	 * @param port the port
	 * @return whether the Redis is ready
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
