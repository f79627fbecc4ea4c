package io.holdfast.benchmark;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Arrays;

import io.holdfast.testing.DelayingProxy;

/**
 * A slow network between clients and Redis. Its latency is measured by bare PINGs, and is
 * free of the time that threads of the proxy take to wake up.
 */
final class SlowNetwork implements AutoCloseable {

	static final String DESCRIPTION = "0.5 ms of network each way";

	private static final Duration DELAY = Duration.ofMillis(1).dividedBy(2);

	/** Before these, as many that do not count. */
	private static final int PINGS = 300;

	private static final byte[] PING = "PING\r\n".getBytes(StandardCharsets.US_ASCII);

	private static final int ANSWER_LENGTH = "+PONG\r\n".length();

	private final RedisAddress redis;

	private final DelayingProxy proxy;

	private SlowNetwork(RedisAddress redis, Duration delay) {
		this.redis = redis;
		this.proxy = new DelayingProxy(redis.host(), redis.port(), delay);
	}

	static SlowNetwork before(RedisAddress redis) {
		try (SlowNetwork trial = new SlowNetwork(redis, DELAY)) {
			long tooMuch = quantile(pings(trial.address()), 0.5) - quantile(pings(redis), 0.5) - 2 * DELAY.toNanos();
			return new SlowNetwork(redis, DELAY.minusNanos(Math.min(tooMuch / 2, DELAY.toNanos())));
		}
	}

	/** Where Redis is reached over it. */
	RedisAddress address() {
		return new RedisAddress(this.redis.host(), this.proxy.port());
	}

	/** Measure by how much it makes a bare PING later. */
	String latency() {
		long[] near = pings(this.redis);
		long[] distant = pings(address());
		return "a PING takes %d µs, over the slow network %d µs more (p50); %d µs and %d µs more (p99)".formatted(
				quantile(near, 0.5) / 1000, (quantile(distant, 0.5) - quantile(near, 0.5)) / 1000,
				quantile(near, 0.99) / 1000, (quantile(distant, 0.99) - quantile(near, 0.99)) / 1000);
	}

	private static long quantile(long[] sorted, double quantile) {
		return sorted[(int) (sorted.length * quantile)];
	}

	private static long[] pings(RedisAddress address) {
		try (Socket socket = new Socket(address.host(), address.port())) {
			socket.setTcpNoDelay(true);
			InputStream in = socket.getInputStream();
			long[] nanos = new long[2 * PINGS];
			for (int i = 0; i < nanos.length; i++) {
				long begun = System.nanoTime();
				socket.getOutputStream().write(PING);
				in.readNBytes(ANSWER_LENGTH);
				nanos[i] = System.nanoTime() - begun;
			}
			long[] counted = Arrays.copyOfRange(nanos, PINGS, nanos.length);
			Arrays.sort(counted);
			return counted;
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
	}

	@Override
	public void close() {
		this.proxy.close();
	}

}
