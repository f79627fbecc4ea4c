package io.holdfast.mutants;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.MalformedURLException;
import java.net.URL;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Stream;

import io.holdfast.testing.TestRedis;
import io.holdfast.testing.WithRedis;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.io.TempDir;
import org.junit.platform.engine.CancellationToken;
import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.engine.discovery.DiscoverySelectors;
import org.junit.platform.launcher.LauncherConstants;
import org.junit.platform.launcher.TestExecutionListener;
import org.junit.platform.launcher.TestIdentifier;
import org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder;
import org.junit.platform.launcher.core.LauncherExecutionRequestBuilder;
import org.junit.platform.launcher.core.LauncherFactory;

import org.springframework.dao.DataAccessException;
import org.springframework.data.redis.core.RedisCallback;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Changes the scripts in one place after the other; each time some test must fail. What
 * no test can notice, because it makes no difference, is listed with the reason in
 * {@code equivalent-mutants.txt}. {@code -Dholdfast.test.mutants=lock-release.lua} names
 * what the place begins with.
 */
@Tag("mutants")
@WithRedis
class ScriptMutantTests {

	private static final String PACKAGE = "io/holdfast/redis/";

	/** What is put before a script, and what notices a change of it the soonest. */
	private static final Map<String, List<String>> SCRIPTS = scripts();

	/** Which tests look at locks, at permits, and at both: the quickest first. */
	private static final List<String> LOCK_TESTS = List.of("redis.RedisLeaseStoreTests", "redis.ClusterLeaseStoreTests",
			"redis.RedisFaultTests", "redis.RedisPermitStoreTests", "redis.RedisFleetStoreTests", "faults.RightsTests",
			"faults.LostDataTests");

	private static final List<String> PERMIT_TESTS = List.of("redis.RedisPermitStoreTests",
			"redis.ClusterPermitStoreTests", "redis.RedisPermitFaultTests", "redis.RedisLeaseStoreTests",
			"redis.RedisFleetStoreTests", "faults.RightsTests", "faults.PoolLostDataTests");

	private static final List<String> FLEET_TESTS = List.of("redis.RedisFleetStoreTests",
			"redis.ClusterFleetStoreTests", "redis.JedisFleetStoreTests", "faults.FleetRightsTests");

	private final TestRedis redis;

	@TempDir
	Path directory;

	ScriptMutantTests(TestRedis redis) {
		this.redis = redis;
	}

	private static Map<String, List<String>> scripts() {
		Map<String, List<String>> scripts = new LinkedHashMap<>();
		for (String name : List.of("lock-acquire", "lock-release", "permits-acquire", "permits-release",
				"permits-shrink", "permits-limit")) {
			scripts.put(name + ".lua", List.of(name.substring(0, name.indexOf('-')) + "-shared.lua"));
		}
		for (String name : List.of("renew", "lock-inspect", "permits-renew", "permits-inspect", "scan", "fleet-join",
				"fleet-leave", "fleet-members", "fleet-ask", "fleet-answer", "fleet-collect", "confirm")) {
			scripts.put(name + ".lua", List.of());
		}
		return scripts;
	}

	@TestFactory
	Stream<DynamicTest> everyChangeIsNoticed() throws IOException {
		String wanted = System.getProperty("holdfast.test.mutants", "");
		Set<String> equivalent = equivalent();
		Set<String> files = new TreeSet<>(SCRIPTS.keySet());
		SCRIPTS.values().forEach(files::addAll);
		List<Mutant> mutants = new ArrayList<>();
		for (String file : files) {
			mutants.addAll(Mutant.of(file, text(file)));
		}
		Set<String> unknown = new HashSet<>(equivalent);
		mutants.forEach((mutant) -> unknown.remove(mutant.name()));
		assertThat(unknown).as("equivalent mutants that are none").isEmpty();
		return mutants.stream()
			.filter((mutant) -> mutant.toString().startsWith(wanted) && !equivalent.contains(mutant.name()))
			.filter(this::isValid)
			.map((mutant) -> DynamicTest.dynamicTest(mutant.toString(),
					() -> assertThat(failure(mutant)).as("the test that notices " + mutant).isNotNull()));
	}

	/** Changes after which a script does not even begin to run are none. */
	private boolean isValid(Mutant mutant) {
		return SCRIPTS.entrySet()
			.stream()
			.filter((script) -> script.getKey().equals(mutant.file()) || script.getValue().contains(mutant.file()))
			.allMatch((script) -> compiles(script.getKey(), script.getValue(), mutant));
	}

	private boolean compiles(String file, List<String> before, Mutant mutant) {
		StringBuilder joined = new StringBuilder();
		Stream.concat(before.stream(), Stream.of(file))
			.forEach((part) -> joined.append(part.equals(mutant.file()) ? mutant.text() : text(part)));
		try {
			this.redis.template()
				.execute((RedisCallback<@Nullable String>) (connection) -> connection.scriptingCommands()
					.scriptLoad(joined.toString().getBytes(StandardCharsets.UTF_8)));
			return true;
		}
		catch (DataAccessException ex) {
			return false;
		}
	}

	/** The first test that fails with a mutant. */
	private @Nullable String failure(Mutant mutant) throws Exception {
		Path script = this.directory.resolve(PACKAGE + mutant.file());
		Files.createDirectories(script.getParent());
		Files.writeString(script, mutant.text());
		List<String> tests = tests(mutant.file());
		Thread thread = Thread.currentThread();
		ClassLoader before = thread.getContextClassLoader();
		try (MutantLoader loader = new MutantLoader(classPath(), this.directory)) {
			thread.setContextClassLoader(loader);
			for (String test : tests) {
				String failure = run(loader.loadClass("io.holdfast." + test));
				if (failure != null) {
					return failure;
				}
			}
			return null;
		}
		finally {
			thread.setContextClassLoader(before);
			Files.delete(script);
		}
	}

	private static List<String> tests(String file) {
		if (file.startsWith("fleet-") || file.startsWith("scan")) {
			return FLEET_TESTS;
		}
		if (file.equals("confirm.lua")) {
			return List.of("redis.LettuceConfirmingConnectionTests");
		}
		return file.contains("permits") ? PERMIT_TESTS : LOCK_TESTS;
	}

	private static @Nullable String run(Class<?> test) {
		CancellationToken enough = CancellationToken.create();
		List<String> failures = new ArrayList<>();
		LauncherFactory.create()
			.execute(LauncherExecutionRequestBuilder
				.request(LauncherDiscoveryRequestBuilder.request()
					.selectors(DiscoverySelectors.selectClass(test))
					.configurationParameter(LauncherConstants.STACKTRACE_PRUNING_ENABLED_PROPERTY_NAME, "false")
					.build())
				.cancellationToken(enough)
				.listeners(new TestExecutionListener() {

					@Override
					public void executionFinished(TestIdentifier identifier, TestExecutionResult result) {
						if (result.getStatus() == TestExecutionResult.Status.FAILED) {
							failures.add(identifier.getDisplayName());
							enough.cancel();
						}
					}

				})
				.build());
		return failures.isEmpty() ? null : failures.get(0);
	}

	private static URL[] classPath() {
		return Arrays.stream(System.getProperty("java.class.path").split(System.getProperty("path.separator")))
			.map(Path::of)
			.map((entry) -> {
				try {
					return entry.toUri().toURL();
				}
				catch (MalformedURLException ex) {
					throw new UncheckedIOException(ex);
				}
			})
			.toArray(URL[]::new);
	}

	private static String text(String file) {
		try (var resource = ScriptMutantTests.class.getResourceAsStream("/" + PACKAGE + file)) {
			assertThat(resource).as(file).isNotNull();
			return new String(resource.readAllBytes(), StandardCharsets.UTF_8);
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
	}

	private static Set<String> equivalent() throws IOException {
		try (var resource = ScriptMutantTests.class.getResourceAsStream("equivalent-mutants.txt")) {
			assertThat(resource).isNotNull();
			Set<String> names = new HashSet<>();
			new String(resource.readAllBytes(), StandardCharsets.UTF_8).lines()
				.filter((line) -> !line.isBlank() && !line.startsWith("#"))
				.forEach(names::add);
			return names;
		}
	}

}
