package io.holdfast;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeMap;
import java.util.regex.Pattern;
import java.util.stream.Stream;

import io.holdfast.testing.ProjectFiles;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Holds the rules of language for main code and guides.
 */
class WordingTests {

	private static final Path MAIN = Path.of("src/main");

	private static final List<Path> OTHER_MAIN = List.of(Path.of("../lock-starter-test/src/main"),
			Path.of("../sample-app/src/main"));

	private static final List<Path> TESTS = List.of(Path.of("src/test"), Path.of("src/jmh"),
			Path.of("../lock-starter-test/src/test"), Path.of("../sample-app/src/test"));

	private static final Pattern PRIVATE_WORDS = Pattern
		.compile("\\b([Ww]hoever|[Ss]omebody|[Nn]obody|[Ee]lsewhere|[Mm]eanwhile|[Ll]ikewise)\\b");

	/** A Javadoc comment, and the first line behind it without an annotation. */
	private static final Pattern JAVADOC = Pattern
		.compile("/\\*\\*[\\s*]+(.*?)\\*/\\s*(?:@\\w+(?:\\([^)]*\\))?\\s+)*([^\\n]*)", Pattern.DOTALL);

	private static final Pattern QUESTION = Pattern
		.compile("(What|Who|Whom|Whose|Whether|How|Which|Where|When|Why|For)\\b.*", Pattern.DOTALL);

	private static final Pattern TYPE = Pattern.compile("\\b(?:class|interface|record|enum)\\s+([A-Z]\\w*)");

	private static final Pattern COMMENT = Pattern.compile("/\\*.*?\\*/|//[^\\n]*", Pattern.DOTALL);

	private static Stream<Path> main() {
		return Stream.concat(Stream.of(MAIN), OTHER_MAIN.stream());
	}

	@Test
	@DisplayName("Code and guides name persons, instances and threads instead of vague words")
	void privateWords() {
		Stream<Path> guides = Stream.concat(Stream.of(Path.of("../README.md"), Path.of("../sample-app/README.md")),
				ProjectFiles.in(Path.of("../docs"), ".md"));
		Stream<Path> code = Stream.concat(main(), TESTS.stream())
			.flatMap((folder) -> ProjectFiles.in(folder, ".java", ".lua", ".js", ".html", ".css", ".yml"))
			.filter((file) -> !file.endsWith("WordingTests.java"));
		List<String> found = new ArrayList<>();
		Stream.concat(guides, code)
			.forEach((file) -> PRIVATE_WORDS.matcher(ProjectFiles.text(file))
				.results()
				.map((word) -> file + ": " + word.group())
				.forEach(found::add));
		assertThat(found).isEmpty();
	}

	@Test
	@DisplayName("The Javadoc of a type begins with a noun, that of a method with a verb")
	void firstWords() {
		List<String> found = new ArrayList<>();
		main().flatMap((folder) -> ProjectFiles.in(folder, ".java"))
			.forEach((file) -> JAVADOC.matcher(ProjectFiles.text(file))
				.results()
				.filter((comment) -> isOfTypeOrMethod(comment.group(2)))
				.filter((comment) -> QUESTION.matcher(comment.group(1)).matches())
				.map((comment) -> file.getFileName() + ": " + comment.group(1).lines().findFirst().orElse(""))
				.forEach(found::add));
		assertThat(found).isEmpty();
	}

	/** Fields and constants may say what they are by a question. */
	private static boolean isOfTypeOrMethod(String line) {
		return TYPE.matcher(line).find() || line.contains("(") && !line.contains("=") && !line.startsWith("return");
	}

	@Test
	@DisplayName("A name belongs to one type; only properties repeat names of types")
	void names() {
		TreeMap<String, List<String>> byName = new TreeMap<>();
		ProjectFiles.in(MAIN, ".java")
			.filter((file) -> !file.endsWith("HoldfastProperties.java"))
			.forEach((file) -> TYPE.matcher(COMMENT.matcher(ProjectFiles.text(file)).replaceAll(""))
				.results()
				.forEach((type) -> byName.computeIfAbsent(type.group(1), (name) -> new ArrayList<>())
					.add(file.getFileName().toString())));
		byName.values().removeIf((places) -> places.size() == 1);
		assertThat(byName).isEmpty();
	}

}
