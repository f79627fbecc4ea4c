package io.holdfast.testing;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.time.Instant;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import static org.assertj.core.api.Assertions.assertThat;

class TestTableTests {

	private static final Instant BEGUN = Instant.parse("2026-11-20T10:00:00Z");

	@TempDir
	private Path directory;

	private Path report(String name, String time, String... tests) throws IOException {
		String text = "<testsuite name='" + name + "' time='" + time + "'>" + String.join("", tests) + "</testsuite>";
		Path file = Files.writeString(this.directory.resolve("TEST-" + name + ".xml"), text);
		return Files.setLastModifiedTime(file, FileTime.from(BEGUN.plusSeconds(1)));
	}

	@Test
	@DisplayName("Tests, seconds and skipped ones are counted by package, and the reasons of the latter told")
	void table() throws Exception {
		report("a.OneTests", "1,001.26", "<testcase name='x'/>",
				"<testcase name='y'><skipped message='No Docker&#10;at all'/></testcase>");
		report("a.FourTests", "0", "<testcase name='w'><skipped><![CDATA["
				+ "org.opentest4j.TestAbortedException: Assumption failed: No Sentinel\n\tat a.B.c(B.java:3)\n]]></skipped></testcase>");
		report("a.TwoTests", "2", "<testcase name='x'/>");
		report("a.b.ThreeTests", "0.5", "<testcase name='z'><skipped/></testcase>");
		Files.writeString(this.directory.resolve("a.OneTests.txt"), "Tests run: 2");
		Files.setLastModifiedTime(report("c.EarlierTests", "7", "<testcase name='x'/>"),
				FileTime.from(BEGUN.minusSeconds(1)));
		TestTable table = new TestTable();
		table.read(this.directory, BEGUN);
		assertThat(table.lines()).containsExactly("package   tests   seconds  skipped",
				"a         4    1003.3        2", "a.b       1       0.5        1", "all       5    1003.8        3",
				"", "Skipped:", "- a.FourTests#w: No Sentinel", "- a.OneTests#y: No Docker",
				"- a.b.ThreeTests#z: no reason given");
	}

}
