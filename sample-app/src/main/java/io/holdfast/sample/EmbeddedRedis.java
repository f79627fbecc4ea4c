package io.holdfast.sample;

import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.lang.ProcessBuilder.Redirect;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;
import redis.embedded.RedisExecProvider;

import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.boot.data.redis.autoconfigure.DataRedisProperties;
import org.springframework.context.ApplicationContextInitializer;
import org.springframework.context.aot.AbstractAotProcessor;
import org.springframework.context.support.GenericApplicationContext;
import org.springframework.core.SpringProperties;
import org.springframework.util.FileSystemUtils;
import org.springframework.util.StringUtils;

/**
 * Embedded Redis, or the program of {@code shop.redis-binary}. Starts before the
 * application context connects, if the configured address is on this machine, and no
 * Redis answers there. Further instances use the same Redis. Ends with the instance that
 * started the Redis, even if that instance is killed.
 *
 * <p>
 * If two instances start at the same time, one Redis gets the port. The other Redis ends
 * immediately.
 */
class EmbeddedRedis implements ApplicationContextInitializer<GenericApplicationContext> {

	private static final Log logger = LogFactory.getLog(EmbeddedRedis.class);

	private static final Duration START_TIME = Duration.ofSeconds(15);

	/**
	 * Script that becomes the server. A second process waits for the end of standard
	 * input, and then kills the server: standard input ends with a close by this JVM, or
	 * with the JVM, also by SIGKILL.
	 */
	private static final String SCRIPT = """
			exec 3<&0 </dev/null
			(cat <&3 >/dev/null; kill $$) &
			exec "$@" 3<&-
			""";

	@Override
	public void initialize(GenericApplicationContext context) {
		if (SpringProperties.getFlag(AbstractAotProcessor.AOT_PROCESSING)) {
			// The application is being built, not run.
			return;
		}
		DataRedisProperties properties = Binder.get(context.getEnvironment())
			.bindOrCreate("spring.data.redis", DataRedisProperties.class);
		if (properties.getUrl() != null || properties.getSentinel() != null || properties.getCluster() != null) {
			return;
		}
		InetSocketAddress address = new InetSocketAddress(properties.getHost(), properties.getPort());
		if (answers(address) || !isLocal(address)) {
			return;
		}
		try {
			Process process = start(address, context.getEnvironment().getProperty("shop.redis-binary"));
			if (ask(address, "INFO server").contains("process_id:" + process.pid() + "\r\n")) {
				logger.info("No Redis answered at " + address + ", so an embedded one was started there. "
						+ "It stops with this instance; other instances that use it lose it then.");
				// Registered before any bean that connects, and therefore destroyed after
				// these beans.
				context.getDefaultListableBeanFactory()
					.registerDisposableBean("embeddedRedis", () -> stop(process, address));
			}
		}
		catch (IOException | IllegalArgumentException ex) {
			throw new IllegalStateException("No Redis answers at " + address + ", and none could be started there. "
					+ "Name one with --spring.data.redis.host and --spring.data.redis.port", ex);
		}
	}

	private static Process start(InetSocketAddress address, @Nullable String binary) throws IOException {
		if (StringUtils.hasText(binary)) {
			if (!Files.isExecutable(Path.of(binary))) {
				throw new IOException("shop.redis-binary=" + binary + " is not a program that may be executed");
			}
			return start(address, new File(binary));
		}
		File server = RedisExecProvider.defaultProvider().get();
		try {
			return start(address, server);
		}
		finally {
			// A running server does not need its file. Nothing remains on the disk,
			// however this JVM ends.
			FileSystemUtils.deleteRecursively(server.getParentFile());
		}
	}

	private static Process start(InetSocketAddress address, File server) throws IOException {
		Process process = new ProcessBuilder(command(server, address.getPort())).redirectOutput(Redirect.DISCARD)
			.redirectError(Redirect.DISCARD)
			.start();
		awaitAnswer(process, address);
		return process;
	}

	private static List<String> command(File server, int port) {
		List<String> command = new ArrayList<>();
		// Detached from the terminal if possible: otherwise, Ctrl+C would stop Redis
		// before this instance has closed its connections.
		Path setsid = Path.of("/usr/bin/setsid");
		if (Files.isExecutable(setsid)) {
			command.add(setsid.toString());
		}
		command.addAll(List.of("/bin/sh", "-c", SCRIPT, "sh", server.getAbsolutePath(), "--port",
				Integer.toString(port), "--bind", "127.0.0.1", "-::1", "--save", "", "--appendonly", "no"));
		return command;
	}

	private static void awaitAnswer(Process process, InetSocketAddress address) throws IOException {
		long begun = System.nanoTime();
		boolean ended = false;
		while (!answers(address)) {
			// If the process ended because the Redis of another instance got the port,
			// that Redis may have answered since the last check.
			if (ended || System.nanoTime() - begun > START_TIME.toNanos()) {
				process.destroy();
				throw new IOException(ended
						? "It ended with exit code " + process.exitValue() + ". Does another program use the port?"
						: "It did not answer within " + START_TIME.toSeconds() + " s");
			}
			ended = !process.isAlive();
			pause();
		}
	}

	private static void stop(Process process, InetSocketAddress address) throws IOException, InterruptedException {
		logger.info("Stopping the embedded Redis at " + address);
		process.getOutputStream().close();
		if (!process.waitFor(10, TimeUnit.SECONDS)) {
			process.destroyForcibly();
		}
	}

	private static boolean isLocal(InetSocketAddress address) {
		InetAddress ip = address.getAddress();
		return ip != null && ip.isLoopbackAddress();
	}

	/** Return whether a Redis answers, possibly with a request for a password. */
	private static boolean answers(InetSocketAddress address) {
		String answer = ask(address, "PING");
		return answer.startsWith("+") || answer.startsWith("-");
	}

	private static String ask(InetSocketAddress address, String command) {
		try (Socket socket = new Socket()) {
			socket.connect(address, 1000);
			socket.setSoTimeout(1000);
			socket.getOutputStream().write((command + "\r\nQUIT\r\n").getBytes(StandardCharsets.US_ASCII));
			InputStream answer = socket.getInputStream();
			return new String(answer.readAllBytes(), StandardCharsets.UTF_8);
		}
		catch (IOException ex) {
			return "";
		}
	}

	private static void pause() {
		try {
			Thread.sleep(20);
		}
		catch (InterruptedException ex) {
			Thread.currentThread().interrupt();
			throw new IllegalStateException("Interrupted while Redis was starting", ex);
		}
	}

}
