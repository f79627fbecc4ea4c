package io.holdfast.testing;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Stream;

/** Sources and pages of the project, for tests of their content. */
public final class ProjectFiles {

	private ProjectFiles() {
	}

	/**
	 * Return all files of a directory and its subdirectories.
	 * @param folder the directory
	 * @param endings the endings of the files' names
	 * @return the files, sorted
	 */
	public static Stream<Path> in(Path folder, String... endings) {
		return in(folder, Integer.MAX_VALUE, endings);
	}

	/**
	 * Return the files of a directory, up to a depth.
	 * @param folder the directory
	 * @param depth the number of levels, 1 for this directory alone
	 * @param endings the endings of the files' names
	 * @return the files, sorted
	 */
	public static Stream<Path> in(Path folder, int depth, String... endings) {
		try (Stream<Path> paths = Files.walk(folder, depth)) {
			return paths.filter((path) -> Stream.of(endings).anyMatch(path.toString()::endsWith))
				.sorted()
				.toList()
				.stream();
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
	}

	/** Read a file. */
	public static String text(Path file) {
		try {
			return Files.readString(file);
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
	}

}
