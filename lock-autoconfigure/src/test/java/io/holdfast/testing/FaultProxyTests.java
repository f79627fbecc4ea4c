package io.holdfast.testing;

import java.io.IOException;
import java.net.Socket;
import java.net.SocketException;
import java.net.SocketTimeoutException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;

import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

@WithRedis
class FaultProxyTests {

	private static final int LONG = 10_000;

	private static final int SHORT = 500;

	private final TestRedis redis;

	@AutoClose
	private final FaultProxy proxy;

	private final String increment;

	FaultProxyTests(TestRedis redis) {
		this.redis = redis;
		this.proxy = FaultProxy.to(redis.host(), redis.port());
		this.increment = "INCR " + redis.keyPrefix() + "n\r\n";
	}

	@Test
	@DisplayName("Delayed replies come late, in order, and no later for being many")
	void delays() throws IOException {
		try (Client client = new Client()) {
			this.proxy.delay(Duration.ofMillis(500));
			long start = System.nanoTime();
			for (int i = 0; i < 50; i++) {
				client.send(this.increment);
			}
			StringBuilder replies = new StringBuilder();
			while (!replies.toString().contains(":50\r\n")) {
				replies.append(client.receive(LONG));
			}
			assertThat(replies).startsWith(":1\r\n:2\r\n");
			assertThat(Duration.ofNanos(System.nanoTime() - start)).isBetween(Duration.ofMillis(500),
					Duration.ofSeconds(10));
			this.proxy.pass();
			assertThat(client.ask("PING\r\n", LONG)).isEqualTo("+PONG\r\n");
		}
	}

	@Test
	@DisplayName("In a black hole, connections are accepted and requests vanish; afterwards, only idle ones go on")
	void blackHole() throws IOException {
		try (Client idle = new Client(); Client client = new Client()) {
			assertThat(idle.ask("PING\r\n", LONG)).isEqualTo("+PONG\r\n");
			assertThat(client.ask("PING\r\n", LONG)).isEqualTo("+PONG\r\n");
			this.proxy.blackHole();
			assertThatExceptionOfType(SocketTimeoutException.class).isThrownBy(() -> client.ask(this.increment, SHORT));
			try (Client late = new Client()) {
				assertThatExceptionOfType(SocketTimeoutException.class)
					.isThrownBy(() -> late.ask(this.increment, SHORT));
				this.proxy.pass();
				assertThatExceptionOfType(SocketException.class).isThrownBy(() -> late.receive(LONG))
					.withMessageContaining("reset");
			}
			assertThatExceptionOfType(SocketException.class).isThrownBy(() -> client.receive(LONG))
				.withMessageContaining("reset");
			assertThat(idle.ask(this.increment, LONG)).as("the first increment").isEqualTo(":1\r\n");
		}
	}

	@Test
	@DisplayName("A black hole swallows what the server sends, too")
	void blackHoleSwallowsReplies() throws IOException {
		String channel = this.redis.keyPrefix() + "channel";
		try (Client client = new Client()) {
			assertThat(client.ask("SUBSCRIBE " + channel + "\r\n", LONG)).contains("subscribe");
			this.proxy.blackHole();
			assertThat(this.redis.template().convertAndSend(channel, "message")).as("receivers").isOne();
			assertThatExceptionOfType(SocketTimeoutException.class).isThrownBy(() -> client.receive(SHORT));
			this.proxy.pass();
			assertThatExceptionOfType(SocketException.class).isThrownBy(() -> client.receive(LONG))
				.withMessageContaining("reset");
		}
	}

	@ParameterizedTest
	@ValueSource(booleans = { false, true })
	@DisplayName("The next request is carried out, its reply swallowed and the connection closed by FIN or RST; once")
	void swallowsThenCuts(boolean reset) throws IOException {
		try (Client client = new Client(); Client next = new Client()) {
			assertThat(client.ask("PING\r\n", LONG)).isEqualTo("+PONG\r\n");
			if (reset) {
				this.proxy.swallowRepliesThenReset("");
				assertThatExceptionOfType(SocketException.class).isThrownBy(() -> client.ask(this.increment, LONG))
					.withMessageContaining("reset");
			}
			else {
				this.proxy.swallowRepliesThenFin("");
				assertThat(client.ask(this.increment, LONG)).as("end").isEmpty();
			}
			assertThat(next.ask(this.increment, LONG)).as("the second increment").isEqualTo(":2\r\n");
		}
		assertThat(this.proxy.cuts()).isOne();
	}

	@Test
	@DisplayName("Only the connection that sends the named request is cut")
	void swallowsNamedRequest() throws IOException {
		try (Client client = new Client(); Client other = new Client()) {
			this.proxy.swallowRepliesThenFin("INCR");
			assertThat(client.ask("PING\r\n", LONG)).isEqualTo("+PONG\r\n");
			assertThat(other.ask(this.increment, LONG)).as("end").isEmpty();
			assertThat(client.ask(this.increment, LONG)).as("the second increment").isEqualTo(":2\r\n");
		}
	}

	private final class Client implements AutoCloseable {

		private final Socket socket = new Socket(FaultProxyTests.this.proxy.host(), FaultProxyTests.this.proxy.port());

		Client() throws IOException {
		}

		String ask(String command, int timeoutMillis) throws IOException {
			send(command);
			return receive(timeoutMillis);
		}

		void send(String command) throws IOException {
			this.socket.getOutputStream().write(command.getBytes(StandardCharsets.US_ASCII));
		}

		/** Receive some bytes, none at the end. */
		String receive(int timeoutMillis) throws IOException {
			this.socket.setSoTimeout(timeoutMillis);
			byte[] buffer = new byte[1024];
			int count = this.socket.getInputStream().read(buffer);
			return (count < 0) ? "" : new String(buffer, 0, count, StandardCharsets.US_ASCII);
		}

		@Override
		public void close() throws IOException {
			this.socket.close();
		}

	}

}
