package io.holdfast.testing;

import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.io.StringWriter;
import java.net.URISyntaxException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import java.util.zip.ZipEntry;
import java.util.zip.ZipInputStream;

import javax.tools.JavaCompiler;
import javax.tools.StandardJavaFileManager;
import javax.tools.ToolProvider;

import io.holdfast.LockService;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Assumptions;

/**
 * Previous version of Holdfast, built from its commit. Without the history, tests with
 * this version are skipped.
 */
public final class PreviousVersion {

	/** Last commit of version 1 of the protocol. */
	private static final String VERSION_1 = "681c49b0baa0eda443234ac6b1fd9d8e6e332f31";

	/**
	 * Last commit before the last change of the scripts, or of the messages between
	 * instances, within this version of the protocol. The workers of the tests must be
	 * able to use its API. {@code -Dholdfast.test.previous} names another commit.
	 */
	private static final String COMMIT = System.getProperty("holdfast.test.previous",
			"ba301390353ac2a379cb0786b05efdce60738692");

	private static final String MODULE = "lock-autoconfigure/src/main";

	private PreviousVersion() {
	}

	/**
	 * Return the class path of the tests, with the previous version in place of the
	 * current version. Builds the previous version if necessary.
	 */
	public static String classPath() throws IOException, InterruptedException {
		return classPath(COMMIT);
	}

	/** Return the class path of the tests, with version 1 of the protocol. */
	public static String ofProtocol1() throws IOException, InterruptedException {
		return classPath(VERSION_1);
	}

	private static synchronized String classPath(String commit) throws IOException, InterruptedException {
		Path current;
		try {
			current = Path.of(LockService.class.getProtectionDomain().getCodeSource().getLocation().toURI());
		}
		catch (URISyntaxException ex) {
			throw new IOException(ex);
		}
		List<String> entries = Stream.of(System.getProperty("java.class.path").split(File.pathSeparator))
			.filter((entry) -> !Path.of(entry).toAbsolutePath().equals(current))
			.toList();
		Path classes = Path.of("target", "previous-" + commit).toAbsolutePath();
		if (!Files.exists(classes.resolve("built"))) {
			build(commit, classes, String.join(File.pathSeparator, entries));
			Files.createFile(classes.resolve("built"));
		}
		return Stream.concat(Stream.of(classes.toString()), entries.stream())
			.collect(Collectors.joining(File.pathSeparator));
	}

	private static void build(String commit, Path classes, String libraries) throws IOException, InterruptedException {
		Files.createDirectories(classes);
		Path archive = classes.resolveSibling(classes.getFileName() + ".zip");
		archive(commit, archive);
		List<Path> sources = new ArrayList<>();
		try (ZipInputStream files = new ZipInputStream(Files.newInputStream(archive))) {
			for (ZipEntry entry = files.getNextEntry(); entry != null; entry = files.getNextEntry()) {
				if (!entry.isDirectory()) {
					String kind = Path.of(MODULE).relativize(Path.of(entry.getName())).getName(0).toString();
					Path target = classes.resolve(Path.of(MODULE, kind).relativize(Path.of(entry.getName())));
					copy(files, target);
					if (kind.equals("java")) {
						sources.add(target);
					}
				}
			}
		}
		JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
		Assumptions.assumeTrue(compiler != null, "the tests run on a JRE, which cannot build the previous version");
		StringWriter output = new StringWriter();
		try (StandardJavaFileManager manager = compiler.getStandardFileManager(null, null, null)) {
			boolean built = compiler
				.getTask(output, manager, null,
						List.of("-proc:none", "-nowarn", "-parameters", "-d", classes.toString(), "-classpath",
								libraries),
						null, manager.getJavaFileObjectsFromPaths(sources))
				.call();
			if (!built) {
				throw new IOException("The previous version is not built: " + output);
			}
		}
	}

	private static void copy(InputStream file, Path target) throws IOException {
		Files.createDirectories(target.getParent());
		Files.write(target, file.readAllBytes());
	}

	private static void archive(String commit, Path archive) throws InterruptedException {
		String trouble = git("archive", "--format=zip", "--output=" + archive, commit, "--", MODULE);
		Assumptions.assumeTrue(trouble == null, () -> "the previous version, commit " + commit
				+ ", is not there, as in a source archive or a shallow clone: " + trouble);
	}

	/** Run git. Return the error, or {@code null} on success. */
	private static @Nullable String git(String... arguments) throws InterruptedException {
		try {
			Process git = new ProcessBuilder(Stream.concat(Stream.of("git"), Stream.of(arguments)).toList())
				// Paths are relative to this directory.
				.directory(Path.of("..").toAbsolutePath().normalize().toFile())
				.redirectErrorStream(true)
				.start();
			String said = new String(git.getInputStream().readAllBytes()).strip();
			return (git.waitFor() == 0) ? null : said;
		}
		catch (IOException ex) {
			return ex.getMessage();
		}
	}

}
