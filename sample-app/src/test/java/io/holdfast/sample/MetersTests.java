package io.holdfast.sample;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Objects;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

import io.holdfast.sample.Instances.Instance;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.yaml.snakeyaml.Yaml;
import tools.jackson.databind.json.JsonMapper;

import org.springframework.http.HttpMethod;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Meters in Prometheus after a sale and calls of a service with a limit; documentation,
 * dashboard and alerts name the same meters.
 */
class MetersTests {

	private static final Path DOCS = Path.of("../docs");

	/** Row of the table of meters: name, type, tags, meaning. */
	private static final Pattern ROW = Pattern.compile("\\| `(holdfast\\.[a-z.]+)` \\| (\\w+|`[^`]+`) \\|.*");

	/** Meter in a query, and its labels. */
	private static final Pattern METER = Pattern.compile("\\b(holdfast_\\w+)(?:\\{([^}]*)})?");

	private static final Pattern MATCHER = Pattern.compile("(\\w+)=");

	private static final Pattern GROUPING = Pattern.compile("\\bby \\(([^)]*)\\)");

	private static final Pattern LEGEND = Pattern.compile("\\{\\{\\s*(?:\\$labels\\.)?(\\w+)\\s*}}");

	private static Instances instances;

	private static Scrape scrape;

	@BeforeAll
	static void sellAndScrape() {
		instances = new Instances();
		Instance instance = instances.start("--shop.quote-time=10ms", "--shop.quote-limit=3");
		instance.post("/sales?sku=SKU0007&stock=20&buyers=40", SaleResult.class);
		instance.send(HttpMethod.PUT, "/quotes/limit?limit=2", String.class);
		instance.post("/quotes?orders=9", QuotesResult.class);
		await().atMost(Duration.ofSeconds(20)).until(() -> {
			scrape = Scrape.of(instance.send(HttpMethod.GET, "/actuator/prometheus", String.class));
			return scrape.sum("holdfast_semaphore_permits_limit", "name=\"carrier\"") == 2;
		});
	}

	@AfterAll
	static void stop() {
		instances.close();
	}

	@Test
	@DisplayName("Each purchase and each quote is counted once, by the name of its lock or semaphore")
	void counts() {
		String[] purchases = { "name=\"io.holdfast.sample.Shop.buyLocked\"", "mode=\"exclusive\"", "error=\"none\"" };
		assertThat(scrape.sum("holdfast_lock_acquire_seconds_count", purchases)).isEqualTo(40);
		assertThat(scrape.sum("holdfast_lock_hold_seconds_count", purchases)).isEqualTo(40);
		assertThat(scrape.sum("holdfast_lock_hold_seconds_count", "outcome=\"lost\"")).isZero();
		assertThat(scrape.sum("holdfast_lock_held", purchases[0])).isZero();
		assertThat(scrape.sum("holdfast_lock_waiting", purchases[0])).isZero();
		assertThat(scrape.sum("holdfast_lock_hand_over_total", "kind=\"local\"")).isPositive();
		assertThat(scrape.sum("holdfast_semaphore_acquire_seconds_count", "name=\"carrier\"", "outcome=\"granted\""))
			.isEqualTo(9);
		assertThat(scrape.sum("holdfast_method_seconds_count", "class=\"io.holdfast.sample.Shop\"",
				"method=\"buyLocked\""))
			.isEqualTo(40);
	}

	@Test
	@DisplayName("No label has a key, for any number of keys")
	void noKeys() {
		assertThat(scrape.values().keySet()).isNotEmpty().noneMatch((sample) -> sample.contains("SKU"));
	}

	@Test
	@DisplayName("The table in the documentation has exactly the existing meters, with their tags")
	void documentation() throws IOException {
		Set<String> documented = Files.readAllLines(DOCS.resolve("metrics.md"))
			.stream()
			.map(ROW::matcher)
			.filter(Matcher::matches)
			.flatMap((row) -> prometheusNames(row.group(1), row.group(2)))
			.collect(Collectors.toCollection(TreeSet::new));
		// The sample has histograms of some timers, with their own names in Prometheus.
		Set<String> seen = scrape.labels()
			.keySet()
			.stream()
			.filter((name) -> !name.endsWith("_bucket"))
			.map((name) -> name.replaceFirst("_seconds_g(count|sum)$", "_seconds_$1"))
			.collect(Collectors.toCollection(TreeSet::new));
		assertThat(seen).containsExactlyElementsOf(documented);
	}

	private static Stream<String> prometheusNames(String meter, String type) {
		String name = meter.replace('.', '_');
		return switch (type) {
			case "counter" -> Stream.of(name + "_total");
			case "gauge" -> Stream.of(name);
			// For a timer the page has the span.
			default -> Stream.of("", "_active")
				.flatMap(
						(active) -> Stream.of("_count", "_sum", "_max").map((end) -> name + active + "_seconds" + end));
		};
	}

	static Stream<String> dashboardQueries() throws IOException {
		return JsonMapper.shared()
			.readTree(Files.readString(DOCS.resolve("grafana/dashboard.json")))
			.findValues("targets")
			.stream()
			.flatMap((targets) -> targets.valueStream())
			.map((target) -> target.get("expr").stringValue() + " " + target.get("legendFormat").stringValue());
	}

	static Stream<String> alertQueries() throws IOException {
		return JsonMapper.shared()
			.valueToTree(new Yaml().load(Files.readString(DOCS.resolve("grafana/alerts.yml"))))
			.findValues("rules")
			.stream()
			.flatMap((rules) -> rules.valueStream())
			.map((rule) -> rule.get("expr").stringValue() + " " + rule.get("annotations").get("summary").stringValue());
	}

	@ParameterizedTest
	@MethodSource({ "dashboardQueries", "alertQueries" })
	@DisplayName("Queries use existing meters and labels")
	void queries(String query) {
		Set<String> used = new TreeSet<>();
		Set<String> existing = new TreeSet<>();
		Set<String> meters = METER.matcher(query).results().map((found) -> found.group(1)).collect(Collectors.toSet());
		assertThat(meters).isNotEmpty().isSubsetOf(scrape.labels().keySet());
		meters.forEach((meter) -> existing.addAll(scrape.labels().get(meter)));
		METER.matcher(query)
			.results()
			.map((found) -> found.group(2))
			.filter(Objects::nonNull)
			.flatMap((braces) -> MATCHER.matcher(braces).results())
			.forEach((found) -> used.add(found.group(1)));
		GROUPING.matcher(query).results().flatMap((found) -> Stream.of(found.group(1).split(", "))).forEach(used::add);
		LEGEND.matcher(query).results().map((found) -> found.group(1)).forEach(used::add);
		assertThat(existing).containsAll(used);
	}

	@Test
	@DisplayName("Queries are found in both files")
	void queriesAreFound() throws IOException {
		assertThat(dashboardQueries()).hasSizeGreaterThan(12);
		assertThat(alertQueries()).hasSizeGreaterThan(4);
	}

}
