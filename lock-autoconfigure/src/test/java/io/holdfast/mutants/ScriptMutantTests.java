package io.holdfast.mutants;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

import io.holdfast.redis.key.RedisStoreOptions;
import io.holdfast.redis.key.TestOptions;
import io.holdfast.redis.script.Script;
import io.holdfast.redis.script.StoreScripts;
import io.holdfast.testing.RedisServer;
import io.holdfast.testing.TestRedis;
import io.holdfast.testing.WithRedis;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.Timeout;
import org.junit.platform.engine.CancellationToken;
import org.junit.platform.engine.DiscoverySelector;
import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.engine.discovery.DiscoverySelectors;
import org.junit.platform.launcher.TestExecutionListener;
import org.junit.platform.launcher.TestIdentifier;
import org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder;
import org.junit.platform.launcher.core.LauncherExecutionRequestBuilder;
import org.junit.platform.launcher.core.LauncherFactory;

import org.springframework.core.io.support.PathMatchingResourcePatternResolver;
import org.springframework.dao.DataAccessException;
import org.springframework.data.redis.core.RedisCallback;
import org.springframework.data.redis.core.script.DigestUtils;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatNoException;
import static org.awaitility.Awaitility.await;

/**
 * Changes the scripts line by line; each change must fail a test. Changes without an
 * effect are listed with the reason in {@code equivalent-mutants.txt}. {@code
 * -Dholdfast.test.mutants=lock-release.lua:23} selects mutants by the starts of their
 * places, several with commas between. The results are written to {@code
 * target/mutants.txt}.
 */
@Tag("mutants")
@WithRedis
@Timeout(value = 1, unit = TimeUnit.DAYS)
class ScriptMutantTests {

	private static final String PACKAGE = "/io/holdfast/redis/";

	/** Longer than any test, on a busy machine. */
	private static final String TEST_LIMIT = "60 s";

	private static final Path SEEN = Path.of("target/mutants.txt");

	/** Tests for each script, the quickest first; the first word selects the scripts. */
	private static final Map<String, List<String>> TESTS = tests();

	/** A server for the tests to share: a change can keep a server busy for ever. */
	private static RedisServer server;

	/** Line of a script that stands for a library. */
	private static final Pattern LIBRARY = Pattern.compile("(?m)^-- (lib(?:-\\w+)?)$");

	private final TestRedis redis;

	private final Map<Script, String> scripts = new HashMap<>();

	ScriptMutantTests(TestRedis redis) throws ReflectiveOperationException {
		this.redis = redis;
		for (Field constant : Script.class.getFields()) {
			Script script = (Script) constant.get(null);
			this.scripts.put(script, new String(script.text(), StandardCharsets.UTF_8));
		}
	}

	private static Map<String, List<String>> tests() {
		List<String> locks = List.of("redis.RedisLeaseStoreTests", "redis.RedisFaultTests",
				"redis.RedisFailOverGraceTests", "redis.ClusterLeaseStoreTests", "redis.RedisPermitStoreTests",
				"redis.RedisPermitFaultTests", "redis.LeftoversOfVersion1Tests", "redis.driver.GrantNotificationTests",
				"redis.CommandsInScriptsTests");
		List<String> permits = List.of("redis.RedisPermitStoreTests", "redis.RedisPermitFaultTests",
				"redis.RedisFailOverGraceTests", "redis.ClusterPermitStoreTests", "redis.RedisLeaseStoreTests",
				"redis.driver.GrantNotificationTests", "redis.CommandsInScriptsTests");
		List<String> fleet = List.of("redis.RedisFleetStoreTests", "redis.ClusterFleetStoreTests");
		Map<String, List<String>> tests = new HashMap<>();
		List.of("lock-acquire", "lock-release").forEach((file) -> tests.put(file, locks));
		tests.put("renew", List.of("redis.RedisLeaseStoreTests", "redis.RenewScriptTests", "redis.RedisFaultTests",
				"redis.RedisFailOverGraceTests", "redis.ClusterLeaseStoreTests", "redis.RedisPermitStoreTests",
				"redis.RedisPermitFaultTests", "redis.LeftoversOfVersion1Tests", "redis.ClusterPermitStoreTests"));
		List.of("permits-acquire", "permits-release", "limit", "lib-permits")
			.forEach((file) -> tests.put(file, permits));
		tests.put("lib-queue",
				Stream.of(locks.subList(0, 1), permits, locks).flatMap(List::stream).distinct().toList());
		tests.put("grace",
				List.of("redis.RedisFailOverGraceTests", "redis.RedisLeaseStoreTests", "redis.RedisFaultTests"));
		tests.put("inspect", List.of("redis.RedisFleetStoreTests", "redis.RedisLeaseStoreTests",
				"redis.RedisPermitStoreTests", "redis.RedisPermitFaultTests", "redis.LeftoversOfVersion1Tests"));
		tests.put("lib-owner", Stream.concat(locks.stream(), tests.get("inspect").stream()).distinct().toList());
		List.of("scan", "fleet-join", "fleet-leave", "fleet-members", "fleet-ask", "fleet-answer", "fleet-collect")
			.forEach((file) -> tests.put(file, fleet));
		tests.put("fleet-join",
				List.of("redis.RedisFleetStoreTests", "redis.ClusterFleetStoreTests", "redis.RedisFaultTests"));
		tests.put("rights", List.of("redis.RedisDiagnosticsTests"));
		tests.put("confirm", List.of("redis.ConfirmScriptTests"));
		tests.put("lib", List.of("faults.ShardedWakeUpTests", "redis.driver.GrantNotificationTests"));
		tests.put("write", List.of("faults.RefusalHealthTests"));
		tests.put("ping", List.of("redis.driver.NotificationListenerTests", "redis.RedisFaultTests",
				"redis.driver.GrantNotificationTests", "faults.ShardedWakeUpTests"));
		return tests;
	}

	@Test
	@DisplayName("No script is forgotten")
	void allScripts() throws IOException {
		assertThat(new PathMatchingResourcePatternResolver().getResources("classpath*:" + PACKAGE + "*.lua"))
			.extracting((script) -> String.valueOf(script.getFilename()).replace(".lua", ""))
			.containsExactlyInAnyOrderElementsOf(TESTS.keySet());
	}

	@Test
	@DisplayName("All listed tests exist")
	void allTests() {
		assertThat(TESTS.values()).allSatisfy((names) -> assertThat(names)
			.allSatisfy((name) -> assertThatNoException().isThrownBy(() -> Class.forName("io.holdfast." + name))));
	}

	@BeforeAll
	static void startServer() throws IOException {
		server = RedisServer.start("--lua-time-limit", "500");
		System.setProperty("holdfast.test.redis", server.host() + ":" + server.port());
		Files.deleteIfExists(SEEN);
	}

	@AfterAll
	static void closeServer() {
		server.close();
	}

	@AfterEach
	void restoreScripts() {
		this.scripts.forEach(ScriptMutantTests::replace);
		files().clear();
	}

	@TestFactory
	Stream<DynamicTest> everyChangeIsNoticed() throws IOException {
		List<String> wanted = List.of(System.getProperty("holdfast.test.mutants", "").split(","));
		Set<String> equivalent = equivalent();
		List<Mutant> mutants = new ArrayList<>();
		TESTS.keySet().stream().sorted().forEach((file) -> mutants.addAll(Mutant.of(file + ".lua", text(file))));
		Set<String> unknown = new HashSet<>(equivalent);
		mutants.forEach((mutant) -> unknown.remove(mutant.name()));
		assertThat(unknown).as("equivalent mutants that are none").isEmpty();
		List<Mutant> chosen = mutants.stream()
			.filter((mutant) -> wanted.stream().anyMatch(mutant.toString()::startsWith))
			.toList();
		return Stream.concat(
				chosen.stream()
					.flatMap((mutant) -> TESTS.get(file(mutant)).stream())
					.distinct()
					.map((test) -> DynamicTest.dynamicTest("without a change: " + test,
							() -> assertThat(failure(test)).isNull())),
				chosen.stream()
					.map((mutant) -> DynamicTest.dynamicTest(mutant.toString(),
							() -> assertThat(outcome(mutant, equivalent)).isNotEqualTo("OPEN"))));
	}

	private static String file(Mutant mutant) {
		return mutant.file().substring(0, mutant.file().indexOf('.'));
	}

	private String outcome(Mutant mutant, Set<String> equivalent) throws Exception {
		long begin = System.nanoTime();
		String outcome = !isValid(mutant) ? "invalid" : equivalent.contains(mutant.name()) ? "equivalent"
				: Objects.requireNonNullElse(failure(mutant), "OPEN");
		Duration time = Duration.ofNanos(System.nanoTime() - begin);
		Files.writeString(SEEN, "%s <- %s (%d ms)%n".formatted(outcome, mutant, time.toMillis()),
				StandardOpenOption.CREATE, StandardOpenOption.APPEND);
		return outcome;
	}

	/** Run all scripts that include a file with its change. */
	private void apply(Mutant mutant) {
		TESTS.keySet().forEach((file) -> files().put(file + ".lua", text(file, mutant)));
		try {
			Method assembly = Script.class.getDeclaredMethod("of", String.class);
			assembly.setAccessible(true);
			for (Field constant : Script.class.getFields()) {
				String file = constant.getName().toLowerCase(Locale.ROOT).replace('_', '-') + ".lua";
				Script changed = (Script) assembly.invoke(null, file);
				replace((Script) constant.get(null), new String(changed.text(), StandardCharsets.UTF_8));
			}
		}
		catch (ReflectiveOperationException ex) {
			throw new IllegalStateException(ex);
		}
	}

	private Stream<Script> all() {
		RedisStoreOptions plain = TestOptions.defaults();
		RedisStoreOptions grace = new RedisStoreOptions(plain.lockPrefix(), plain.semaphorePrefix(),
				plain.channelPrefix(), null, plain.fenceRetention(), plain.handoffTimeout(), false, plain.fleetKey(),
				Duration.ofSeconds(60), null);
		return Stream.concat(this.scripts.keySet().stream(), Stream.of(plain, grace).flatMap((options) -> {
			StoreScripts scripts = StoreScripts.of(options, false, null);
			return Stream.of(scripts.acquire(), scripts.release(), scripts.renew(), scripts.acquirePermits(),
					scripts.releasePermits(), scripts.limit());
		}));
	}

	/**
	 * Return whether all scripts compile: a change that keeps a script from starting is
	 * no mutant.
	 */
	private boolean isValid(Mutant mutant) {
		apply(mutant);
		try {
			return all().allMatch(this::compiles);
		}
		finally {
			restoreScripts();
		}
	}

	private boolean compiles(Script script) {
		try {
			this.redis.template()
				.execute((RedisCallback<@Nullable String>) (connection) -> connection.scriptingCommands()
					.scriptLoad(script.text()));
			return true;
		}
		catch (DataAccessException ex) {
			assertThat(ex).hasStackTraceContaining("Error compiling script");
			return false;
		}
	}

	/** Return the first test that fails with a mutant. */
	private @Nullable String failure(Mutant mutant) throws Exception {
		apply(mutant);
		try {
			for (String test : TESTS.get(file(mutant))) {
				String failure = failure(test);
				if (failure != null) {
					return failure;
				}
			}
			return null;
		}
		finally {
			restoreScripts();
		}
	}

	/**
	 * Return the first test of a class that fails, also when it runs alone, and so not by
	 * chance.
	 */
	private @Nullable String failure(String test) {
		DiscoverySelector all = DiscoverySelectors.selectClass("io.holdfast." + test);
		for (boolean parallel : List.of(true, false)) {
			Failure failure = run(all, parallel);
			if (failure == null) {
				return null;
			}
			if (failure.late()) {
				return test + ": " + failure.test().getDisplayName() + ": not over after " + TEST_LIMIT;
			}
			if (run(DiscoverySelectors.selectUniqueId(failure.test().getUniqueIdObject()), false) != null) {
				return test + ": " + failure.test().getDisplayName();
			}
		}
		return null;
	}

	private @Nullable Failure run(DiscoverySelector tests, boolean parallel) {
		CancellationToken enough = CancellationToken.create();
		List<Failure> failures = new ArrayList<>();
		LauncherFactory.create()
			.execute(LauncherExecutionRequestBuilder
				.request(LauncherDiscoveryRequestBuilder.request()
					.selectors(tests)
					.configurationParameter("junit.jupiter.execution.parallel.enabled", "" + parallel)
					.configurationParameter("junit.jupiter.execution.parallel.config.strategy", "fixed")
					.configurationParameter("junit.jupiter.execution.parallel.config.fixed.parallelism", "8")
					// A script may keep tests busy for ever, but not Redis.
					.configurationParameter("junit.jupiter.execution.timeout.default", TEST_LIMIT)
					.build())
				.cancellationToken(enough)
				.listeners(new TestExecutionListener() {

					@Override
					public void executionFinished(TestIdentifier identifier, TestExecutionResult result) {
						if (result.getStatus() == TestExecutionResult.Status.FAILED) {
							boolean late = result.getThrowable().filter(TimeoutException.class::isInstance).isPresent();
							synchronized (failures) {
								failures.add(new Failure(identifier, late));
							}
							enough.cancel();
						}
					}

				})
				.build());
		restartIfBusy();
		return failures.isEmpty() ? null : failures.get(0);
	}

	private void restartIfBusy() {
		if (!isAnswered()) {
			server.restart();
			await().atMost(Duration.ofSeconds(30)).until(this::isAnswered);
		}
	}

	private boolean isAnswered() {
		try {
			return this.redis.template()
				.execute((RedisCallback<@Nullable String>) (connection) -> connection.ping()) != null;
		}
		catch (DataAccessException ex) {
			return false;
		}
	}

	@SuppressWarnings("unchecked")
	private static Map<String, String> files() {
		try {
			Field files = Script.class.getDeclaredField("FILES");
			files.setAccessible(true);
			return (Map<String, String>) files.get(null);
		}
		catch (ReflectiveOperationException ex) {
			throw new IllegalStateException(ex);
		}
	}

	private static Field field(Script script, String name) throws ReflectiveOperationException {
		Field field = Script.class.getDeclaredField(name);
		field.setAccessible(true);
		return field;
	}

	/** Replace the content of the script's file. */
	private static void replace(Script script, String text) {
		try {
			byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
			field(script, "text").set(script, bytes);
			field(script, "digest").set(script, DigestUtils.sha1DigestAsHex(text).getBytes(StandardCharsets.US_ASCII));
		}
		catch (ReflectiveOperationException ex) {
			throw new IllegalStateException(ex);
		}
	}

	/** Return the text of a file with its libraries, one of which may be changed. */
	private static String text(String file, Mutant mutant) {
		String text = mutant.file().equals(file + ".lua") ? mutant.text() : text(file);
		return LIBRARY.matcher(text).replaceAll((library) -> Matcher.quoteReplacement(text(library.group(1), mutant)));
	}

	private static String text(String file) {
		try (var resource = ScriptMutantTests.class.getResourceAsStream(PACKAGE + file + ".lua")) {
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

	/**
	 * Failure of a test.
	 *
	 * @param test the test
	 * @param late whether the test was cancelled
	 */
	private record Failure(TestIdentifier test, boolean late) {
	}

}
