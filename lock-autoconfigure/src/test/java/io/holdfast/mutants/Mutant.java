package io.holdfast.mutants;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A script with a changed line.
 *
 * @param file the name of the script's file
 * @param line the number of the line, from 1
 * @param original the original line, stripped
 * @param changed the new line, stripped; empty if the line was removed
 * @param text the whole file with the change
 */
record Mutant(String file, int line, String original, String changed, String text) {

	/** Replacements of comparisons. */
	private static final Map<String, String> TURNED = turned();

	private static final Pattern COMPARISON = Pattern.compile(" (==|~=|<=|>=|<|>) ");

	private static final Pattern CONJUNCTION = Pattern.compile(" (and|or) ");

	private static final Pattern CONDITION = Pattern.compile("\\b(if|while) (.+) (then|do)$");

	private static final Pattern OFFSET = Pattern.compile(" ([+-]) (\\d+)\\b");

	private static Map<String, String> turned() {
		Map<String, String> turned = new LinkedHashMap<>();
		turned.put("==", "~=");
		turned.put("~=", "==");
		turned.put("<", "<=");
		turned.put("<=", "<");
		turned.put(">", ">=");
		turned.put(">=", ">");
		return turned;
	}

	/**
	 * Return all mutants of a file: each line removed, each comparison turned at its
	 * border and around, each condition negated, "and" exchanged with "or", small sums
	 * without their second number. Not all mutants are valid scripts.
	 */
	static List<Mutant> of(String file, String text) {
		String[] lines = text.split("\n", -1);
		List<Mutant> mutants = new ArrayList<>();
		for (int i = 0; i < lines.length; i++) {
			String line = lines[i].strip();
			if (line.isEmpty() || line.startsWith("--")) {
				continue;
			}
			List<String> changes = new ArrayList<>();
			changes.add("");
			replace(changes, lines[i], COMPARISON, (matcher) -> " " + TURNED.get(matcher.group(1)) + " ");
			replace(changes, lines[i], COMPARISON, (matcher) -> switch (matcher.group(1)) {
				case "<", "<=" -> " > ";
				case ">", ">=" -> " < ";
				default -> matcher.group();
			});
			replace(changes, lines[i], CONJUNCTION, (matcher) -> matcher.group(1).equals("and") ? " or " : " and ");
			replace(changes, lines[i], CONDITION,
					(matcher) -> matcher.group(1) + " not (" + matcher.group(2) + ") " + matcher.group(3));
			replace(changes, lines[i], OFFSET, (matcher) -> "");
			for (String changed : changes.stream().distinct().toList()) {
				if (!changed.equals(lines[i])) {
					mutants.add(new Mutant(file, i + 1, line, changed.strip(), replaced(lines, i, changed)));
				}
			}
		}
		return mutants;
	}

	private static void replace(List<String> changes, String line, Pattern pattern,
			java.util.function.Function<Matcher, String> change) {
		Matcher matcher = pattern.matcher(line);
		while (matcher.find()) {
			changes.add(line.substring(0, matcher.start()) + change.apply(matcher) + line.substring(matcher.end()));
		}
	}

	private static String replaced(String[] lines, int index, String changed) {
		String[] copy = lines.clone();
		copy[index] = changed;
		return String.join("\n", copy);
	}

	/**
	 * Return the mutant's name in the list of equivalent mutants: without the line's
	 * number, which changes with other lines.
	 */
	String name() {
		return this.file + ": " + change();
	}

	private String change() {
		return this.original + " => " + (this.changed.isEmpty() ? "(removed)" : this.changed);
	}

	@Override
	public String toString() {
		return this.file + ":" + this.line + ": " + change();
	}

}
