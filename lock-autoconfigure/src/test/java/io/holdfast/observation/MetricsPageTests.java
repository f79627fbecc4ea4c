package io.holdfast.observation;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

import io.holdfast.SemaphoreRequest;
import io.holdfast.engine.EngineObserver;
import io.holdfast.observation.HoldfastObservationDocumentation.Tag;
import io.holdfast.testing.GeneratedPage;
import io.micrometer.common.docs.KeyName;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Generates {@code docs/metrics.md} from the registered meters, from the observations,
 * and from the Javadoc of both.
 */
class MetricsPageTests {

	private static final Path MAIN = Path.of("src/main/java");

	private final GeneratedPage page = new GeneratedPage("metrics.md", "Meters and spans",
			"Choose meters for a dashboard or an alert, and look up their tags. "
					+ "[Watching](watching.md#meters-and-traces) links a ready dashboard and alert rules.",
			"the meters, the observations, and their Javadoc", getClass());

	@Test
	@DisplayName("docs/metrics.md lists the meters and spans of the code")
	void page() throws IOException {
		observations();
		meters();
		this.page.line("");
		this.page.line("## Tags");
		tags();
		values("`outcome` of requests and holds", LeaseOutcome.class);
		values("`outcome` of `….renewal`", EngineObserver.RenewalOutcome.class);
		values("`kind` of `….hand.over`", EngineObserver.HandOver.class);
		values("`command` of `holdfast.store.errors`", EngineObserver.Command.class);
		this.page.check();
	}

	private void observations() throws IOException {
		this.page.line("");
		this.page.line("## Timers and spans");
		this.page.line("");
		this.page
			.line("Each row is an observation: a timer with the tags below and `error`, and with a tracer a span.");
		this.page.line("");
		this.page.row("timer", "span", "tags", "of the span only", "meaning");
		this.page.row("---", "---", "---", "---", "---");
		Map<String, String> meanings = javadoc(HoldfastObservationDocumentation.class);
		for (HoldfastObservationDocumentation observation : HoldfastObservationDocumentation.values()) {
			this.page.row(code(observation.getName()),
					(observation == HoldfastObservationDocumentation.METHOD) ? "`Class#method`"
							: code(observation.getContextualName()),
					keys(observation.getLowCardinalityKeyNames()), keys(observation.getHighCardinalityKeyNames()),
					meanings.get(observation.name()));
		}
	}

	private static String keys(KeyName[] names) {
		return Stream.of(names).map((name) -> code(name.asString())).collect(Collectors.joining(", "));
	}

	private void meters() {
		this.page.line("");
		this.page.line("## Gauges and counters");
		this.page.line("");
		this.page.row("meter", "type", "tags", "meaning");
		this.page.row("---", "---", "---", "---");
		for (List<Meter> meters : registered().values()) {
			Meter.Id id = meters.get(0).getId();
			Set<String> tags = meters.stream()
				.flatMap((meter) -> meter.getId().getTags().stream())
				.map((tag) -> code(tag.getKey()))
				.collect(Collectors.toCollection(TreeSet::new));
			this.page.row(code(id.getName()), id.getType().name().toLowerCase(Locale.ROOT), String.join(", ", tags),
					id.getDescription());
		}
	}

	/** All meters, after the use of a lock and a semaphore. */
	private static Map<String, List<Meter>> registered() {
		SimpleMeterRegistry registry = new SimpleMeterRegistry();
		try (ObservedInstance instance = new ObservedInstance(ObservedInstance.memory());
				LeaseMeters meters = new LeaseMeters(registry)) {
			instance.engine.observe(meters);
			instance.locks.acquire("lock").release();
			// Fleet gauges exist for semaphores whose key is their name.
			instance.semaphores.acquire(SemaphoreRequest.of("semaphore", 1).name("semaphore")).release();
			return registry.getMeters()
				.stream()
				.sorted(Comparator.comparing((meter) -> meter.getId().getName()))
				.collect(Collectors.groupingBy((meter) -> meter.getId().getName(), TreeMap::new, Collectors.toList()));
		}
	}

	private void tags() throws IOException {
		this.page.line("");
		this.page.row("tag", "meaning");
		this.page.row("---", "---");
		Map<String, String> meanings = javadoc(Tag.class);
		for (Tag tag : Tag.values()) {
			this.page.row(code(tag.asString()), meanings.get(tag.name()));
		}
	}

	private void values(String title, Class<? extends Enum<?>> type) throws IOException {
		this.page.line("");
		this.page.row(title, "meaning");
		this.page.row("---", "---");
		javadoc(type).forEach((name, meaning) -> this.page.row(code(name.toLowerCase(Locale.ROOT)), meaning));
	}

	/** Javadoc of the constants of an enum, in order. */
	private static Map<String, String> javadoc(Class<? extends Enum<?>> type) throws IOException {
		Class<?> file = (type.getDeclaringClass() != null) ? type.getDeclaringClass() : type;
		String source = Files.readString(MAIN.resolve(file.getName().replace('.', '/') + ".java"));
		source = source.substring(source.indexOf("enum " + type.getSimpleName() + " "));
		Map<String, String> result = new LinkedHashMap<>();
		for (Enum<?> constant : type.getEnumConstants()) {
			Matcher comment = Pattern
				.compile("/\\*\\*((?:(?!\\*/).)*)\\*/\\s*" + constant.name() + "\\b", Pattern.DOTALL)
				.matcher(source);
			assertThat(comment.find()).as("the Javadoc of %s.%s", type.getName(), constant.name()).isTrue();
			result.put(constant.name(), plain(comment.group(1)));
		}
		return result;
	}

	private static String plain(String comment) {
		return comment.replaceAll("\\n\\s*\\* ?", " ")
			.replaceAll("\\{@code ([^}]*)}", "`$1`")
			.replaceAll("\\{@link #?(?:[^} ]* )?([^} ]*)}", "`$1`")
			.strip()
			.replaceAll("\\s+", " ");
	}

	private static String code(String text) {
		return "`" + text + "`";
	}

}
