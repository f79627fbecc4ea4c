package io.holdfast.testing;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;

import org.jspecify.annotations.Nullable;
import redis.embedded.RedisExecProvider;

import org.springframework.util.StringUtils;

/**
 * Program of servers, sentinels and nodes of clusters: the program of {@code
 * -Dholdfast.test.redis-binary}, or else the embedded program.
 */
final class RedisBinary {

	static final String PROPERTY = "holdfast.test.redis-binary";

	/**
	 * Text in the output of the version, such as {@code Redis server v=8.0.2} or {@code
	 * Valkey server v=8.1.1}.
	 */
	private static final String VERSION = " server v=";

	private static @Nullable Path program;

	private RedisBinary() {
	}

	/**
	 * Return whether the property names a program.
	 * @return whether the embedded program is not used
	 */
	static boolean isNamed() {
		return StringUtils.hasText(System.getProperty(PROPERTY));
	}

	/**
	 * Return the program.
	 * @return the path of the program
	 */
	static synchronized Path get() {
		Path result = program;
		if (result == null) {
			result = isNamed() ? named(System.getProperty(PROPERTY).trim()) : embedded();
			program = result;
		}
		return result;
	}

	private static Path embedded() {
		Path path;
		try {
			path = RedisExecProvider.defaultProvider().get().toPath();
		}
		catch (IOException | RuntimeException ex) {
			throw unusable(ex.toString(), ex);
		}
		if (!Files.isExecutable(path)) {
			throw unusable(path + " may not be executed, perhaps by an option of its file system", null);
		}
		return path;
	}

	private static IllegalStateException unusable(String why, @Nullable Exception cause) {
		return new IllegalStateException("There is no embedded Redis for this machine: " + why
				+ ". Name a redis-server or valkey-server by -D" + PROPERTY + "=/path/to/it", cause);
	}

	/**
	 * Check the value of the property.
	 * @param value the value
	 * @return the path of the program
	 */
	static Path named(String value) {
		Path path;
		try {
			path = Path.of(value).toAbsolutePath();
		}
		catch (InvalidPathException ex) {
			throw bad(value, "is not a path", ex);
		}
		if (!path.toString().equals(value)) {
			throw bad(value, "is not an absolute path", null);
		}
		if (!Files.isRegularFile(path)) {
			throw bad(value, Files.exists(path) ? "is not a file" : "does not exist", null);
		}
		if (!Files.isExecutable(path)) {
			throw bad(value, "may not be executed", null);
		}
		String version = version(path, value);
		if (!version.contains(VERSION)) {
			throw bad(value, "is not a Redis: it answers --version by '" + version + "'", null);
		}
		return path;
	}

	private static String version(Path path, String value) {
		try {
			Process process = new ProcessBuilder(path.toString(), "--version").redirectErrorStream(true)
				.redirectInput(ProcessBuilder.Redirect.from(Path.of("/dev/null").toFile()))
				.start();
			try {
				if (!process.waitFor(20, TimeUnit.SECONDS)) {
					throw bad(value, "is not a Redis: it does not end when asked for its --version", null);
				}
				String said = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8).strip();
				return (said.length() > 200) ? said.substring(0, 200) + "…" : said;
			}
			finally {
				process.destroyForcibly();
			}
		}
		catch (IOException ex) {
			throw bad(value, "cannot be started (" + ex.getMessage() + ")", ex);
		}
		catch (InterruptedException ex) {
			Thread.currentThread().interrupt();
			throw new IllegalStateException("Interrupted while asking " + value + " for its version", ex);
		}
	}

	private static IllegalStateException bad(String value, String what, @Nullable Exception cause) {
		return new IllegalStateException("-D" + PROPERTY + "=" + value + " " + what
				+ ": give the absolute path of a program that starts as redis-server does, or leave the property out",
				cause);
	}

}
