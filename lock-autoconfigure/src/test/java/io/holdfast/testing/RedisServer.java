package io.holdfast.testing;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;

import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisURI;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.api.sync.RedisCommands;
import org.awaitility.Awaitility;

import org.springframework.util.FileSystemUtils;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Process of the {@link RedisBinary}, without data on disk, which can be killed, frozen
 * and restarted. Not thread-safe.
 */
public final class RedisServer implements AutoCloseable {

	static final RedisClient CLIENT = RedisClient.create(TestRedis.RESOURCES);

	private static final Duration START_TIMEOUT = ChildProcess.PATIENCE;

	/** Text in the log of servers and sentinels after the start at their port. */
	private static final String BOUND = "Running mode=";

	private static final String NOT_BOUND = "Failed listening on port";

	private final List<String> extraConfig;

	private final Path directory;

	private int port;

	private ChildProcess process;

	private RedisServer(List<String> extraConfig) {
		this.extraConfig = extraConfig;
		try {
			this.directory = Files.createTempDirectory("holdfast-redis");
			// Sentinel and CONFIG REWRITE need a separate file to write to.
			Path file = Files.createFile(this.directory.resolve("redis.conf"));
			// For servers that are not closed. In reverse order.
			this.directory.toFile().deleteOnExit();
			file.toFile().deleteOnExit();
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
		this.port = FreePorts.next();
		this.process = launch();
		try {
			boolean bound = isBound();
			for (int attempt = 1; attempt < 5 && !bound; attempt++) {
				this.process.close();
				this.port = FreePorts.next();
				this.process = launch();
				bound = isBound();
			}
			assertThat(bound).as("bound to a port").isTrue();
			awaitAnswer();
		}
		catch (Throwable ex) {
			close();
			throw ex;
		}
	}

	/**
	 * Start a server on a free port of this machine. Blocks until the server answers.
	 * @param extraConfig the options of the command line, for example {@code
	 * "--cluster-enabled", "yes"} or {@code "--sentinel"}. These options take precedence
	 * over the default options
	 * @return the running server
	 */
	public static RedisServer start(String... extraConfig) {
		return new RedisServer(List.of(extraConfig));
	}

	/** Return the host of the server. */
	public String host() {
		return "127.0.0.1";
	}

	/** Return the port of the server, which stays the same after a restart. */
	public int port() {
		return this.port;
	}

	/**
	 * Return the log of the server since its last start.
	 * @return the lines of the log
	 */
	public List<String> log() {
		return this.process.lines();
	}

	/**
	 * Run commands on a separate connection.
	 * @param use the commands
	 * @return the answer
	 */
	public <T> T run(Function<RedisCommands<String, String>, T> use) {
		try (StatefulRedisConnection<String, String> connection = CLIENT.connect(RedisURI.create(host(), this.port))) {
			return use.apply(connection.sync());
		}
	}

	/** Kill the server like {@code kill -9}. Returns when the server is dead. */
	public void kill() {
		this.process.kill();
	}

	/**
	 * Kill a running server, and start it again on the same port without data. Blocks
	 * until the server answers.
	 */
	public void restart() {
		kill();
		try {
			// Written nevertheless when a replica requests all data.
			Files.deleteIfExists(this.directory.resolve("dump.rdb"));
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
		this.process = launch();
		assertThat(isBound()).as("bound to port %s again", this.port).isTrue();
		awaitAnswer();
	}

	/** Freeze the process: connections stay open and get no answers. */
	public void freeze() {
		this.process.freeze();
	}

	/** Continue a frozen server. */
	public void thaw() {
		this.process.thaw();
	}

	/** Kill a running server, and delete its directory. */
	@Override
	public void close() {
		this.process.close();
		FileSystemUtils.deleteRecursively(this.directory.toFile());
	}

	private ChildProcess launch() {
		List<String> command = new ArrayList<>(List.of(RedisBinary.get().toString(),
				this.directory.resolve("redis.conf").toString(), "--port", Integer.toString(this.port), "--bind",
				host(), "--dir", this.directory.toString(), "--save", "", "--appendonly", "no",
				// Otherwise, a master waits for further replicas before the first data.
				"--repl-diskless-sync-delay", "0",
				// The default of 7.0 and newer.
				"--acl-pubsub-default", "resetchannels"));
		command.addAll(this.extraConfig);
		return new ChildProcess(new ProcessBuilder(command).directory(this.directory.toFile()));
	}

	/**
	 * Return whether the server has got its port. Otherwise, another process with this
	 * port would answer in its place.
	 */
	private boolean isBound() {
		return this.process.awaitLine((line) -> line.contains(BOUND) || line.contains(NOT_BOUND), START_TIMEOUT)
			.contains(BOUND);
	}

	private void awaitAnswer() {
		Awaitility.await("answer of the server on port " + this.port)
			.atMost(START_TIMEOUT)
			.pollDelay(Duration.ZERO)
			.pollInterval(Duration.ofMillis(10))
			.until(() -> {
				assertThat(this.process.isAlive()).as("process alive that logged %s", log()).isTrue();
				return RedisPing.isAnswered(host(), this.port);
			});
	}

}
