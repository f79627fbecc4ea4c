package io.holdfast;

import java.lang.reflect.RecordComponent;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.MatchResult;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

import io.holdfast.autoconfigure.HoldfastProperties;
import io.holdfast.testing.ProjectFiles;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Holds the guides to their size and language, and to existing pages, headings, log lines
 * and properties.
 */
class GuideTests {

	private static final Path ROOT = Path.of("..");

	private static final Path README = ROOT.resolve("README.md");

	private static final Path DOCS = ROOT.resolve("docs");

	/** Reference that is made from the code. */
	private static final Set<String> GENERATED = Set.of("properties.md", "metrics.md");

	private static final int README_LINES = 150;

	private static final int GUIDE_WORDS = 14_000;

	private static final int GUIDES = 20;

	private static final int INTERNAL_WORDS = 10_000;

	private static final int REPORT_WORDS = 3_000;

	/** Clauses in place of nouns, per 100 words of pages or comments. */
	private static final double CLAUSES = 0.4;

	private static final int SENTENCE_WORDS = 30;

	private static final Pattern CODE_BLOCK = Pattern.compile("^```.*?^```", Pattern.DOTALL | Pattern.MULTILINE);

	private static final Pattern LINK = Pattern.compile("\\]\\(([^)\\s]+)\\)");

	private static final Pattern HEADING = Pattern.compile("^#+\\s+(.*)$", Pattern.MULTILINE);

	private static final Pattern SENTENCE_END = Pattern.compile("(?<=[.!?])[\"*)\\]]*\\s+");

	private static final Pattern WORD = Pattern.compile("\\S*\\w\\S*");

	/** The beginning of a clause that stands in place of a noun. */
	private static final Pattern CLAUSE = Pattern
		.compile("(?i)\\b(what(ever)?|who(m|ever)?|whichever)\\b|\\bthose (that|who)\\b");

	private static final Pattern COMMENT = Pattern.compile("/\\*.*?\\*/|//[^\\n]*", Pattern.DOTALL);

	private static final Pattern QUOTED = Pattern.compile("`([^`]+)`");

	/** A test class, or a method of the last named class in the line. */
	private static final Pattern TEST = Pattern.compile("`([A-Z]\\w*(?:Tests|Contract))?(?:#(\\w+))?`");

	private static final Pattern PROPERTY = Pattern.compile("(?<![.\\w])holdfast(\\.[a-z]+(-[a-z]+)*)+");

	/** Pairs per second. */
	private static final Pattern FIGURE = Pattern.compile("\\| ([\\d,]*\\d)(?= )");

	private static final Pattern METER_PREFIX = Pattern.compile("holdfast\\.(lock|semaphore)\\.(permits\\.)?");

	private static Stream<Path> guides() {
		return Stream.concat(Stream.of(README, ROOT.resolve("sample-app/README.md")), ProjectFiles.in(DOCS, 1, ".md"));
	}

	private static boolean isWritten(Path file) {
		return !GENERATED.contains(file.getFileName().toString());
	}

	private static String prose(Path file) {
		return CODE_BLOCK.matcher(ProjectFiles.text(file)).replaceAll("\n");
	}

	private static long words(String text) {
		return WORD.matcher(text).results().count();
	}

	@Test
	@DisplayName("README is one page; guides, internals and reports have a limit of words each")
	void size() {
		assertThat(ProjectFiles.text(README).lines().count()).as("lines of README.md")
			.isLessThanOrEqualTo(README_LINES);
		assertThat(ProjectFiles.in(DOCS, 1, ".md")).as("docs/*.md").hasSizeLessThanOrEqualTo(GUIDES);
		assertWords("docs/*.md", DOCS, GUIDE_WORDS);
		assertWords("docs/internals", DOCS.resolve("internals"), INTERNAL_WORDS);
		assertWords("docs/reports", DOCS.resolve("reports"), REPORT_WORDS);
	}

	private static void assertWords(String pages, Path folder, int most) {
		assertThat(ProjectFiles.in(folder, 1, ".md")
			.filter(GuideTests::isWritten)
			.mapToLong((file) -> words(prose(file)))
			.sum()).as("words of " + pages + " without blocks of code").isLessThanOrEqualTo(most);
	}

	@Test
	@DisplayName("The figures of the README are on the page about performance")
	void figures() {
		assertThat(figures(README)).hasSizeGreaterThan(20).isSubsetOf(figures(DOCS.resolve("performance.md")));
	}

	private static Set<String> figures(Path page) {
		return FIGURE.matcher(ProjectFiles.text(page))
			.results()
			.map((figure) -> figure.group(1))
			.collect(Collectors.toSet());
	}

	@Test
	@DisplayName("Pages and comments have nouns, not clauses that the reader has to solve")
	void clauses() {
		String pages = Stream
			.concat(Stream.of(README, ROOT.resolve("sample-app/README.md"), ROOT.resolve("CONTRIBUTING.md"),
					ROOT.resolve("UPGRADING.md")), ProjectFiles.in(DOCS, ".md"))
			.map(GuideTests::prose)
			.collect(Collectors.joining("\n"));
		assertThat(clausesIn(pages)).as("clauses per 100 words of the pages").isLessThanOrEqualTo(CLAUSES);
		String comments = Stream.of("lock-autoconfigure", "lock-starter-test", "sample-app")
			.flatMap((module) -> ProjectFiles.in(ROOT.resolve(module).resolve("src/main"), ".java"))
			.flatMap((file) -> COMMENT.matcher(ProjectFiles.text(file)).results())
			.map(MatchResult::group)
			.collect(Collectors.joining("\n"));
		assertThat(clausesIn(comments)).as("clauses per 100 words of comments").isLessThanOrEqualTo(CLAUSES);
	}

	private static double clausesIn(String text) {
		return 100.0 * CLAUSE.matcher(text).results().count() / words(text);
	}

	@Test
	@DisplayName("No sentence is longer than thirty words")
	void sentences() {
		List<String> found = new ArrayList<>();
		guides().filter(GuideTests::isWritten)
			.forEach((file) -> blocks(prose(file)).stream()
				.flatMap((block) -> SENTENCE_END.splitAsStream(block))
				.filter((sentence) -> words(sentence) > SENTENCE_WORDS)
				.map((sentence) -> file + ": " + sentence.strip())
				.forEach(found::add));
		assertThat(found).isEmpty();
	}

	/**
	 * Paragraphs, items of lists and cells of tables. A quotation counts as one word, and
	 * a link has no address.
	 */
	private static List<String> blocks(String prose) {
		List<String> blocks = new ArrayList<>();
		StringBuilder block = new StringBuilder();
		Stream<String> lines = QUOTED.matcher(prose).replaceAll("X").replaceAll("\\]\\([^)]*\\)", "]").lines();
		lines.map(String::strip).forEach((line) -> {
			if (line.isEmpty() || line.matches("([-*|#]|\\d+\\.).*")) {
				blocks.add(block.toString());
				block.setLength(0);
			}
			if (line.startsWith("|")) {
				blocks.addAll(List.of(line.split("\\|")));
			}
			else {
				block.append(line).append(' ');
			}
		});
		blocks.add(block.toString());
		return blocks;
	}

	@Test
	@DisplayName("Links lead to files and headings that are there")
	void links() {
		List<String> broken = new ArrayList<>();
		Stream
			.concat(ProjectFiles.in(ROOT, 1, ".md"),
					Stream.concat(ProjectFiles.in(ROOT.resolve("sample-app"), 1, ".md"),
							ProjectFiles.in(DOCS, 2, ".md")))
			.forEach((file) -> LINK.matcher(prose(file))
				.results()
				.map((link) -> link.group(1))
				.filter((link) -> !link.matches("[a-z]+:.*") && !leadsTo(file, link))
				.map((link) -> file + ": " + link)
				.forEach(broken::add));
		assertThat(broken).isEmpty();
	}

	private static boolean leadsTo(Path file, String link) {
		String[] parts = link.split("#", 2);
		Path target = parts[0].isEmpty() ? file : file.resolveSibling(parts[0]);
		return Files.exists(target) && (parts.length == 1 || HEADING.matcher(prose(target))
			.results()
			.anyMatch((heading) -> anchor(heading.group(1)).equals(parts[1])));
	}

	private static String anchor(String heading) {
		return heading.strip().toLowerCase(Locale.ROOT).replaceAll("[^\\w\\- ]", "").replace(' ', '-');
	}

	@Test
	@DisplayName("Troubleshooting quotes messages of the code")
	void messages() {
		String code = code().replaceAll("\"\\s*\\+\\s*\"", "");
		List<String> unknown = new ArrayList<>();
		prose(DOCS.resolve("troubleshooting.md")).lines()
			.filter((line) -> line.startsWith("|"))
			.flatMap((line) -> QUOTED.matcher(line.split("\\|")[1]).results())
			.map((quote) -> quote.group(1))
			.filter((quote) -> quote.contains(" "))
			.filter((quote) -> !Stream.of(quote.split("…")).allMatch((part) -> code.contains(part.strip())))
			.forEach(unknown::add);
		assertThat(unknown).isEmpty();
	}

	@Test
	@DisplayName("Properties and meters that guides name are there")
	void properties() {
		String code = code();
		Set<String> properties = properties("holdfast", HoldfastProperties.class).collect(Collectors.toSet());
		Set<String> unknown = new TreeSet<>();
		guides().forEach((file) -> QUOTED.matcher(prose(file))
			.results()
			.flatMap((quote) -> PROPERTY.matcher(quote.group(1)).results())
			.map((name) -> name.group())
			.filter((name) -> !name.matches("holdfast\\.(benchmark|sample|test)\\b.*"))
			.filter((name) -> !properties.contains(name) && !code.contains(name))
			.filter((name) -> !code.contains('"' + METER_PREFIX.matcher(name).replaceFirst("") + '"'))
			.forEach(unknown::add));
		assertThat(unknown).isEmpty();
	}

	private static Stream<String> properties(String prefix, Class<?> type) {
		if (!type.isRecord()) {
			return Stream.of(prefix);
		}
		return Stream.concat(Stream.of(prefix), Stream.of(type.getRecordComponents())
			.flatMap((component) -> properties(prefix + "." + kebab(component), component.getType())));
	}

	private static String kebab(RecordComponent component) {
		Matcher capital = Pattern.compile("[A-Z]").matcher(component.getName());
		return capital.replaceAll((letter) -> "-" + letter.group().toLowerCase(Locale.ROOT));
	}

	@Test
	@DisplayName("Tests that the internals name are there")
	void tests() {
		Map<String, String> sources = Stream.of("lock-autoconfigure", "lock-starter-test", "sample-app")
			.flatMap((module) -> ProjectFiles.in(ROOT.resolve(module).resolve("src/test"), "Tests.java",
					"Contract.java"))
			.collect(Collectors.toMap((file) -> file.getFileName().toString().replace(".java", ""), ProjectFiles::text,
					String::concat));
		List<String> unknown = new ArrayList<>();
		Stream.concat(Stream.of(ROOT.resolve("CONTRIBUTING.md")), ProjectFiles.in(DOCS.resolve("internals"), ".md"))
			.flatMap((file) -> prose(file).lines())
			.forEach((line) -> {
				String source = "";
				for (MatchResult test : TEST.matcher(line).results().toList()) {
					if (test.group(1) != null) {
						source = sources.getOrDefault(test.group(1), "");
					}
					boolean there = (test.group(2) != null) ? source.contains(" " + test.group(2) + "(")
							: !source.isEmpty();
					if (!there) {
						unknown.add(test.group() + " in: " + line);
					}
				}
			});
		assertThat(unknown).isEmpty();
	}

	@Test
	@DisplayName("Each rule of the protocol names its test")
	void rules() {
		assertThat(prose(DOCS.resolve("internals/protocol.md")).lines()
			.filter((line) -> !line.startsWith("⚠ marks") && !line.startsWith("| ⚠ rule |"))
			.flatMap((line) -> Stream.of(line.split("⚠")).skip(1))
			.filter((rule) -> TEST.matcher(rule).results().noneMatch((test) -> test.group().length() > 2))).isEmpty();
	}

	private static String code() {
		return ProjectFiles.in(Path.of("src/main"), ".java").map(ProjectFiles::text).collect(Collectors.joining());
	}

}
