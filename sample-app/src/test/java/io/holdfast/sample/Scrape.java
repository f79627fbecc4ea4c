package io.holdfast.sample;

import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Meters of locks and permits that Prometheus reads from an instance.
 *
 * @param labels the names of the labels of each meter
 * @param values the value of each sample, by meter and labels
 */
record Scrape(Map<String, Set<String>> labels, Map<String, Double> values) {

	private static final Pattern SAMPLE = Pattern.compile("(holdfast_\\w+)(?:\\{(.*)})? (\\S+)");

	private static final Pattern LABEL = Pattern.compile("(\\w+)=\"[^\"]*\"");

	static Scrape of(String text) {
		Scrape scrape = new Scrape(new TreeMap<>(), new TreeMap<>());
		text.lines().map(SAMPLE::matcher).filter(Matcher::matches).forEach((sample) -> {
			String braces = (sample.group(2) != null) ? sample.group(2) : "";
			Set<String> names = scrape.labels.computeIfAbsent(sample.group(1), (meter) -> new TreeSet<>());
			LABEL.matcher(braces).results().forEach((label) -> names.add(label.group(1)));
			scrape.values.put(sample.group(1) + "{" + braces + "}", Double.valueOf(sample.group(3)));
		});
		return scrape;
	}

	/** Sum of all samples of a meter with all of these labels. */
	double sum(String meter, String... labels) {
		return this.values.entrySet()
			.stream()
			.filter((sample) -> sample.getKey().startsWith(meter + "{"))
			.filter((sample) -> Set.of(labels).stream().allMatch(sample.getKey()::contains))
			.mapToDouble(Map.Entry::getValue)
			.sum();
	}

}
