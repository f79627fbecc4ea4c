package io.holdfast.testing;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

import static org.assertj.core.api.Assertions.assertThat;

/** Page of {@code docs} that is generated from the code. */
public final class GeneratedPage {

	private static final String PROPERTY = "holdfast.test.write-pages";

	private final Path file;

	private final String command;

	private final StringBuilder text = new StringBuilder();

	/**
	 * Create a page.
	 * @param name the name of the file in {@code docs}
	 * @param title the title
	 * @param purpose the first sentence, for the reader
	 * @param source the source of the content
	 * @param test the test that generates the page
	 */
	public GeneratedPage(String name, String title, String purpose, String source, Class<?> test) {
		this.file = Path.of("../docs", name);
		this.command = "./mvnw -pl lock-autoconfigure test -Dtest=" + test.getSimpleName() + " -D" + PROPERTY + "=true";
		line("# " + title);
		line("");
		line(purpose);
		line("");
		line("<!-- Generated from " + source + ". Do not edit: " + this.command + " -->");
	}

	/**
	 * Add a line.
	 * @param line the line, without its end
	 */
	public void line(String line) {
		this.text.append(line).append('\n');
	}

	/**
	 * Add a row of a table.
	 * @param cells the texts of the cells
	 */
	public void row(String... cells) {
		line("| " + String.join(" | ", cells).replaceAll(" +", " ") + " |");
	}

	/**
	 * Check that the file has this content, or write the file if the command line
	 * requests that.
	 * @throws IOException if the file cannot be read or written
	 */
	public void check() throws IOException {
		if (Boolean.getBoolean(PROPERTY)) {
			Files.writeString(this.file, this.text);
		}
		assertThat(this.file).exists();
		assertThat(Files.readString(this.file))
			.as("docs/%s does not say what the code says. Write it again: %s", this.file.getFileName(), this.command)
			.isEqualTo(this.text.toString());
	}

}
