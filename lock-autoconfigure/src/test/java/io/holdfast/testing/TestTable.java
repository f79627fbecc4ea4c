package io.holdfast.testing;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.IntStream;
import java.util.stream.Stream;

import javax.xml.parsers.DocumentBuilderFactory;

import org.w3c.dom.Document;
import org.w3c.dom.Element;
import org.w3c.dom.NodeList;

/**
 * Table of the tests by package, from the reports of Surefire, at the end of {@code
 * ./mvnw -Pfull verify}. Runs as a single file, without the tests' class path.
 */
final class TestTable {

	private final Map<String, Row> rows = new TreeMap<>();

	private final List<String> skipped = new ArrayList<>();

	TestTable() {
	}

	/**
	 * Print the table.
	 * @param args the beginning of the build, then the directories with reports
	 * @throws Exception if a report cannot be read
	 */
	public static void main(String[] args) throws Exception {
		Instant begun = Instant.parse(args[0]);
		TestTable table = new TestTable();
		for (String directory : List.of(args).subList(1, args.length)) {
			// The directory is missing if no test of the module was selected.
			if (Files.isDirectory(Path.of(directory))) {
				table.read(Path.of(directory), begun);
			}
		}
		table.lines().forEach(System.out::println);
	}

	/**
	 * Read the reports in a directory, which may also contain reports of earlier builds.
	 */
	void read(Path directory, Instant begun) throws Exception {
		List<Path> reports;
		try (Stream<Path> files = Files.list(directory)) {
			reports = files.filter((file) -> file.getFileName().toString().matches("TEST-.*\\.xml")).sorted().toList();
		}
		for (Path report : reports) {
			if (!Files.getLastModifiedTime(report).toInstant().isBefore(begun)) {
				add(report);
			}
		}
	}

	private void add(Path report) throws Exception {
		Document document = DocumentBuilderFactory.newInstance().newDocumentBuilder().parse(report.toFile());
		String name = document.getDocumentElement().getAttribute("name");
		Row row = this.rows.computeIfAbsent(name.substring(0, name.lastIndexOf('.')), (key) -> new Row());
		row.seconds += Double.parseDouble(document.getDocumentElement().getAttribute("time").replace(",", ""));
		for (Element test : elements(document.getElementsByTagName("testcase"))) {
			row.tests++;
			for (Element reason : elements(test.getElementsByTagName("skipped"))) {
				row.skipped++;
				this.skipped.add(name + "#" + test.getAttribute("name") + ": " + reason(reason));
			}
		}
	}

	private static List<Element> elements(NodeList nodes) {
		return IntStream.range(0, nodes.getLength()).mapToObj((i) -> (Element) nodes.item(i)).toList();
	}

	/** The message of the exception, for an assumption. */
	private static String reason(Element skipped) {
		String told = skipped.getAttribute("message").isBlank() ? skipped.getTextContent()
				: skipped.getAttribute("message");
		String first = told.strip().lines().findFirst().orElse("no reason given");
		return first.replaceFirst("^[\\w.]+Exception: ", "").replaceFirst("^Assumption failed: ", "");
	}

	/**
	 * Return the table.
	 * @return the lines
	 */
	List<String> lines() {
		int width = this.rows.keySet().stream().mapToInt(String::length).max().orElse(10);
		String format = "%-" + width + "s %7s %9s %8s";
		List<String> lines = new ArrayList<>();
		lines.add(String.format(Locale.ROOT, format, "package", "tests", "seconds", "skipped"));
		Row all = new Row();
		this.rows.forEach((name, row) -> {
			lines.add(row.line(format, name));
			all.tests += row.tests;
			all.seconds += row.seconds;
			all.skipped += row.skipped;
		});
		lines.add(all.line(format, "all"));
		if (!this.skipped.isEmpty()) {
			lines.add("");
			lines.add("Skipped:");
			this.skipped.forEach((one) -> lines.add("- " + one));
		}
		return lines;
	}

	private static final class Row {

		private int tests;

		private double seconds;

		private int skipped;

		private String line(String format, String name) {
			return String.format(Locale.ROOT, format, name, this.tests,
					String.format(Locale.ROOT, "%.1f", this.seconds), this.skipped);
		}

	}

}
