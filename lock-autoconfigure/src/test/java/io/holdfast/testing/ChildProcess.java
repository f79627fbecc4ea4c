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
 * Process of a test, whose output is read, which can be killed and frozen, and which ends
 * with this JVM. Thread-safe.
 */
public class ChildProcess implements AutoCloseable {

	/**
	 * Default maximum wait for a line: with many JVMs starting, a start took more than a
	 * minute.
	 */
	public static final Duration PATIENCE = Duration.ofMinutes(3);

	/**
	 * Part of a wait, in milliseconds. A pause of this whole JVM counts as a single part.
	 */
	private static final long PART = 50;

	private static final Set<Process> RUNNING = ConcurrentHashMap.newKeySet();

	static {
		Runtime.getRuntime()
			.addShutdownHook(new Thread(() -> RUNNING.forEach(Process::destroyForcibly), "kill-child-processes"));
	}

	private final Process process;

	private final Thread reader;

	/** Lines printed so far. Also the monitor of all further fields. */
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

	/** Return the id of the process in the operating system. */
	public final long pid() {
		return this.process.pid();
	}

	/** Return whether the process runs, frozen or not. */
	public final boolean isAlive() {
		return this.process.isAlive();
	}

	/**
	 * Return the lines printed so far, to standard output and standard error.
	 * @return a copy of the lines
	 */
	public final List<String> lines() {
		synchronized (this.lines) {
			return List.copyOf(this.lines);
		}
	}

	/**
	 * Wait for a line with a prefix; see {@link #awaitLine(Predicate, Duration)}.
	 * @param prefix the prefix
	 * @param timeout the maximum wait
	 * @return the line
	 */
	public final String awaitLine(String prefix, Duration timeout) {
		return awaitLine((line) -> line.startsWith(prefix), timeout);
	}

	/**
	 * Wait for a line. Each line is returned once: the condition is applied to all lines
	 * that no earlier call has returned, in order, also to lines printed before this
	 * call. Blocks.
	 * @param wanted the condition
	 * @param timeout the maximum wait
	 * @return the line
	 * @throws AssertionError if the process did not print such a line in time, or ended
	 * before
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
	 * Kill the process like {@code kill -9}, frozen or not. Returns when the process is
	 * dead.
	 */
	public final void kill() {
		// By the handle, as the process itself would also close its unread output.
		this.process.toHandle().destroyForcibly();
		// On a busy machine, this took more than ten seconds.
		awaitExit(PATIENCE);
	}

	/**
	 * Freeze the process, like a long pause of its garbage collector. Returns when none
	 * of its threads runs.
	 */
	public final void freeze() {
		signal("STOP");
		// Under load, a process continues for some time after the signal.
		Awaitility.await("stop of process " + pid())
			.atMost(PATIENCE)
			.pollDelay(Duration.ZERO)
			.pollInterval(Duration.ofMillis(5))
			// A thread may end during this check.
			.ignoreExceptionsInstanceOf(IOException.class)
			.until(this::isStopped);
	}

	/** Continue a frozen process. */
	public final void thaw() {
		signal("CONT");
	}

	/**
	 * Wait until the process has ended and all its output was read. Blocks.
	 * @param timeout the maximum wait
	 * @return the exit code
	 * @throws AssertionError if the process did not end in time
	 */
	public final int awaitExit(Duration timeout) {
		try {
			if (!this.process.waitFor(timeout.toNanos(), TimeUnit.NANOSECONDS)) {
				throw new AssertionError("Still running after " + timeout.toMillis() + " ms" + description());
			}
			RUNNING.remove(this.process);
			// With a timeout, because a child of the process may keep the pipe open.
			this.reader.join(2000);
		}
		catch (InterruptedException ex) {
			Thread.currentThread().interrupt();
			throw new AssertionError("Interrupted while waiting for the end" + description(), ex);
		}
		return this.process.exitValue();
	}

	/** Kill a running process. */
	@Override
	public void close() {
		kill();
	}

	private boolean isStopped() throws IOException {
		File[] threads = new File("/proc/" + pid() + "/task").listFiles();
		if (threads == null) {
			// Systems other than Linux.
			Process ps = new ProcessBuilder("ps", "-o", "state=", "-p", Long.toString(pid())).start();
			try (BufferedReader output = ps.inputReader()) {
				String state = output.readLine();
				return state != null && state.startsWith("T");
			}
		}
		for (File thread : threads) {
			String stat = Files.readString(thread.toPath().resolve("stat"), StandardCharsets.ISO_8859_1);
			// The state follows the name, which is in parentheses and may contain
			// parentheses.
			if (stat.charAt(stat.lastIndexOf(')') + 2) != 'T') {
				return false;
			}
		}
		return true;
	}

	/** By the shell, because every POSIX shell has a kill command. */
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
