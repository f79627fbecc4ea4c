package io.holdfast;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
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
 * Checks that UPGRADING.md lists the API of all modules, which is complete in itself,
 * published as Javadoc, and compared with the previous version.
 */
class ApiTests {

	private static final JavaClasses CLASSES = new ClassFileImporter()
		.withImportOption(new ImportOption.DoNotIncludeTests())
		.importPackages("io.holdfast");

	private static final Path ROOT = Path.of("..");

	private static final List<Path> SOURCES = Stream.of("lock-autoconfigure", "lock-starter-test")
		.map((module) -> ROOT.resolve(module).resolve("src/main/java"))
		.toList();

	private static final String LISTED = "(?m)^\\| `(io\\.holdfast[a-z.]*)` \\| ";

	private static final Pattern MODULE = Pattern.compile("(?m)^\\| `(lock-[a-z-]+)` \\| `(io\\.holdfast[a-z.]*)` \\|");

	private static final Pattern MODULE_NAME = Pattern
		.compile("<Automatic-Module-Name>([^<]*)</Automatic-Module-Name>");

	private static final Pattern EXCLUDED = Pattern
		.compile("<sourceFileExclude>(io/holdfast[a-z/]*)/\\*\\.java</sourceFileExclude>");

	private static final Pattern EXCLUDED_TYPE = Pattern
		.compile("<sourceFileExclude>(io/holdfast[A-Za-z/]*)\\.java</sourceFileExclude>");

	private static final Pattern COMPARED = Pattern.compile("<include>(io\\.holdfast[a-z.]*)</include>");

	private static final Pattern NOT_COMPARED = Pattern.compile("<exclude>(io\\.holdfast[A-Za-z.]*)</exclude>");

	/**
	 * API types with methods for Holdfast and Actuator, and the internal types of these
	 * methods.
	 */
	private static final Map<String, Set<String>> INTERNAL = Map.of("LeaseContext",
			Set.of("TransactionBinding$Participation"), "actuate.LocksEndpoint", Set.of("actuate.ResourceDescriptor",
					"actuate.UsageDescriptor", "engine.fleet.StandingQuery$Order", "engine.fleet.StandingQuery$State"),
			"actuate.SemaphoresEndpoint",
			Set.of("actuate.ReleaseDescriptor", "actuate.ResourceDescriptor", "actuate.UsageDescriptor",
					"engine.fleet.StandingQuery$Order", "engine.fleet.StandingQuery$State"),
			"aop.InvalidDeclarationException", Set.of("async.SetupException"), "autoconfigure.HoldfastProperties",
			Set.of("engine.EngineSettings"), "engine.DefaultLockService",
			Set.of("engine.EngineService", "engine.ForcedResult"), "engine.DefaultSemaphoreService",
			Set.of("engine.EngineService"), "jdbc.Fences", Set.of("jdbc.TransactionFences"), "engine.LeaseEngine",
			Set.of("engine.EngineContext", "engine.EngineSettings", "engine.EngineStatus", "engine.InstanceDirectory",
					"engine.Reporter", "engine.Scheduler", "engine.store.LeaseStore",
					"engine.store.LeaseStore$Standing", "engine.store.StoreDiagnostic"));

	private static Set<String> matches(String text, Pattern pattern) {
		return pattern.matcher(text)
			.results()
			.map((match) -> match.group(1).replace('/', '.'))
			.collect(Collectors.toCollection(TreeSet::new));
	}

	/** Packages of the table, for an audience or for all. */
	private static Set<String> api(String audience) throws IOException {
		return matches(Files.readString(ROOT.resolve("UPGRADING.md")), Pattern.compile(LISTED + audience));
	}

	private static Set<String> api() throws IOException {
		return api("");
	}

	@Test
	@DisplayName("The published Javadoc has exactly the packages of the API")
	void published() throws IOException {
		Set<String> packages = CLASSES.stream()
			.map(JavaClass::getPackageName)
			.collect(Collectors.toCollection(TreeSet::new));
		Set<String> excluded = matches(Files.readString(ROOT.resolve("lock-autoconfigure/pom.xml")), EXCLUDED);
		assertThat(packages).containsAll(excluded);
		packages.removeAll(excluded);
		assertThat(api()).isEqualTo(packages);
	}

	@Test
	@DisplayName("The packages of the API are compared with the previous version, each by the rules for its audience")
	void compared() throws IOException {
		String[] executions = Files.readString(ROOT.resolve("lock-autoconfigure/pom.xml"))
			.split("<id>api-for-extensions</id>");
		// The last module is compared as a whole, as all its types are for applications.
		Set<String> applications = matches(executions[0], COMPARED);
		applications.add("io.holdfast.test");
		assertThat(api("applications ")).isEqualTo(applications);
		assertThat(api("extensions ")).isEqualTo(matches(executions[1], COMPARED));
		assertThat(api()).hasSize(api("applications ").size() + api("extensions ").size());
		assertThat(matches(executions[0] + executions[1], NOT_COMPARED)).isEqualTo(internal());
	}

	@Test
	@DisplayName("Modules have the names in UPGRADING.md")
	void modules() throws IOException {
		Map<String, String> listed = new TreeMap<>();
		MODULE.matcher(Files.readString(ROOT.resolve("UPGRADING.md")))
			.results()
			.forEach((row) -> listed.put(row.group(1), row.group(2)));
		Map<String, String> named = new TreeMap<>();
		try (Stream<Path> modules = Files.list(ROOT)) {
			for (Path pom : modules.map((module) -> module.resolve("pom.xml")).filter(Files::exists).toList()) {
				matches(Files.readString(pom), MODULE_NAME)
					.forEach((name) -> named.put(pom.getParent().getFileName().toString(), name));
			}
		}
		assertThat(named).isNotEmpty().isEqualTo(listed);
	}

	@Test
	@DisplayName("The API can be used with types of the API alone")
	void complete() throws IOException {
		Set<String> api = api();
		Set<String> internal = internal();
		Map<String, Set<String>> missing = new TreeMap<>();
		CLASSES.stream()
			.filter((type) -> api.contains(type.getPackageName()) && isOffered(type)
					&& !internal.contains(topLevel(type)))
			.forEach((type) -> Stream
				.concat(supertypes(type),
						type.getMembers().stream().filter(ApiTests::isOffered).flatMap(ApiTests::types))
				.flatMap((used) -> used.getAllInvolvedRawTypes().stream())
				.map(JavaClass::getBaseComponentType)
				.filter((used) -> used.getPackageName().startsWith("io.holdfast"))
				.filter((used) -> !api.contains(used.getPackageName())
						|| !used.getModifiers().contains(JavaModifier.PUBLIC) || internal.contains(topLevel(used)))
				.forEach((used) -> missing.computeIfAbsent(inHoldfast(type), (name) -> new TreeSet<>())
					.add(inHoldfast(used))));
		assertThat(missing).isEqualTo(INTERNAL);
	}

	@Test
	@DisplayName("Each public type in a package of the API has its first version in @since, or is internal")
	void since() throws IOException {
		Set<String> api = api();
		Set<String> silent = new TreeSet<>();
		for (JavaClass type : CLASSES) {
			if (api.contains(type.getPackageName()) && type.isTopLevelClass() && isOffered(type)) {
				if (!Files.readString(source(type)).contains("\n * @since ")) {
					silent.add(type.getName());
				}
			}
		}
		assertThat(silent).isEqualTo(internal());
	}

	private static String inHoldfast(JavaClass type) {
		return type.getName().substring("io.holdfast.".length());
	}

	/** Public types in packages of the API that are internal. */
	private static Set<String> internal() throws IOException {
		return matches(Files.readString(ROOT.resolve("lock-autoconfigure/pom.xml")), EXCLUDED_TYPE);
	}

	private static String topLevel(JavaClass type) {
		return type.getEnclosingClass().map(ApiTests::topLevel).orElse(type.getName());
	}

	private static Path source(JavaClass type) {
		String file = type.getName().replace('.', '/') + ".java";
		return SOURCES.stream().map((folder) -> folder.resolve(file)).filter(Files::exists).findFirst().orElseThrow();
	}

	/** Whether users can name the type. */
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
