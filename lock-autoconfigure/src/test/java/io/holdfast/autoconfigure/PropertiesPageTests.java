package io.holdfast.autoconfigure;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;

import com.jayway.jsonpath.JsonPath;
import io.holdfast.testing.GeneratedPage;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import org.springframework.core.io.ClassPathResource;
import org.springframework.util.ClassUtils;

/**
 * Generates {@code docs/properties.md} from the compiler's metadata of
 * {@link HoldfastProperties} and the endpoints.
 */
class PropertiesPageTests {

	@Test
	@DisplayName("docs/properties.md lists the properties as the metadata does")
	void page() throws IOException, ClassNotFoundException {
		GeneratedPage page = new GeneratedPage("properties.md", "Properties",
				"Look up a setting: its name, its values, its default and its effect.",
				"the Javadoc of HoldfastProperties", getClass());
		page.line("");
		page.line("Times are written as `200ms`, `10s`, `5m`, `24h`; a plain number is in milliseconds. "
				+ "A value out of range stops the application at start-up, with a message that names the property; "
				+ "a value of `holdfast.fence`, if the fence table is used. "
				+ "An unknown name causes a warning, except in environment variables and system properties. A property "
				+ "without a default has no effect until it is set, unless its description says otherwise.");
		for (Map.Entry<String, List<Map<String, Object>>> section : sections().entrySet()) {
			page.line("");
			page.line("## " + section.getKey());
			page.line("");
			page.row("property", "values", "default", "meaning");
			page.row("---", "---", "---", "---");
			for (Map<String, Object> property : section.getValue()) {
				page.row(code(property.get("name")), values(type(property)), code(defaultValue(property)),
						String.valueOf(property.get("description")));
			}
		}
		page.check();
	}

	/** Properties in order, by the first two parts of their names. */
	private static Map<String, List<Map<String, Object>>> sections() throws IOException {
		String metadata = new ClassPathResource("META-INF/spring-configuration-metadata.json")
			.getContentAsString(StandardCharsets.UTF_8);
		List<Map<String, Object>> properties = JsonPath.read(metadata, "$.properties");
		return properties.stream()
			.collect(Collectors.groupingBy((property) -> section((String) property.get("name")), TreeMap::new,
					Collectors.toList()));
	}

	private static String section(String property) {
		String[] parts = property.split("\\.");
		return String.join(".", List.of(parts).subList(0, Math.min(parts.length - 1, 2)));
	}

	private static String code(Object value) {
		return (value != null) ? "`" + value + "`" : "";
	}

	private static Object defaultValue(Map<String, Object> property) throws ClassNotFoundException {
		Object value = property.get("defaultValue");
		return (value != null && type(property).isEnum()) ? dashed(value.toString()) : value;
	}

	private static Class<?> type(Map<String, Object> property) throws ClassNotFoundException {
		// Without the type of a list's elements.
		return ClassUtils.forName(((String) property.get("type")).replaceFirst("<.*", ""), null);
	}

	private static String dashed(String constant) {
		return constant.toLowerCase(Locale.ROOT).replace('_', '-');
	}

	private static String values(Class<?> type) {
		if (type.isEnum()) {
			return Stream.of(type.getEnumConstants())
				.map((constant) -> dashed(((Enum<?>) constant).name()))
				.map(PropertiesPageTests::code)
				.collect(Collectors.toCollection(TreeSet::new))
				.stream()
				.collect(Collectors.joining(", "));
		}
		return switch (type.getSimpleName()) {
			case "Boolean" -> "`true`, `false`";
			case "Integer" -> "number";
			case "Duration" -> "time";
			case "String" -> "text";
			case "List" -> "texts, comma-separated";
			default -> throw new IllegalStateException("Say in words what " + type.getName() + " is");
		};
	}

}
