package io.holdfast.history;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.io.Writer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/**
 * File of a process' events, for other processes to read, also after a kill. Thread-safe.
 */
public final class HistoryFile implements AutoCloseable {

	private final Writer writer;

	/**
	 * Create a file, or overwrite an existing file.
	 * @param file the file
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
	 * Write an event. After the return the event survives the death of the process.
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
	 * Read the events. An incomplete last line of a killed process is ignored.
	 * @param file the file
	 * @return the events in the order of writing
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
