package io.holdfast.history;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.io.Writer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/**
 * Where a process writes down what it sees, so that others can read it also if the
 * process is killed. Thread-safe.
 */
public final class HistoryFile implements AutoCloseable {

	private final Writer writer;

	/**
	 * Begin a file, over one that is there.
	 * @param file where
	 */
	public HistoryFile(Path file) {
		try {
			this.writer = Files.newBufferedWriter(file, StandardCharsets.UTF_8);
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
	}

	/**
	 * Write an event down. When this returns, the death of the process does not undo it.
	 * @param event what happened
	 */
	public synchronized void write(Event event) {
		try {
			this.writer.write(event + "\n");
			this.writer.flush();
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
	}

	/**
	 * Read what was written down. What a killed process was about to write is left out.
	 * @param file where
	 * @return its events, in the order in which they were written
	 */
	public static List<Event> read(Path file) {
		try {
			String text = Files.readString(file, StandardCharsets.UTF_8);
			return text.substring(0, text.lastIndexOf('\n') + 1).lines().map(Event::parse).toList();
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
	}

	@Override
	public synchronized void close() {
		try {
			this.writer.close();
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
	}

}
