package io.holdfast.benchmark;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;

import org.springframework.boot.json.JsonWriter;

/**
 * What was measured in all rounds of one workload, as a table and as JSON. Not
 * thread-safe.
 */
final class Report {

	private final String name;

	private final String description;

	private final String mainFigure;

	/** By whose main figure those of all are divided. */
	private final List<String> references;

	private final Map<String, List<Map<String, Double>>> rounds = new LinkedHashMap<>();

	/** Why there is nothing of a contender, or not all. */
	private final Map<String, String> troubles = new LinkedHashMap<>();

	Report(String name, String description, String mainFigure, List<String> references) {
		this.name = name;
		this.description = description;
		this.mainFigure = mainFigure;
		this.references = references;
	}

	String name() {
		return this.name;
	}

	void add(String contender, Map<String, Double> figures) {
		this.rounds.computeIfAbsent(contender, (key) -> new ArrayList<>()).add(figures);
	}

	void trouble(String contender, String message) {
		this.troubles.put(contender, message);
	}

	private List<Map<String, Double>> roundsOf(String contender) {
		return this.rounds.getOrDefault(contender, List.of());
	}

	double median(String contender, String figure) {
		return median(roundsOf(contender).stream().mapToDouble((figures) -> figure(figures, figure)).toArray());
	}

	private static double figure(Map<String, Double> figures, String name) {
		return figures.getOrDefault(name, Double.NaN);
	}

	/** The median of what each round's own ratio was. */
	double ratio(String contender, String reference) {
		List<Map<String, Double>> own = roundsOf(contender);
		List<Map<String, Double>> others = roundsOf(reference);
		double[] ratios = new double[Math.min(own.size(), others.size())];
		for (int i = 0; i < ratios.length; i++) {
			ratios[i] = figure(own.get(i), this.mainFigure) / figure(others.get(i), this.mainFigure);
		}
		return median(ratios);
	}

	/** Of those that there are. */
	private static double median(double[] values) {
		double[] sorted = Arrays.stream(values).filter((value) -> !Double.isNaN(value)).sorted().toArray();
		if (sorted.length == 0) {
			return Double.NaN;
		}
		int middle = sorted.length / 2;
		return (sorted.length % 2 == 1) ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
	}

	private Set<String> figures() {
		Set<String> names = new LinkedHashSet<>();
		names.add(this.mainFigure);
		this.rounds.values().forEach((rounds) -> rounds.forEach((figures) -> names.addAll(figures.keySet())));
		return names;
	}

	/** The table, in Markdown. */
	String table() {
		List<String> names = new ArrayList<>(figures());
		StringBuilder text = new StringBuilder("\n**" + this.name + "**: " + this.description + "\n\n| |");
		List<String> head = new ArrayList<>(names);
		head.addAll(1, this.references.stream().map((reference) -> "× " + reference).toList());
		head.forEach((cell) -> text.append(' ').append(cell).append(" |"));
		text.append("\n| --- |").append(" ---: |".repeat(head.size())).append('\n');
		for (String contender : this.rounds.keySet()) {
			List<Double> cells = new ArrayList<>(names.stream().map((name) -> median(contender, name)).toList());
			cells.addAll(1, this.references.stream().map((reference) -> ratio(contender, reference)).toList());
			text.append("| ").append(contender).append(" |");
			cells.forEach((cell) -> text.append(' ').append(format(cell)).append(" |"));
			text.append('\n');
		}
		this.troubles.forEach((contender, message) -> text.append("\n").append(contender).append(": ").append(message));
		return text.toString();
	}

	static String format(double value) {
		if (Double.isNaN(value)) {
			return "";
		}
		if (Double.isInfinite(value)) {
			return "never";
		}
		String pattern = (Math.abs(value) >= 100) ? "%,.0f" : (Math.abs(value) >= 10) ? "%.1f" : "%.2f";
		return String.format(Locale.ROOT, pattern, value);
	}

	private Map<String, Object> content() {
		Map<String, Object> contenders = new LinkedHashMap<>();
		this.rounds.forEach((contender, rounds) -> {
			Map<String, Object> medians = new LinkedHashMap<>();
			figures().forEach((name) -> medians.put(name, number(median(contender, name))));
			Map<String, Object> ratios = new LinkedHashMap<>();
			this.references.forEach((reference) -> ratios.put(reference, number(ratio(contender, reference))));
			List<Map<String, Object>> each = rounds.stream().map(Report::numbers).toList();
			contenders.put(contender, Map.of("medians", medians, "ratios", ratios, "rounds", each));
		});
		return Map.of("name", this.name, "description", this.description, "mainFigure", this.mainFigure, "contenders",
				contenders, "troubles", this.troubles);
	}

	private static Map<String, Object> numbers(Map<String, Double> figures) {
		Map<String, Object> numbers = new LinkedHashMap<>();
		figures.forEach((name, value) -> numbers.put(name, number(value)));
		return numbers;
	}

	/** JSON has no other numbers. */
	private static Object number(double value) {
		return Double.isFinite(value) ? value : Double.toString(value);
	}

	/**
	 * Write all as JSON.
	 * @param file where to
	 * @param conditions under which it was measured
	 * @param reports what was measured
	 */
	static void write(Path file, Map<String, String> conditions, List<Report> reports) {
		Map<String, Object> content = new LinkedHashMap<>();
		content.put("conditions", conditions);
		content.put("workloads", reports.stream().map(Report::content).toList());
		try {
			Files.writeString(file, JsonWriter.<Map<String, Object>>standard().writeToString(content));
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
	}

}
