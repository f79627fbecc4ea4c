package io.holdfast.testing;

import java.io.File;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Small child JVM that runs a main class of the tests' class path, like another instance
 * of an application. A test can kill or freeze the child without harm to itself.
 */
public final class ChildJvm extends ChildProcess {

	/**
	 * Variables with options for every JVM of this machine. A JVM prints a line for each
	 * variable.
	 */
	private static final Set<String> OPTIONS = Set.of("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS");

	private ChildJvm(List<String> command) {
		super(withoutOptions(new ProcessBuilder(command)));
	}

	private static ProcessBuilder withoutOptions(ProcessBuilder child) {
		child.environment().keySet().removeIf(OPTIONS::contains);
		return child;
	}

	/**
	 * Start a main class. Returns immediately: the class should print a line when ready.
	 */
	public static ChildJvm start(Class<?> main, String... args) {
		return start(List.of(), main, args);
	}

	/**
	 * Start a main class with further options of the JVM. Returns immediately.
	 * @param options the options of the command line, before the class
	 * @param main a class with a {@code main} method
	 * @param args the arguments
	 * @return the running child
	 */
	public static ChildJvm start(List<String> options, Class<?> main, String... args) {
		return start(options, System.getProperty("java.class.path"), main, args);
	}

	/**
	 * Start a main class without some libraries. Returns immediately.
	 * @param libraries the prefixes of the libraries' file names
	 * @param main a class with a {@code main} method
	 * @param args the arguments
	 * @return the running child
	 */
	public static ChildJvm startWithout(List<String> libraries, Class<?> main, String... args) {
		String classPath = Stream.of(System.getProperty("java.class.path").split(File.pathSeparator))
			.filter((entry) -> libraries.stream().noneMatch(Path.of(entry).getFileName().toString()::startsWith))
			.collect(Collectors.joining(File.pathSeparator));
		return start(List.of(), classPath, main, args);
	}

	/**
	 * Start a main class with another class path than the class path of the tests.
	 * Returns immediately.
	 */
	public static ChildJvm startWith(String classPath, Class<?> main, String... args) {
		return start(List.of(), classPath, main, args);
	}

	/** With the same number of processors as this JVM. */
	private static ChildJvm start(List<String> options, String classPath, Class<?> main, String... args) {
		String java = Path.of(System.getProperty("java.home"), "bin", "java").toString();
		Stream<String> small = Stream.of(java, "-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
				"-XX:ActiveProcessorCount=" + Runtime.getRuntime().availableProcessors());
		Stream<String> what = Stream.of("-cp", classPath, main.getName());
		return new ChildJvm(Stream.of(small, options.stream(), what, Stream.of(args)).flatMap((part) -> part).toList());
	}

}
