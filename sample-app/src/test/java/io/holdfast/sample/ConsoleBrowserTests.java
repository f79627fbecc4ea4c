package io.holdfast.sample;

import java.util.List;

import io.holdfast.LockLease;
import io.holdfast.LockService;
import io.holdfast.sample.Browser.Row;
import io.holdfast.sample.Instances.Instance;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.openqa.selenium.Keys;

import org.springframework.http.HttpMethod;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * The page in a browser, for two instances. Run with {@code -Pbrowser}.
 */
@Tag("browser")
class ConsoleBrowserTests {

	private static Instances instances;

	private static Instance first;

	private static Instance second;

	private static Browser page;

	@BeforeAll
	static void start() {
		instances = new Instances();
		// So long that what is to be seen lasts longer than from one look to the next.
		first = instances.start("--shop.think-time=10ms", "--shop.quote-time=200ms");
		second = instances.start("--shop.think-time=10ms", "--shop.quote-time=200ms");
		page = new Browser();
	}

	@AfterAll
	static void stop() {
		if (page != null) {
			page.close();
		}
		instances.close();
	}

	@BeforeEach
	void open() {
		page.resize(Browser.DESKTOP, false);
		page.open(first.port());
	}

	@AfterEach
	void hasNoComplaints() {
		assertThat(page.complaints()).isEmpty();
	}

	@Test
	@DisplayName("It shows all instances, and which of them it asks")
	void showsInstances() {
		page.until("both instances are shown", () -> "2".equals(page.text("#count-instances")));
		assertThat(page.text("#instances")).containsOnlyOnce("this instance").contains("holdfast-sample", "started");
	}

	@Test
	@DisplayName("A sale with the lock: its holder and queue are shown, the stock drains, and exactly that is sold")
	void sellsWithLock() {
		page.type("#sale [name=stock]", "200");
		page.type("#sale [name=buyers]", "300");
		page.click("#sale [value=true]");
		page.until("the lock has a holder, and the other instance queues for it", () -> {
			Row lock = page.lock("stock:SKU0001");
			return lock.isHeld() && lock.lease().endsWith(" left") && lock.meter() > 0 && !lock.queue().isEmpty();
		});
		page.until("calls wait in this instance",
				() -> page.lock("stock:SKU0001").waiting().endsWith(" wait in this instance"));
		page.until("some of the stock is left", () -> left() > 0 && left() < 200);
		page.until("the sale has ended", () -> page.text("#sale .result").startsWith("Sold"));
		assertThat(page.text("#sale .result")).startsWith("Sold 200 pieces of 200 in ")
			.contains("Buyers by instance", first.port() + " 150", second.port() + " 150");
		assertThat(left()).isZero();
		page.until("the lock is free, and its row gone after a while",
				() -> page.lock("stock:SKU0001").equals(Row.NONE));
		page.until("the waits are in the chart",
				() -> page.text("#lock-legend").matches("half within .*99 % within .*"));
		page.until("its points have the colours of their lines", () -> page
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
	@DisplayName("The limit of a semaphore can be raised: calls that wait go at once; and cleared again")
	void raisesLimit() {
		page.type("#quotes [name=orders]", "150");
		page.click("#quotes button");
		page.until("all permits are used, and calls wait", () -> {
			Row carrier = page.semaphore("carrier");
			return carrier.squares() == 3 && carrier.waiting().endsWith(" wait in this instance");
		});
		assertThat(page.semaphore("carrier").note()).startsWith("3 of 3 permits used");
		page.type("[aria-label='Limit of carrier']", "12");
		page.click("[aria-label='Set the limit of carrier']");
		page.until("waiting calls went", () -> page.semaphore("carrier").squares() == 12);
		assertThat(page.semaphore("carrier").note()).isEqualTo("12 of 12 permits used · set by an operator");
		assertThat(page.text("#announcement")).isEqualTo("The limit of ‘carrier’ is 12 now, at all instances.");
		page.until("the quotes are there", () -> page.text("#quotes .result").startsWith("The carrier saw"));
		assertThat(page.text("#quotes .result")).contains(" at a time without permits, 12 with them.");
		page.click("[aria-label=\"Clear the operator's limit of carrier\"]");
		page.until("the limit is cleared", () -> page.text("#announcement").endsWith("configured again."));
		assertThat(first.send(HttpMethod.GET, "/quotes/limit", QuotesResult.Limit.class).setByOperator()).isFalse();
	}

	@Test
	@DisplayName("A holder that freezes: its lease runs down while others queue, and its late write is refused")
	void freezes() {
		page.type("#freeze [name=seconds]", "4");
		page.click("#freeze button");
		page.until("others queue, and the lease is not renewed", () -> {
			Row ledger = page.lock("ledger");
			return !ledger.queue().isEmpty() && ledger.lease().endsWith(" left, not renewed");
		});
		page.until("it thaws", () -> page.text("#freeze .result").contains("When the holder woke up"));
		assertThat(page.text("#freeze .result")).startsWith("12 others wrote")
			.contains("its lease told it that it was lost", "was refused, for");
	}

	@Test
	@DisplayName("A lock is released by force only after a question, and then goes to the next one")
	void releasesByForce() {
		page.type("#freeze [name=seconds]", "20");
		page.click("#freeze button");
		page.until("others queue", () -> !page.lock("ledger").queue().isEmpty());
		String release = "[aria-label='Release lock ledger by force']";
		page.click(release);
		assertThat(page.text("#confirm-title")).isEqualTo("Release lock ‘ledger’?");
		page.press(Keys.ESCAPE);
		page.until("the question is gone", () -> !page.isShown("#confirm"));
		assertThat(first.context().getBean(LockService.class).status(Ledger.LOCK).isLocked()).isTrue();
		page.click(release);
		page.click("#confirm [value=yes]");
		page.until("that is told", () -> page.text("#announcement").equals("Released lock ‘ledger’ by force."));
		page.until("it thaws", () -> page.text("#freeze .result").contains("When the holder woke up"));
		assertThat(page.text("#freeze .result")).startsWith("12 others wrote").contains("was refused, for");
	}

	@Test
	@DisplayName("Keys are shown as text whatever is in them, and can be released")
	void showsKeysAsText() {
		String key = "a/b 100%: <img src=x onerror=\"document.title='broken'\">";
		try (LockLease lock = second.context().getBean(LockService.class).acquire(key)) {
			page.until("the lock is shown", () -> page.lock(key).isHeld());
			assertThat(page.script("return document.querySelectorAll('main img').length")).isEqualTo(0L);
			assertThat(page.script("return document.title")).isEqualTo("Holdfast: a shop and its locks");
			assertThat(lock.isHeld()).isTrue();
			page.click("#locks button[aria-label*='onerror']");
			page.click("#confirm [value=yes]");
			page.until("that is told",
					() -> page.text("#announcement").equals("Released lock ‘" + key + "’ by force."));
			page.until("it is free", () -> !page.lock(key).isHeld());
		}
	}

	@ParameterizedTest
	@ValueSource(strings = { "a//b", "/a", "a/", "a/../b", "./a", "a;b" })
	@DisplayName("Keys that no path could name can be released too")
	void releasesKeysThatPathsCannotName(String key) {
		try (LockLease lock = second.context().getBean(LockService.class).acquire(key)) {
			page.until("the lock is shown", () -> page.lock(key).isHeld());
			assertThat(lock.isHeld()).isTrue();
			page.click("[aria-label='Release lock " + key + " by force']");
			page.click("#confirm [value=yes]");
			page.until("that is told",
					() -> page.text("#announcement").equals("Released lock ‘" + key + "’ by force."));
			page.until("it is free", () -> !page.lock(key).isHeld());
		}
	}

	@Test
	@DisplayName("What is refused is told where it was asked for")
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
	@DisplayName("It can be used by the keyboard alone, and shows where the focus is")
	void worksByKeyboard() {
		page.press(Keys.TAB);
		assertThat(focus()).isEqualTo("Skip to what is held");
		assertThat(page.script("return getComputedStyle(document.activeElement).outlineStyle")).isEqualTo("solid");
		page.press(Keys.TAB);
		assertThat(focus()).isEqualTo("Pause");
		page.press(Keys.SPACE);
		assertThat(page.text("#connection")).isEqualTo("Paused");
		page.press(Keys.SPACE);
		page.until("it goes on", () -> page.text("#connection").equals("Live"));
		page.press(Keys.TAB);
		page.press(Keys.chord(Keys.CONTROL, "a"));
		page.press("7");
		page.press(Keys.TAB);
		page.press(Keys.chord(Keys.CONTROL, "a"));
		page.press("9");
		page.press(Keys.TAB);
		assertThat(focus()).isEqualTo("Sell with lock");
		assertThat(page.script("return getComputedStyle(document.activeElement).outlineStyle")).isEqualTo("solid");
		page.press(Keys.ENTER);
		page.until("the sale has ended", () -> page.text("#sale .result").startsWith("Sold 7 pieces of 7"));
		assertThat(focus()).isEqualTo("Sell with lock");
	}

	@ParameterizedTest
	@CsvSource({ "1280, false", "1280, true", "360, false", "360, true" })
	@DisplayName("It fits wide and narrow windows, light and dark, and all texts are readable")
	void fits(int width, boolean dark) {
		page.resize(width, dark);
		List<LockLease> locks = List.of("order:4711", "stock:" + "x".repeat(200), "invoice/2026/0815")
			.stream()
			.map(second.context().getBean(LockService.class)::acquire)
			.toList();
		try {
			page.type("#freeze [name=seconds]", "2");
			page.click("#freeze button");
			page.until("all of it is shown", () -> page.lock("order:4711").isHeld() && page.lock("ledger").isHeld());
			assertThat(page.fitsTheWidth()).isTrue();
			assertThat(page.faintTexts()).isEmpty();
			assertThat(page.script("return matchMedia('(prefers-color-scheme: dark)').matches")).isEqualTo(dark);
			page.screenshot(width + (dark ? "-dark" : "-light"), true);
			page.until("it thaws", () -> page.text("#freeze .result").contains("When the holder woke up"));
		}
		finally {
			locks.forEach(LockLease::close);
		}
	}

	@Test
	@DisplayName("When its instance does not answer it says so, and goes on when that is back")
	void survivesItsInstance() {
		int port = Instances.freePort();
		Instance third = instances.start(port);
		page.open(third.port());
		third.context().close();
		page.until("the outage is told",
				() -> page.text("#outage").equals("This instance does not answer. What is shown may be old."));
		assertThat(page.isShown("#outage")).isTrue();
		assertThat(page.text("#connection")).startsWith("Asking again in ");
		Instance back = instances.start(port);
		page.until("it is live again", () -> page.text("#connection").equals("Live"));
		assertThat(page.isShown("#outage")).isFalse();
		page.open(first.port());
		back.context().close();
		assertThat(page.complaints()).allMatch((complaint) -> complaint.contains("ERR_CONNECTION_REFUSED")
				|| complaint.contains("ERR_EMPTY_RESPONSE") || complaint.contains("ERR_CONNECTION_RESET"));
	}

	@Test
	@DisplayName("It asks nothing while it cannot be seen")
	void restsWhileHidden() {
		page.script("""
				window.shown = [];
				document.addEventListener('visibilitychange',
					(event) => window.shown.push([document.visibilityState, event.timeStamp]));
				""");
		String tab = page.openTab();
		page.open(second.port());
		page.until("another page has asked often", () -> asked(0, Double.MAX_VALUE) > 12);
		page.closeTab(tab);
		page.until("it was hidden, and is shown again",
				() -> Long.valueOf(2).equals(page.script("return shown.length")));
		double hidden = ((Number) page.script("return shown[0][1]")).doubleValue();
		double shown = ((Number) page.script("return shown[1][1]")).doubleValue();
		assertThat(shown - hidden).isGreaterThan(3_000);
		assertThat(asked(hidden, shown)).isZero();
		page.until("it asks again", () -> asked(shown, Double.MAX_VALUE) > 0);
	}

	@Test
	@DisplayName("Quantiles are read from histograms as Prometheus has them")
	void readsQuantiles() {
		assertThat(page.asyncScript("""
				import('/console/latency.js').then(({ histogram, between, quantile }) => {
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

	/** What the focused part is called. */
	private static String focus() {
		return String.valueOf(page.script("return document.activeElement.textContent"));
	}

	/** How many requests the page began in a time, by the clock of its own. */
	private static long asked(double from, double to) {
		return ((Number) page.script("""
				return performance.getEntriesByType('resource').filter((each) => each.name.includes('/actuator/')
					&& each.startTime > arguments[0] && each.startTime < arguments[1]).length;
				""", from, to)).longValue();
	}

}
