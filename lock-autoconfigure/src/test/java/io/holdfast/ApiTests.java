package io.holdfast;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.domain.JavaCodeUnit;
import com.tngtech.archunit.core.domain.JavaField;
import com.tngtech.archunit.core.domain.JavaMember;
import com.tngtech.archunit.core.domain.JavaModifier;
import com.tngtech.archunit.core.domain.JavaType;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Holds that the API is what UPGRADING.md lists: complete in itself, and all that is
 * published as Javadoc and compared with the version before.
 */
class ApiTests {

	private static final JavaClasses CLASSES = new ClassFileImporter()
		.withImportOption(new ImportOption.DoNotIncludeTests())
		.importPackages("io.holdfast");

	private static final Pattern LISTED = Pattern.compile("(?m)^\\| `(io\\.holdfast[a-z.]*)` \\|");

	private static final Pattern EXCLUDED = Pattern
		.compile("<sourceFileExclude>(io/holdfast[a-z/]*)/\\*\\.java</sourceFileExclude>");

	private static final Pattern NOT_COMPARED = Pattern.compile("<exclude>(io\\.holdfast[a-z.]*)</exclude>");

	/** What Holdfast calls itself, and users cannot. */
	private static final Set<String> INTERNAL = Set.of(
			"io.holdfast.engine.LeaseEngine needs io.holdfast.engine.context.Scheduler",
			"io.holdfast.engine.fleet.Fleet needs io.holdfast.engine.context.EngineContext",
			"io.holdfast.engine.fleet.Reporter needs io.holdfast.engine.context.EngineContext",
			"io.holdfast.engine.fleet.Reporter needs io.holdfast.engine.lease.LeaseRenewer",
			"io.holdfast.engine.fleet.Reporter needs io.holdfast.engine.queue.Waiter");

	private static Set<String> matches(Path file, Pattern pattern) throws IOException {
		return pattern.matcher(Files.readString(file))
			.results()
			.map((match) -> match.group(1).replace('/', '.'))
			.collect(Collectors.toCollection(TreeSet::new));
	}

	private static Set<String> api() throws IOException {
		return matches(Path.of("../UPGRADING.md"), LISTED);
	}

	@Test
	@DisplayName("The packages of the API are in the published Javadoc and compared with the last version, and no others")
	void published() throws IOException {
		Set<String> packages = CLASSES.stream()
			.map(JavaClass::getPackageName)
			.collect(Collectors.toCollection(TreeSet::new));
		Set<String> excluded = matches(Path.of("pom.xml"), EXCLUDED);
		Set<String> listed = api();
		assertThat(matches(Path.of("pom.xml"), NOT_COMPARED)).isEqualTo(excluded);
		assertThat(packages).containsAll(listed).containsAll(excluded);
		packages.removeAll(excluded);
		assertThat(listed).isEqualTo(packages);
	}

	@Test
	@DisplayName("What the API offers can be used with types of the API alone")
	void complete() throws IOException {
		Set<String> api = api();
		Set<String> missing = new TreeSet<>();
		CLASSES.stream()
			.filter((type) -> api.contains(type.getPackageName()) && isOffered(type))
			.forEach((type) -> Stream
				.concat(supertypes(type),
						type.getMembers().stream().filter(ApiTests::isOffered).flatMap(ApiTests::types))
				.flatMap((used) -> used.getAllInvolvedRawTypes().stream())
				.map(JavaClass::getBaseComponentType)
				.filter((used) -> used.getPackageName().startsWith("io.holdfast"))
				.filter((used) -> !api.contains(used.getPackageName())
						|| !used.getModifiers().contains(JavaModifier.PUBLIC))
				.forEach((used) -> missing.add(type.getName() + " needs " + used.getName())));
		assertThat(missing).isEqualTo(INTERNAL);
	}

	@Test
	@DisplayName("Each type of the API says since which version it is there")
	void since() throws IOException {
		Set<String> api = api();
		Set<String> silent = new TreeSet<>();
		for (JavaClass type : CLASSES) {
			if (api.contains(type.getPackageName()) && type.isTopLevelClass() && isOffered(type)) {
				Path source = Path.of("src/main/java", type.getName().replace('.', '/') + ".java");
				if (!Files.readString(source).contains("\n * @since ")) {
					silent.add(type.getName());
				}
			}
		}
		assertThat(silent).isEmpty();
	}

	/** Whether users can name it. */
	private static boolean isOffered(JavaClass type) {
		return type.getModifiers().contains(JavaModifier.PUBLIC)
				&& type.getEnclosingClass().map(ApiTests::isOffered).orElse(true);
	}

	private static boolean isOffered(JavaMember member) {
		return member.getModifiers().contains(JavaModifier.PUBLIC)
				|| member.getModifiers().contains(JavaModifier.PROTECTED)
						&& !member.getOwner().getModifiers().contains(JavaModifier.FINAL);
	}

	private static Stream<JavaType> supertypes(JavaClass type) {
		return Stream.concat(type.getSuperclass().stream(), type.getInterfaces().stream());
	}

	private static Stream<JavaType> types(JavaMember member) {
		if (member instanceof JavaField field) {
			return Stream.of(field.getType());
		}
		JavaCodeUnit method = (JavaCodeUnit) member;
		return Stream.concat(Stream.of(method.getReturnType()), method.getParameterTypes().stream());
	}

}
