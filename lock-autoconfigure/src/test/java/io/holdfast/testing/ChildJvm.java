package io.holdfast.testing;

import java.io.File;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * A small child JVM that runs a main class of the tests' class path, as another instance
 * of an application would run: it can be killed or frozen without harm to the test.
 */
public final class ChildJvm extends ChildProcess {

	/** Options for each JVM of this machine, of which it prints that it has them. */
	private static final Set<String> OPTIONS = Set.of("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS");

	private ChildJvm(List<String> command) {
		super(withoutOptions(new ProcessBuilder(command)));
	}

	private static ProcessBuilder withoutOptions(ProcessBuilder child) {
		child.environment().keySet().removeIf(OPTIONS::contains);
		return child;
	}

	/** Start a main class. Returns at once: have it print a line when it is ready. */
	public static ChildJvm start(Class<?> main, String... args) {
		return start(List.of(), main, args);
	}

	/**
	 * Start a main class with further options of the JVM. Returns at once.
	 * @param options options of the command line, before the class
	 * @param main a class with a {@code main} method
	 * @param args its arguments
	 * @return the running child
	 */
	public static ChildJvm start(List<String> options, Class<?> main, String... args) {
		return start(options, System.getProperty("java.class.path"), main, args);
	}

	/**
	 * Start a main class for which some libraries are not there. Returns at once.
	 * @param libraries what the names of their files begin with
	 * @param main a class with a {@code main} method
	 * @param args its arguments
	 * @return the running child
	 */
	public static ChildJvm startWithout(List<String> libraries, Class<?> main, String... args) {
		String classPath = Stream.of(System.getProperty("java.class.path").split(File.pathSeparator))
			.filter((entry) -> libraries.stream().noneMatch(Path.of(entry).getFileName().toString()::startsWith))
			.collect(Collectors.joining(File.pathSeparator));
		return start(List.of(), classPath, main, args);
	}

	/**
	 * Start a main class with another class path than the tests have. Returns at once.
	 */
	public static ChildJvm startWith(String classPath, Class<?> main, String... args) {
		return start(List.of(), classPath, main, args);
	}

	/** With as many processors as this JVM uses. */
	private static ChildJvm start(List<String> options, String classPath, Class<?> main, String... args) {
		String java = Path.of(System.getProperty("java.home"), "bin", "java").toString();
		Stream<String> small = Stream.of(java, "-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
				"-XX:ActiveProcessorCount=" + Runtime.getRuntime().availableProcessors());
		Stream<String> what = Stream.of("-cp", classPath, main.getName());
		return new ChildJvm(Stream.of(small, options.stream(), what, Stream.of(args)).flatMap((part) -> part).toList());
	}

}
