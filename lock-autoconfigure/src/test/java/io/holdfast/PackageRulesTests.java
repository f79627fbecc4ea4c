package io.holdfast;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Future;
import java.util.stream.Stream;

import com.tngtech.archunit.base.DescribedPredicate;
import com.tngtech.archunit.core.domain.AccessTarget.MethodCallTarget;
import com.tngtech.archunit.core.domain.JavaAccess;
import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.domain.JavaCodeUnit;
import com.tngtech.archunit.core.domain.JavaFieldAccess.AccessType;
import com.tngtech.archunit.core.domain.JavaMethod;
import com.tngtech.archunit.core.domain.JavaModifier;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import com.tngtech.archunit.lang.ArchCondition;
import com.tngtech.archunit.lang.ArchRule;
import com.tngtech.archunit.lang.ConditionEvents;
import com.tngtech.archunit.lang.SimpleConditionEvent;
import io.holdfast.async.BlockingWait;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.methods;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;
import static org.assertj.core.api.Assertions.assertThat;

/**
 * Allowed dependencies between packages, so that the engine stays free of Redis and
 * Spring, and each part can be understood alone.
 */
class PackageRulesTests {

	private static final JavaClasses CLASSES = new ClassFileImporter()
		.withImportOption(new ImportOption.DoNotIncludeTests())
		.importPackages("io.holdfast");

	/** Besides the JDK, JSpecify and the package itself. */
	private static final Map<String, List<String>> ALLOWED = Map.ofEntries( //
			Map.entry("io.holdfast", List.of("io.holdfast.async", "org.apache.commons.logging..")), //
			Map.entry("io.holdfast.async", List.of("org.apache.commons.logging..")), //
			Map.entry("io.holdfast.annotation",
					List.of("io.holdfast", "org.springframework.core..", "org.springframework.aot..")), //
			Map.entry("io.holdfast.engine",
					List.of("io.holdfast", "io.holdfast.async", "org.apache.commons.logging..")), //
			Map.entry("io.holdfast.redis",
					List.of("io.holdfast", "io.holdfast.async", "io.holdfast.engine",
							"org.springframework.data.redis..", "org.springframework.dao..",
							"org.springframework.aop.framework", "org.springframework.aop", "org.springframework.core",
							"org.springframework.util..", "io.lettuce..", "io.netty.bootstrap", "io.netty.buffer..",
							"io.netty.channel", "io.netty.handler.flush", "io.netty.handler.timeout",
							"io.netty.util.concurrent..", "javax.net.ssl", "org.apache.commons.logging..")), //
			Map.entry("io.holdfast.optimistic",
					List.of("io.holdfast", "io.holdfast.async", "io.holdfast.redis", "io.holdfast.engine",
							"org.springframework.beans.factory", "org.springframework.data.redis..",
							"org.springframework.dao..", "io.lettuce..", "org.springframework.util..",
							"org.apache.commons.logging..")), //
			Map.entry("io.holdfast.jdbc",
					List.of("io.holdfast", "io.holdfast.async", "javax.sql", "io.micrometer.observation..",
							"org.springframework.beans..", "org.springframework.context..",
							"org.springframework.core..", "org.springframework.dao..", "org.springframework.jdbc..",
							"org.springframework.transaction..", "org.springframework.util..",
							"org.springframework.aop..", "org.apache.commons.logging..")), //
			Map.entry("io.holdfast.memory", List.of("io.holdfast", "io.holdfast.engine")), //
			Map.entry("io.holdfast.reactive",
					List.of("io.holdfast", "io.holdfast.async", "reactor..", "org.reactivestreams..",
							"org.apache.commons.logging..")), //
			Map.entry("io.holdfast.aop", List.of("io.holdfast", "io.holdfast.async", "io.holdfast.annotation",
					"io.holdfast.jdbc", "io.holdfast.reactive", "io.micrometer.observation..", "reactor..",
					"org.reactivestreams..", "kotlin..", "kotlinx.coroutines..", "org.springframework.aop..",
					"org.springframework.aot..", "org.aopalliance..", "org.springframework.beans..",
					"org.springframework.context..", "org.springframework.core..", "org.springframework.expression..",
					"org.springframework.format..", "org.springframework.scheduling.annotation",
					"org.springframework.transaction..", "org.springframework.util..", "org.apache.commons.logging..")), //
			Map.entry("io.holdfast.observation",
					List.of("io.holdfast", "io.holdfast.async", "io.holdfast.engine", "io.holdfast.aop",
							"io.micrometer..", "org.apache.commons.logging..")), //
			Map.entry("io.holdfast.actuate",
					List.of("io.holdfast", "io.holdfast.async", "io.holdfast.engine",
							"org.springframework.boot.actuate..", "org.springframework.boot.health..",
							"org.springframework.lang..", "org.apache.commons.logging..")), //
			Map.entry("io.holdfast.autoconfigure", List.of("..")));

	/** The rooms of a package from top to bottom; "" is the package itself. */
	private static final Map<String, List<String>> ROOMS = Map.of( //
			"io.holdfast.engine", List.of("fleet", "", "store"), //
			"io.holdfast.redis", List.of("", "driver", "script", "key"));

	/** Rooms that are open to all packages, besides packages without rooms. */
	private static final Set<String> OPEN = Set.of("io.holdfast.autoconfigure", "io.holdfast.engine",
			"io.holdfast.engine.fleet", "io.holdfast.engine.store", "io.holdfast.observation", "io.holdfast.aop",
			"io.holdfast.redis", "io.holdfast.redis.driver", "io.holdfast.redis.script", "io.holdfast.redis.key");

	static Stream<String> packages() {
		return ALLOWED.keySet().stream();
	}

	static Stream<String> packagesAndRooms() {
		return Stream
			.concat(packages(),
					rooms().map(Arguments::get).map((room) -> packageOf((String) room[0], (String) room[1])))
			.distinct();
	}

	static Stream<String> housesWithRooms() {
		return ROOMS.keySet().stream();
	}

	static Stream<Arguments> rooms() {
		return ROOMS.entrySet()
			.stream()
			.flatMap((house) -> house.getValue().stream().map((room) -> Arguments.of(house.getKey(), room)));
	}

	private static String packageOf(String house, String room) {
		return room.isEmpty() ? house : house + "." + room;
	}

	private static String houseOf(String packageName) {
		return ROOMS.keySet()
			.stream()
			.filter((house) -> packageName.startsWith(house + "."))
			.findFirst()
			.orElse(packageName);
	}

	@ParameterizedTest
	@MethodSource("packages")
	void aPackageUsesOnlyWhatItMay(String name) {
		DescribedPredicate<JavaClass> allowed = DescribedPredicate
			.describe("allowed", (used) -> Stream.concat(Stream.of("java.", "org.jspecify."), Stream.of(name + "."))
				.anyMatch((start) -> used.getName().startsWith(start)
						&& (!start.equals(name + ".") || houseOf(used.getPackageName()).equals(name)))
					|| used.isPrimitive() || used.isArray()
					|| ALLOWED.get(name).stream().anyMatch((entry) -> matches(entry, houseOf(used.getPackageName()))));
		DescribedPredicate<JavaClass> here = DescribedPredicate.describe("in " + name,
				(type) -> houseOf(type.getPackageName()).equals(name));
		ArchRule rule = classes().that(here).should().onlyDependOnClassesThat(allowed);
		rule.check(CLASSES);
	}

	@ParameterizedTest
	@MethodSource("rooms")
	void aRoomUsesOnlyThoseBelow(String house, String room) {
		List<String> all = ROOMS.get(house);
		String[] above = all.subList(0, all.indexOf(room))
			.stream()
			.map((other) -> packageOf(house, other))
			.toArray(String[]::new);
		noClasses().that()
			.resideInAPackage(packageOf(house, room))
			.should()
			.dependOnClassesThat()
			.resideInAnyPackage(above)
			.check(CLASSES);
	}

	@ParameterizedTest
	@MethodSource("housesWithRooms")
	void onlyOpenRoomsAreUsedByOthers(String house) {
		noClasses().that()
			.resideOutsideOfPackage(house + "..")
			.should()
			.dependOnClassesThat(DescribedPredicate.describe("in a room that is not open",
					(type) -> houseOf(type.getPackageName()).equals(house) && !OPEN.contains(type.getPackageName())))
			.check(CLASSES);
	}

	private static boolean matches(String entry, String packageName) {
		if (entry.endsWith("..")) {
			String root = entry.substring(0, entry.length() - 2);
			return packageName.equals(root) || packageName.startsWith(root + ".") || root.isEmpty();
		}
		return packageName.equals(entry);
	}

	@Test
	void everyPackageHasItsRule() {
		Set<String> packages = new TreeSet<>();
		CLASSES.forEach((type) -> packages.add(type.getPackageName()));
		assertThat(packages).containsExactlyInAnyOrderElementsOf(packagesAndRooms().toList());
	}

	@Test
	void noPackageDependsOnItselfThroughOthers() {
		slices().matching("io.holdfast.(*)..").should().beFreeOfCycles().check(CLASSES);
	}

	@Test
	void onlyConfigurationAndEndpointsKnowSpringBoot() {
		noClasses().that()
			.resideOutsideOfPackages("io.holdfast.autoconfigure..", "io.holdfast.actuate")
			.should()
			.dependOnClassesThat()
			.resideInAPackage("org.springframework.boot..")
			.check(CLASSES);
	}

	/**
	 * A waiting worker of a pool would run other tasks inside of its locks.
	 */
	@Test
	void blockingWaitAloneWaitsForAFuture() {
		noClasses().that()
			.doNotBelongToAnyOf(BlockingWait.class)
			.should()
			.callMethodWhere(DescribedPredicate.describe("a future is waited for",
					// The JDK is not read, so the future types are compared directly.
					(call) -> (call.getTargetOwner().isAssignableTo(Future.class)
							|| call.getTargetOwner().isAssignableTo(CompletableFuture.class))
							&& call.getTarget().getName().matches("get|join")))
			.check(CLASSES);
	}

	/** Covers also called methods and overriding methods. */
	@Test
	void aQuestionChangesNothing() {
		methods().that()
			.haveNameMatching("(is|has|was|can|may|must|should|needs?|wants)([A-Z].*)?")
			.should(new ChangeNothing())
			.check(CLASSES);
	}

	@Test
	void theEngineDoesNotReadTheWallClock() {
		noClasses().that()
			.resideInAnyPackage("io.holdfast.engine..", "io.holdfast.redis..")
			.should()
			.callMethod(System.class, "currentTimeMillis")
			.orShould()
			.dependOnClassesThat()
			.belongToAnyOf(java.time.Clock.class, java.time.Instant.class)
			.check(CLASSES);
	}

	@Test
	void publicTypesOfAutoConfigurationAreFinal() {
		classes().that()
			.resideInAPackage("io.holdfast.autoconfigure")
			.and()
			.arePublic()
			.and()
			.areNotNestedClasses()
			.should()
			.haveModifier(JavaModifier.FINAL)
			.check(CLASSES);
	}

	/**
	 * No field, and nothing by the classes of {@code java.util.concurrent}: no atomic
	 * value, map, future or timer. Follows no call of another library, nor a lambda that
	 * was handed in.
	 */
	private static final class ChangeNothing extends ArchCondition<JavaMethod> {

		private static final String CHANGES = "(.*[sS]et|.*AndGet|getAnd.*|put.*|add.*|remove.*|clear|poll"
				+ "|complete.*|cancel|schedule.*|execute|submit)";

		ChangeNothing() {
			super("change nothing");
		}

		@Override
		public void check(JavaMethod question, ConditionEvents events) {
			Set<JavaCodeUnit> reached = new LinkedHashSet<>(List.of(question));
			Deque<JavaCodeUnit> left = new ArrayDeque<>(reached);
			while (!left.isEmpty()) {
				JavaCodeUnit next = left.remove();
				Stream<? extends JavaAccess<?>> sets = next.getFieldAccesses()
					.stream()
					.filter((access) -> access.getAccessType() == AccessType.SET);
				Stream<? extends JavaAccess<?>> calls = next.getMethodCallsFromSelf()
					.stream()
					.filter((call) -> isChange(call.getTarget()));
				Stream.concat(sets, calls)
					.forEach((change) -> events.add(SimpleConditionEvent.violated(question,
							question.getFullName() + " changes something: " + change.getDescription())));
				next.getMethodCallsFromSelf()
					.stream()
					.flatMap((call) -> call.getTarget().resolveMember().stream())
					.flatMap(ChangeNothing::withOverrides)
					.filter((method) -> method.getOwner().getPackageName().startsWith("io.holdfast")
							&& reached.add(method))
					.forEach(left::add);
			}
		}

		private static boolean isChange(MethodCallTarget target) {
			return target.getOwner().getPackageName().startsWith("java.util.concurrent")
					&& target.getName().matches(CHANGES);
		}

		private static Stream<JavaMethod> withOverrides(JavaMethod method) {
			return Stream.concat(Stream.of(method),
					method.getOwner()
						.getAllSubclasses()
						.stream()
						.flatMap((type) -> type.tryGetMethod(method.getName(),
								method.getRawParameterTypes().stream().map(JavaClass::getName).toArray(String[]::new))
							.stream()));
		}

	}

}
