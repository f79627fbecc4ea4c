package io.holdfast.sample;

import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.logging.Level;
import java.util.stream.Stream;

import org.awaitility.Awaitility;
import org.awaitility.core.ConditionTimeoutException;
import org.openqa.selenium.By;
import org.openqa.selenium.Keys;
import org.openqa.selenium.WebElement;
import org.openqa.selenium.WindowType;
import org.openqa.selenium.chrome.ChromeDriver;
import org.openqa.selenium.chrome.ChromeDriverService;
import org.openqa.selenium.chrome.ChromeOptions;
import org.openqa.selenium.interactions.Actions;
import org.openqa.selenium.logging.LogEntry;
import org.openqa.selenium.logging.LogType;
import org.openqa.selenium.logging.LoggingPreferences;
import org.opentest4j.TestAbortedException;

import org.springframework.core.io.ClassPathResource;

/**
 * Chromium without a window, and questions of tests to its page. Chromium and its driver
 * have to be on the path; nothing is downloaded.
 */
class Browser implements AutoCloseable {

	static final int DESKTOP = 1280;

	static final int PHONE = 360;

	private static final Duration PATIENCE = Duration.ofSeconds(30);

	/** Content of a list's row; read in a single step, because rows come and go. */
	private static final String ROW = """
			const row = [...document.getElementById(arguments[0]).children]
				.find((each) => each.querySelector('.key').textContent === arguments[1]);
			if (!row) {
				return null;
			}
			const texts = (selector) => [...row.querySelectorAll(selector)].map((each) => each.textContent.trim());
			const meter = row.querySelector('[role=meter]');
			return {
				note: texts('.what .note')[0], holders: texts('.holders > li'), here: texts('.who .here')[0],
				lease: texts('.ttl .note')[0] ?? '', queue: texts('.waiters > li'), waiting: texts('.queue .here')[0],
				meter: Number(meter.getAttribute('aria-valuenow')), squares: row.querySelectorAll('.permits .used').length
			};
			""";

	private static final String AXE = read("axe.min.js");

	private final ChromeDriver driver;

	Browser() {
		ChromeOptions options = new ChromeOptions().setBinary(onPath("chromium", "chromium-browser", "google-chrome"));
		options.addArguments("--headless=new", "--disable-dev-shm-usage", "--hide-scrollbars", "--lang=en");
		if ("root".equals(System.getProperty("user.name"))) {
			options.addArguments("--no-sandbox");
		}
		LoggingPreferences logs = new LoggingPreferences();
		logs.enable(LogType.BROWSER, Level.ALL);
		options.setCapability(ChromeOptions.LOGGING_PREFS, logs);
		ChromeDriverService service = new ChromeDriverService.Builder().usingDriverExecutable(onPath("chromedriver"))
			.usingAnyFreePort()
			.build();
		this.driver = new ChromeDriver(service, options);
		resize(DESKTOP, false);
	}

	private static File onPath(String... names) {
		return Stream.of(System.getenv("PATH").split(File.pathSeparator))
			.flatMap((folder) -> Stream.of(names).map((name) -> new File(folder, name)))
			.filter(File::canExecute)
			.findFirst()
			.orElseThrow(() -> new TestAbortedException("None of " + Arrays.toString(names)
					+ " is on the PATH, which tests in a browser need: on Debian, apt-get install chromium chromium-driver"));
	}

	private static String read(String resource) {
		try {
			return new ClassPathResource(resource).getContentAsString(StandardCharsets.UTF_8);
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
	}

	/** Opens the page of the shop. */
	void openShop(String port) {
		this.driver.get("http://localhost:" + port + "/");
		// Before the first frame, the browser drops keys.
		asyncScript("const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(() => done()))");
	}

	/** Opens the console, and waits for its content. */
	void open(String port) {
		open(port, "");
	}

	/** Opens the console by a link with its state. */
	void open(String port, String hash) {
		this.driver.get("http://localhost:" + port + "/actuator/holdfast" + hash);
		until("the page is live", () -> "Live".equals(text("#connection")));
	}

	void reload() {
		this.driver.navigate().refresh();
	}

	/** State of the console in the page's address. */
	String hash() {
		return String.valueOf(script("return location.hash"));
	}

	/** Opens the console through the form of Spring Security. */
	void signIn(String port, String user, String password) {
		this.driver.get("http://localhost:" + port + "/actuator/holdfast");
		this.driver.findElement(By.name("username")).sendKeys(user);
		this.driver.findElement(By.name("password")).sendKeys(password, Keys.ENTER);
		until("the page is live", () -> "Live".equals(text("#connection")));
	}

	/** Forgets all cookies, and so the session. */
	void forget() {
		this.driver.manage().deleteAllCookies();
	}

	void resize(int width, boolean dark) {
		this.driver.executeCdpCommand("Emulation.setDeviceMetricsOverride", Map.of("width", width, "height",
				(width == PHONE) ? 740 : 900, "deviceScaleFactor", 1, "mobile", width == PHONE));
		this.driver.executeCdpCommand("Emulation.setEmulatedMedia",
				Map.of("features", List.of(Map.of("name", "prefers-color-scheme", "value", dark ? "dark" : "light"))));
	}

	String text(String selector) {
		return String.valueOf(script("return document.querySelector(arguments[0])?.textContent", selector));
	}

	boolean isShown(String selector) {
		return script("return document.querySelector(arguments[0])?.checkVisibility() ?? false",
				selector) == Boolean.TRUE;
	}

	Row lock(String key) {
		return row("locks", key);
	}

	Row semaphore(String key) {
		return row("semaphores", key);
	}

	@SuppressWarnings("unchecked")
	private Row row(String list, String key) {
		Map<String, Object> row = (Map<String, Object>) script(ROW, list, key);
		return (row != null) ? Row.of(row) : Row.NONE;
	}

	void click(String selector) {
		this.driver.findElement(By.cssSelector(selector)).click();
	}

	/** Chooses an option by its value. */
	void choose(String selector, String value) {
		this.driver.findElement(By.cssSelector(selector + " option[value='" + value + "']")).click();
	}

	void type(String selector, String text) {
		WebElement input = this.driver.findElement(By.cssSelector(selector));
		input.sendKeys(Keys.chord(Keys.CONTROL, "a"), text);
	}

	/** Presses a key at the current focus. */
	void press(CharSequence key) {
		new Actions(this.driver).sendKeys(key).perform();
	}

	/** Text of the focused element. */
	String focus() {
		return String.valueOf(script("return document.activeElement.textContent"));
	}

	Object script(String script, Object... arguments) {
		return this.driver.executeScript(script, arguments);
	}

	Object asyncScript(String script, Object... arguments) {
		return this.driver.executeAsyncScript(script, arguments);
	}

	/**
	 * Findings of axe: violations of WCAG 2.2 at level AA and of good practice, each with
	 * its elements.
	 */
	List<String> violations() {
		if (script("return typeof axe") instanceof String type && type.equals("undefined")) {
			script(AXE);
		}
		@SuppressWarnings("unchecked")
		List<String> found = (List<String>) asyncScript(
				"""
						const done = arguments[0];
						axe.run({ resultTypes: ['violations'] }).then(({ violations }) => done(violations.map((each) =>
							each.id + ': ' + each.help + ': ' + each.nodes.map((node) => node.html + ' ' + node.failureSummary).join('; '))),
							(error) => done([String(error)]));
						""");
		return found;
	}

	boolean fitsTheWidth() {
		return script("return document.documentElement.scrollWidth <= window.innerWidth") == Boolean.TRUE;
	}

	/** Warnings and errors of the browser since the last call. */
	List<String> complaints() {
		return this.driver.manage()
			.logs()
			.get(LogType.BROWSER)
			.getAll()
			.stream()
			.filter((entry) -> entry.getLevel().intValue() >= Level.WARNING.intValue())
			.map(LogEntry::toString)
			.toList();
	}

	void until(String what, Callable<Boolean> condition) {
		until(what, PATIENCE, condition);
	}

	void until(String what, Duration patience, Callable<Boolean> condition) {
		try {
			Awaitility.await(what).atMost(patience).pollInterval(Duration.ofMillis(50)).until(condition);
		}
		catch (ConditionTimeoutException ex) {
			screenshot("failure", true);
			throw new AssertionError("Not seen within " + patience + ": " + what
					+ ". The page is in screenshots/failure.png; " + "its connection: " + text("#connection") + " "
					+ text("#outage") + ", complaints: " + complaints(), ex);
		}
	}

	/** Opens a tab in front of the current tab. */
	String openTab() {
		String before = this.driver.getWindowHandle();
		this.driver.switchTo().newWindow(WindowType.TAB);
		return before;
	}

	void closeTab(String before) {
		this.driver.close();
		this.driver.switchTo().window(before);
	}

	/** Saves the whole page, or the visible part, as a PNG in the build's output. */
	void screenshot(String name, boolean all) {
		Object data = this.driver
			.executeCdpCommand("Page.captureScreenshot", Map.of("format", "png", "captureBeyondViewport", all))
			.get("data");
		try {
			Path folder = Files.createDirectories(Path.of("target", "screenshots"));
			Files.write(folder.resolve(name + ".png"), Base64.getDecoder().decode(String.valueOf(data)));
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
	}

	@Override
	public void close() {
		this.driver.quit();
	}

	/**
	 * Content of a row.
	 *
	 * @param note the note beside the key
	 * @param holders the holders
	 * @param here the holding threads of the answering instance
	 * @param lease the remaining time of the lease
	 * @param queue the waiters of the queue
	 * @param waiting the number of waiting calls at the answering instance
	 * @param meter the value of the meter
	 * @param squares the number of permits marked as used
	 */
	record Row(String note, List<String> holders, String here, String lease, List<String> queue, String waiting,
			long meter, long squares) {

		static final Row NONE = new Row("", List.of(), "", "", List.of(), "", 0, 0);

		@SuppressWarnings("unchecked")
		static Row of(Map<String, Object> row) {
			return new Row((String) row.get("note"), (List<String>) row.get("holders"), (String) row.get("here"),
					(String) row.get("lease"), (List<String>) row.get("queue"), (String) row.get("waiting"),
					((Number) row.get("meter")).longValue(), ((Number) row.get("squares")).longValue());
		}

		boolean isHeld() {
			return !this.holders.isEmpty();
		}

	}

}
