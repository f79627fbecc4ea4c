package io.holdfast.testing;

import java.io.IOException;
import java.io.InputStream;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.time.Duration;

import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;

@WithRedis
class DelayingProxyTests {

	private static final Duration DELAY = Duration.ofMillis(200);

	private final String increment;

	@AutoClose
	private final DelayingProxy proxy;

	@AutoClose
	private final Socket socket;

	DelayingProxyTests(TestRedis redis) throws IOException {
		this.increment = "INCR " + redis.keyPrefix() + "n\r\n";
		this.proxy = new DelayingProxy(redis.host(), redis.port(), DELAY);
		this.socket = new Socket(redis.host(), this.proxy.port());
		this.socket.setSoTimeout(20_000);
	}

	@Test
	@DisplayName("Both directions are late, in order, and no later for what is under way")
	void delays() throws IOException {
		int count = 200;
		long begun = System.nanoTime();
		for (int i = 0; i < count; i++) {
			this.socket.getOutputStream().write(this.increment.getBytes(StandardCharsets.US_ASCII));
		}
		StringBuilder expected = new StringBuilder();
		for (int i = 1; i <= count; i++) {
			expected.append(':').append(i).append("\r\n");
		}
		InputStream in = this.socket.getInputStream();
		assertThat(new String(in.readNBytes(expected.length()), StandardCharsets.US_ASCII))
			.isEqualTo(expected.toString());
		assertThat(Duration.ofNanos(System.nanoTime() - begun)).isBetween(DELAY.multipliedBy(2),
				DELAY.multipliedBy(count / 2));
	}

	@Test
	@DisplayName("The end of the server's connection is passed on after what it said")
	void ends() throws IOException {
		this.socket.getOutputStream().write("QUIT\r\n".getBytes(StandardCharsets.US_ASCII));
		assertThat(new String(this.socket.getInputStream().readAllBytes(), StandardCharsets.US_ASCII))
			.isEqualTo("+OK\r\n");
	}

}
