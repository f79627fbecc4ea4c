package io.holdfast.testing;

import java.io.IOException;
import java.io.InputStream;
import java.lang.reflect.AnnotatedElement;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.stream.Stream;

import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.platform.commons.annotation.Testable;
import org.junit.platform.commons.support.AnnotationSupport;
import org.junit.platform.commons.support.HierarchyTraversalMode;
import org.junit.platform.commons.support.ReflectionSupport;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * The file {@code slow-tests.txt} contains each test that only {@code -Pfull} runs, with
 * a test that every build runs.
 */
class SlowTestsTests {

	private static final String FILE = "slow-tests.txt";

	private static final String PACKAGE = "io.holdfast";

	private static final String ARROW = " -> ";

	private static List<String> lines;

	/** Slow tests, each with its quick test. */
	private static Map<String, String> list;

	@BeforeAll
	static void read() throws IOException {
		try (InputStream file = Objects.requireNonNull(SlowTestsTests.class.getResourceAsStream(FILE), FILE)) {
			lines = new String(file.readAllBytes(), StandardCharsets.UTF_8).lines()
				.filter((line) -> !line.isBlank() && !line.startsWith("#"))
				.toList();
		}
		list = new LinkedHashMap<>();
		for (String line : lines) {
			String[] parts = line.split(ARROW);
			assertThat(parts).as(line).hasSize(2);
			list.put(parts[0], parts[1]);
		}
	}

	private static boolean isSlow(AnnotatedElement element) {
		return AnnotationSupport.isAnnotated(element, Slow.class);
	}

	private static String name(Class<?> type) {
		return type.getName().substring(PACKAGE.length() + 1);
	}

	private static List<String> tagged() {
		List<String> tagged = new ArrayList<>();
		for (Class<?> type : ReflectionSupport.findAllClassesInPackage(PACKAGE, (each) -> true, (each) -> true)) {
			if (isSlow(type)) {
				tagged.add(name(type));
			}
			Stream.of(type.getDeclaredMethods())
				.filter(SlowTestsTests::isSlow)
				.map((method) -> name(type) + "#" + method.getName())
				.forEach(tagged::add);
		}
		return tagged;
	}

	@Test
	@DisplayName("The list has each slow test, in the order of the alphabet, and no other")
	void complete() {
		assertThat(list.keySet()).as("tests with @Slow").containsExactlyInAnyOrderElementsOf(tagged());
		assertThat(lines).isSorted().doesNotHaveDuplicates();
	}

	@Test
	@DisplayName("The quick one of each is a test of every build")
	void quick() {
		assertThat(list).allSatisfy((slow, quick) -> {
			String[] parts = quick.split("#");
			Class<?> type = ReflectionSupport.tryToLoadClass(PACKAGE + "." + parts[0]).toOptional().orElseThrow();
			assertRuns(type);
			if (parts.length > 1) {
				Optional<Method> method = methods(type).stream()
					.filter((each) -> each.getName().equals(parts[1]))
					.findFirst();
				assertThat(method).as("a test").isPresent();
				assertRuns(method.orElseThrow());
			}
			else {
				assertThat(methods(type)).as("tests that are not slow").anyMatch((method) -> !isSlow(method));
			}
		});
	}

	private static List<Method> methods(Class<?> type) {
		return ReflectionSupport.findMethods(type, (each) -> AnnotationSupport.isAnnotated(each, Testable.class),
				HierarchyTraversalMode.TOP_DOWN);
	}

	private static void assertRuns(AnnotatedElement element) {
		assertThat(AnnotationSupport.findRepeatableAnnotations(element, Tag.class)).as("tags of %s", element).isEmpty();
	}

}
