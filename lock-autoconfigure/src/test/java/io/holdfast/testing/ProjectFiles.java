package io.holdfast.testing;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Stream;

/**
 * The project's sources and pages, for tests of what they say.
 */
public final class ProjectFiles {

	private ProjectFiles() {
	}

	/**
	 * Return all files of a directory and those in it.
	 * @param folder the directory
	 * @param endings what their names end with
	 * @return the files, sorted
	 */
	public static Stream<Path> in(Path folder, String... endings) {
		return in(folder, Integer.MAX_VALUE, endings);
	}

	/**
	 * Return files of a directory.
	 * @param folder the directory
	 * @param depth how many directories down to go, 1 for this one alone
	 * @param endings what their names end with
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
