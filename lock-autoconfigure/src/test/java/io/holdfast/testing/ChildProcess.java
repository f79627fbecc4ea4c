package io.holdfast.testing;

import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;

import org.awaitility.Awaitility;

/**
 * A process that a test started: reads what it prints, can kill and freeze it, and takes
 * it along when this JVM ends. Thread-safe.
 */
public class ChildProcess implements AutoCloseable {

	/**
	 * For how long to wait for a line: a JVM took more than a minute to start where many
	 * did.
	 */
	public static final Duration PATIENCE = Duration.ofMinutes(3);

	/** While this whole JVM stands still, only one of these goes by, in milliseconds. */
	private static final long PART = 50;

	private static final Set<Process> RUNNING = ConcurrentHashMap.newKeySet();

	static {
		Runtime.getRuntime()
			.addShutdownHook(new Thread(() -> RUNNING.forEach(Process::destroyForcibly), "kill-child-processes"));
	}

	private final Process process;

	private final Thread reader;

	/** All lines printed so far; also the monitor of everything below. */
	private final List<String> lines = new ArrayList<>();

	private final List<String> notAwaited = new ArrayList<>();

	private boolean ended;

	ChildProcess(ProcessBuilder command) {
		try {
			this.process = command.redirectErrorStream(true).start();
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
		RUNNING.add(this.process);
		this.reader = new Thread(this::readLines, "output of process " + this.process.pid());
		this.reader.setDaemon(true);
		this.reader.start();
	}

	private void readLines() {
		try (BufferedReader output = this.process.inputReader(StandardCharsets.UTF_8)) {
			for (String line = output.readLine(); line != null; line = output.readLine()) {
				synchronized (this.lines) {
					this.lines.add(line);
					this.notAwaited.add(line);
					this.lines.notifyAll();
				}
			}
		}
		catch (IOException ex) {
			// The pipe broke because the process was killed.
		}
		synchronized (this.lines) {
			this.ended = true;
			this.lines.notifyAll();
		}
	}

	/** The id that the operating system gave to the process. */
	public final long pid() {
		return this.process.pid();
	}

	/** Whether the process runs, frozen or not. */
	public final boolean isAlive() {
		return this.process.isAlive();
	}

	/**
	 * What the process printed so far, to its standard and error output.
	 * @return a copy of the lines
	 */
	public final List<String> lines() {
		synchronized (this.lines) {
			return List.copyOf(this.lines);
		}
	}

	/**
	 * Wait for a line that starts so; see {@link #awaitLine(Predicate, Duration)}.
	 * @param prefix how the line starts
	 * @param timeout how long to wait
	 * @return the line
	 */
	public final String awaitLine(String prefix, Duration timeout) {
		return awaitLine((line) -> line.startsWith(prefix), timeout);
	}

	/**
	 * Wait for a line. Each line is returned once: lines that no earlier call returned
	 * are looked at, in the order in which they were printed, also those printed before
	 * this call. Blocks.
	 * @param wanted which line
	 * @param timeout how long to wait
	 * @return the line
	 * @throws AssertionError if the process did not print it in time, or ended without
	 */
	public final String awaitLine(Predicate<String> wanted, Duration timeout) {
		long left = timeout.toNanos();
		synchronized (this.lines) {
			while (true) {
				for (int i = 0; i < this.notAwaited.size(); i++) {
					if (wanted.test(this.notAwaited.get(i))) {
						return this.notAwaited.remove(i);
					}
				}
				if (this.ended || left <= 0) {
					throw new AssertionError("The line was not printed "
							+ (this.ended ? "by the process, which ended" : "within " + timeout.toMillis() + " ms")
							+ description());
				}
				try {
					long begun = System.nanoTime();
					this.lines.wait(PART);
					left -= Math.min(System.nanoTime() - begun, TimeUnit.MILLISECONDS.toNanos(PART));
				}
				catch (InterruptedException ex) {
					Thread.currentThread().interrupt();
					throw new AssertionError("Interrupted while waiting for a line" + description(), ex);
				}
			}
		}
	}

	/**
	 * Send a line to the standard input of the process.
	 * @param line the line, without its end
	 */
	public final void send(String line) {
		try {
			this.process.getOutputStream().write((line + "\n").getBytes(StandardCharsets.UTF_8));
			this.process.getOutputStream().flush();
		}
		catch (IOException ex) {
			throw new UncheckedIOException("The process does not read" + description(), ex);
		}
	}

	/**
	 * Kill the process as {@code kill -9} does, frozen or not. Returns when it is dead.
	 */
	public final void kill() {
		this.process.destroyForcibly();
		// A busy machine was seen to take more than ten seconds for it.
		awaitExit(PATIENCE);
	}

	/**
	 * Stop the process where it is, as a long pause of its garbage collector would.
	 * Returns when none of its threads runs any more.
	 */
	public final void freeze() {
		signal("STOP");
		// Under load, a process goes on for a while after it was told to stop.
		Awaitility.await("stop of process " + pid())
			.atMost(PATIENCE)
			.pollDelay(Duration.ZERO)
			.pollInterval(Duration.ofMillis(5))
			// A thread that ended while it was looked at.
			.ignoreExceptionsInstanceOf(IOException.class)
			.until(this::isStopped);
	}

	/** Let a frozen process go on. */
	public final void thaw() {
		signal("CONT");
	}

	/**
	 * Wait until the process has ended and all that it printed was read. Blocks.
	 * @param timeout how long to wait
	 * @return its exit code
	 * @throws AssertionError if it did not end in time
	 */
	public final int awaitExit(Duration timeout) {
		try {
			if (!this.process.waitFor(timeout.toNanos(), TimeUnit.NANOSECONDS)) {
				throw new AssertionError("Still running after " + timeout.toMillis() + " ms" + description());
			}
			RUNNING.remove(this.process);
			// Bounded, as a child of the process may keep the pipe open.
			this.reader.join(2000);
		}
		catch (InterruptedException ex) {
			Thread.currentThread().interrupt();
			throw new AssertionError("Interrupted while waiting for the end" + description(), ex);
		}
		return this.process.exitValue();
	}

	/** Kill the process if it still runs. */
	@Override
	public void close() {
		kill();
	}

	private boolean isStopped() throws IOException {
		File[] threads = new File("/proc/" + pid() + "/task").listFiles();
		if (threads == null) {
			// Not Linux.
			Process ps = new ProcessBuilder("ps", "-o", "state=", "-p", Long.toString(pid())).start();
			try (BufferedReader output = ps.inputReader()) {
				String state = output.readLine();
				return state != null && state.startsWith("T");
			}
		}
		for (File thread : threads) {
			String stat = Files.readString(thread.toPath().resolve("stat"), StandardCharsets.ISO_8859_1);
			// The state follows the name, which is in parentheses and may contain some.
			if (stat.charAt(stat.lastIndexOf(')') + 2) != 'T') {
				return false;
			}
		}
		return true;
	}

	/** By the shell, as every POSIX system's has a kill of its own. */
	private void signal(String name) {
		try {
			int exit = new ProcessBuilder("sh", "-c", "kill -" + name + " " + pid()).start().waitFor();
			if (exit != 0) {
				throw new IllegalStateException("kill -" + name + " failed" + description());
			}
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
		catch (InterruptedException ex) {
			Thread.currentThread().interrupt();
			throw new AssertionError("Interrupted while sending " + name + description(), ex);
		}
	}

	private String description() {
		return " (process " + pid() + ", which printed:\n" + String.join("\n", lines()) + ")";
	}

}
