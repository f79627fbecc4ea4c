package io.holdfast.sample;

import io.holdfast.LockLease;
import io.holdfast.LockService;
import io.holdfast.sample.Instances.Instance;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.openqa.selenium.Keys;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Page of the shop in a browser, for two instances. Run with {@code -Pbrowser}.
 */
@Tag("browser")
class ShopBrowserTests extends BrowserTestCase {

	private static Instance first;

	private static Instance second;

	@BeforeAll
	static void start() {
		first = instances.start("--shop.think-time=10ms", "--shop.quote-time=50ms");
		second = instances.start("--shop.think-time=10ms", "--shop.quote-time=50ms");
	}

	@BeforeEach
	void open() {
		page.openShop(first.port());
	}

	@Test
	@DisplayName("A sale with the lock drains the stock and sells exactly its pieces; the waits are in the chart")
	void sellsWithLock() {
		page.type("#sale [name=stock]", "200");
		page.type("#sale [name=buyers]", "300");
		page.click("#sale [value=true]");
		page.until("some of the stock is left", () -> left() > 0 && left() < 200);
		page.until("the sale has ended", () -> page.text("#sale .result").startsWith("Sold"));
		assertThat(page.text("#sale .result")).startsWith("Sold 200 pieces of 200 in ")
			.contains("Buyers by instance", first.port() + " 150", second.port() + " 150");
		assertThat(left()).isZero();
		page.until("the waits are in the chart",
				() -> page.text("#lock-legend").matches("half within .*99 % within .*"));
		page.until("the points have the colours of their lines", () -> page
			.script("""
					const chart = Chart.getChart('lock-chart');
					return [0, 1].every((line) => {
						const { data, dataset } = chart.getDatasetMeta(line);
						return data.length > 0 && data.every(({ options }) => options.backgroundColor === dataset.options.borderColor);
					});
					""") == Boolean.TRUE);
	}

	@Test
	@DisplayName("A sale without the lock sells too much, and is marked as bad")
	void sellsWithoutLock() {
		page.type("#sale [name=stock]", "20");
		page.type("#sale [name=buyers]", "60");
		page.click("#sale [value=false]");
		page.until("the sale has ended", () -> page.text("#sale .result").startsWith("Sold"));
		assertThat(page.text("#sale .result")).startsWith("Sold 60 pieces of 20, 40 too many in ");
		assertThat(page.isShown("#sale .result[data-kind=bad]")).isTrue();
	}

	@Test
	@DisplayName("Quotes can be requested, and the late write of a frozen holder is refused")
	void asksAndFreezes() {
		page.type("#quotes [name=orders]", "20");
		page.click("#quotes button");
		page.until("the quotes are shown", () -> page.text("#quotes .result").startsWith("The carrier saw"));
		assertThat(page.text("#quotes .result")).contains(" at a time without permits, 3 with them.");
		page.type("#freeze [name=seconds]", "2");
		page.click("#freeze button");
		page.until("the holder thaws", () -> page.text("#freeze .result").contains("When the holder woke up"));
		assertThat(page.text("#freeze .result")).startsWith("12 others wrote").contains("its write was refused: ");
	}

	@Test
	@DisplayName("A refusal is shown at its form")
	void tellsRefusals() {
		try (LockLease freeze = second.context().getBean(LockService.class).acquire("freeze")) {
			page.click("#freeze button");
			page.until("the refusal is shown",
					() -> page.text("#freeze .result").equals("A holder is frozen already: wait until it thaws"));
			assertThat(freeze.isHeld()).isTrue();
		}
		assertThat(page.complaints()).singleElement().asString().contains("/freeze", "409");
	}

	@Test
	@DisplayName("The keyboard alone is enough to use the page, which links to the console")
	void worksByKeyboard() {
		page.press(Keys.TAB);
		assertThat(page.focus()).isEqualTo("Skip to the shop");
		page.press(Keys.TAB);
		assertThat(page.focus()).isEqualTo("Console: who holds, and who waits");
		page.press(Keys.TAB);
		page.press(Keys.chord(Keys.CONTROL, "a"));
		page.press("7");
		page.press(Keys.TAB);
		page.press(Keys.chord(Keys.CONTROL, "a"));
		page.press("9");
		page.press(Keys.TAB);
		assertThat(page.focus()).isEqualTo("Sell with lock");
		page.press(Keys.ENTER);
		page.until("the sale has ended", () -> page.text("#sale .result").startsWith("Sold 7 pieces of 7"));
		assertThat(page.focus()).isEqualTo("Sell with lock");
		page.click(".live a");
		page.until("the console is shown", () -> "Live".equals(page.text("#connection")));
	}

	@ParameterizedTest
	@CsvSource({ "1280, false", "1280, true", "360, false", "360, true" })
	@DisplayName("The page fits wide and narrow windows, light and dark, and axe has no findings")
	void fits(int width, boolean dark) {
		page.resize(width, dark);
		page.click("#freeze button");
		page.until("the freeze is in progress", () -> page.text("#freeze .result").equals("At work…"));
		assertThat(page.fitsTheWidth()).isTrue();
		assertThat(page.violations()).isEmpty();
		page.screenshot("shop-" + width + (dark ? "-dark" : "-light"), true);
		first.context().getBean(LockService.class).admin().forceRelease(Ledger.LOCK);
		page.until("the holder thaws", () -> page.text("#freeze .result").contains("When the holder woke up"));
	}

	@Test
	@DisplayName("Quantiles are computed from histograms in Prometheus format")
	void readsQuantiles() {
		assertThat(page.asyncScript("""
				import('/shop/latency.js').then(({ histogram, between, quantile }) => {
					const scrape = (a, b, c) => `# TYPE wait_seconds histogram
				wait_seconds_bucket{name="x",le="0.1"} ${a}
				wait_seconds_bucket{name="x",le="0.2"} ${b}
				wait_seconds_bucket{name="x",le="+Inf"} ${c}
				wait_seconds_bucket{name="y",le="0.1"} 0
				wait_seconds_bucket{name="y",le="0.2"} 1
				wait_seconds_bucket{name="y",le="+Inf"} 1
				wait_seconds_count{name="x"} ${c}
				`;
					const before = histogram(scrape(1, 1, 1), 'wait_seconds');
					const news = between(before, histogram(scrape(6, 11, 11), 'wait_seconds'));
					arguments[0](JSON.stringify([news, quantile(news, 0.5), quantile(news, 0.75), quantile(before, 1),
						quantile(between(before, before), 0.5), between(news, before)]));
				});
				""")).isEqualTo("[[[100,5],[200,10],[null,10]],100,150,200,null,[[100,1],[200,2],[null,2]]]");
	}

	private static int left() {
		return ((Number) page.script("return document.getElementById('stock-left').value")).intValue();
	}

}
