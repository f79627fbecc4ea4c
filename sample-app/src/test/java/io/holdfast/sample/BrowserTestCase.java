package io.holdfast.sample;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Test of pages in a browser, for instances started by the subclasses.
 */
abstract class BrowserTestCase {

	static Instances instances;

	static Browser page;

	@BeforeAll
	static void startBrowser() {
		page = new Browser();
		instances = new Instances();
	}

	@AfterAll
	static void stop() {
		if (page != null) {
			page.close();
			instances.close();
		}
	}

	@BeforeEach
	void resize() {
		page.resize(Browser.DESKTOP, false);
	}

	@AfterEach
	void hasNoComplaints() {
		assertThat(page.complaints()).isEmpty();
	}

}
