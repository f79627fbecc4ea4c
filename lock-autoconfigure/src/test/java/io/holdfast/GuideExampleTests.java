package io.holdfast;

import java.nio.file.Path;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Stream;

import io.holdfast.testing.ProjectFiles;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Examples of the guides that stand in the tests as they stand in the guide, and so are
 * compiled.
 */
class GuideExampleTests {

	private static final Path ROOT = Path.of("..");

	@ParameterizedTest
	@CsvSource({
			"docs/migration.md, java, DataRedisProperties, lock-autoconfigure/src/test/java/io/holdfast/autoconfigure/RedisDriverTests.java",
			"docs/async.md, kotlin, '', lock-autoconfigure/src/test/kotlin/io/holdfast/guide/KotlinExample.kt",
			"docs/watching.md, java, SecurityFilterChain, sample-app/src/test/java/io/holdfast/sample/SecuredEndpointsTests.java" })
	@DisplayName("Examples in Kotlin, for Spring Security and beside Redisson are compiled")
	void compiled(String guide, String language, String sign, String source) {
		String code = compact(ProjectFiles.text(ROOT.resolve(source)));
		assertThat(examples(guide, language)).filteredOn((example) -> example.contains(sign))
			.isNotEmpty()
			.allSatisfy((example) -> assertThat(code).contains(compact(example)));
	}

	@ParameterizedTest
	@CsvSource({ "kotlin, docs/async.md", "SecurityFilterChain, docs/watching.md" })
	@DisplayName("No other guide has such examples")
	void complete(String sign, String guide) {
		Pattern example = Pattern.compile("^```" + sign + "|^[^`]*\\b" + sign + " \\w+\\(", Pattern.MULTILINE);
		assertThat(Stream.concat(ProjectFiles.in(ROOT.resolve("docs"), 1, ".md"), ProjectFiles.in(ROOT, 1, ".md")))
			.filteredOn((file) -> example.matcher(ProjectFiles.text(file)).find())
			.containsExactly(ROOT.resolve(guide));
	}

	private static List<String> examples(String guide, String language) {
		return Pattern.compile("^```" + language + "\\n(.*?)^```", Pattern.DOTALL | Pattern.MULTILINE)
			.matcher(ProjectFiles.text(ROOT.resolve(guide)))
			.results()
			.map((block) -> block.group(1))
			.toList();
	}

	/** Remove all white space, so that the layout does not matter. */
	private static String compact(String code) {
		return code.replaceAll("\\s+", "");
	}

}
