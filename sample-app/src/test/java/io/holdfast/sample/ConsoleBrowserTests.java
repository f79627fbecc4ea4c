package io.holdfast.sample;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;

import io.holdfast.LockLease;
import io.holdfast.SemaphoreRequest;
import io.holdfast.SemaphoreService;
import io.holdfast.engine.LeaseEngine;
import io.holdfast.engine.fleet.Fleet;
import io.holdfast.engine.store.Tokens;
import io.holdfast.sample.Browser.Row;
import io.holdfast.sample.Instances.Instance;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.openqa.selenium.Keys;

import org.springframework.data.redis.core.RedisCallback;
import org.springframework.data.redis.core.StringRedisTemplate;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Content of the console in a browser, for two instances. Run with {@code -Pbrowser}.
 */
@Tag("browser")
class ConsoleBrowserTests extends ConsoleTestCase {

	private static final String FLEET = "holdfast:fleet";

	private static final String DEAD = "0123456789abcdef0123456789abcdef";

	@Test
	@DisplayName("The console lists all instances, marks the answering instance, and shows when a dead instance was last seen")
	void showsInstances() {
		page.until("both instances are shown", () -> "2".equals(page.text("#count-instances")));
		assertThat(page.text("#instances")).containsOnlyOnce("this instance")
			.contains("holdfast-sample", "started")
			.doesNotContain("last seen");
		StringRedisTemplate redis = first.context().getBean(StringRedisTemplate.class);
		addDeadInstance(redis);
		page.until("the dead instance is shown",
				() -> page.text("#instances").contains("does not answer, last seen 2 min ago"));
		redis.opsForHash().delete(FLEET, DEAD);
	}

	@Test
	@DisplayName("The answering instance is listed even when Redis has lost its data")
	void showsTheInstanceThatAnswers() {
		StringRedisTemplate redis = first.context().getBean(StringRedisTemplate.class);
		page.until("both instances are shown", () -> "2".equals(page.text("#count-instances")));
		String shown = Fleet.of(first.context().getBean(LeaseEngine.class)).instance();
		Object id = redis.opsForHash()
			.keys(FLEET)
			.stream()
			.filter((each) -> Tokens.shown(String.valueOf(each)).equals(shown))
			.findFirst()
			.orElseThrow();
		Object entry = redis.opsForHash().get(FLEET, id);
		redis.opsForHash().delete(FLEET, id);
		long before = requests(0, Double.MAX_VALUE);
		page.until("the page has sent requests", () -> requests(0, Double.MAX_VALUE) > before + 6);
		assertThat(page.text("#count-instances")).isEqualTo("2");
		assertThat(page.text("#instances")).containsOnlyOnce("this instance");
		redis.opsForHash().put(FLEET, id, entry);
	}

	private static void addDeadInstance(StringRedisTemplate redis) {
		String entry = String.valueOf(redis.opsForHash().values(FLEET).get(0));
		redis.opsForHash()
			.put(FLEET, DEAD, entry.replaceFirst("^\\d+", String.valueOf(System.currentTimeMillis() - 130_000)));
	}

	@Test
	@DisplayName("Holders and waiters of a silent instance are marked, and a lease of unknown length has no bar")
	void marksThoseThatMayBeDead() {
		StringRedisTemplate redis = first.context().getBean(StringRedisTemplate.class);
		redis.opsForZSet().add("{lock:dead}:queue", "fedcba9876543210fedcba9876543210:8:30000:s", 1);
		redis.opsForValue().set("lock:dead", DEAD + ":7", Duration.ofMinutes(10));
		LockLease alive = acquire(second, "alive");
		page.until("unknown instances are marked", () -> {
			Row dead = page.lock("dead");
			return dead.isHeld() && dead.holders().get(0).endsWith(" not seen for 3 min")
					&& dead.queue().get(0).endsWith(" not seen for 3 min");
		});
		addDeadInstance(redis);
		page.until("the silent instance is marked",
				() -> page.lock("dead").holders().get(0).matches(".+/\\d+ silent for 2 min"));
		page.until("the live instance is not marked",
				() -> page.lock("alive").isHeld() && !page.lock("alive").holders().get(0).contains("silent"));
		assertThat(page.lock("dead").lease()).isEqualTo("9 min left");
		assertThat(page.isShown("[aria-label='Lease left of dead']")).isFalse();
		assertThat(page.isShown("[aria-label='Lease left of alive']")).isTrue();
		page.click("[aria-label='Release lock dead by force']");
		assertThat(page.text("#confirm-facts")).contains("silent for 2 min");
		page.press(Keys.ESCAPE);
		assertThat(page.violations()).isEmpty();
		page.screenshot("console-silent", false);
		page.open(first.port(), "#open=locks&key=dead");
		page.until("the detail has the marks, too", () -> page.text("#detail-holders").contains("silent for 2 min")
				&& page.text("#detail-queue").contains("not seen for 3 min"));
		page.screenshot("console-silent-detail", false);
		redis.opsForHash().delete(FLEET, DEAD);
		redis.delete(List.of("lock:dead", "{lock:dead}:queue"));
		alive.close();
	}

	@Test
	@DisplayName("A lock is shown with its holder, its age and its queue; in detail with thread, name and fencing token")
	void showsLocks() {
		LockLease lease = acquire(second, "order:1");
		CompletableFuture<LockLease> waiting = waitFor(first, "order:1");
		page.until("the lock has holder and waiter", () -> {
			Row lock = page.lock("order:1");
			return lock.isHeld() && lock.here().startsWith("for ") && lock.lease().endsWith(" left") && lock.meter() > 0
					&& lock.queue().size() == 1;
		});
		page.type("#locks-tools [name=search]", "order:1");
		page.until("the search shows a single lock", () -> page.text("#locks .open").equals("order:1"));
		page.click("#locks .open");
		page.until("the detail has the holder", () -> page.text("#detail-holders").contains("name of order:1"));
		assertThat(page.text("#detail-holders")).contains("holdfast-sample at ");
		assertThat(page.text("#detail-facts")).contains("exclusive", String.valueOf(lease.fencingToken()))
			.containsPattern("Granted.+ ago, at .*\\d\\d:\\d\\d:\\d\\d UTC");
		assertThat(page.text("#detail-holders")).containsPattern("Since \\(UTC\\).+\\d\\d:\\d\\d:\\d\\d");
		assertThat((String) page.script("return document.getElementById('connection').title"))
			.matches("as of .*\\d\\d:\\d\\d:\\d\\d UTC");
		page.until("the detail has the waiter", () -> page.text("#detail-queue").startsWith("1 in the queue"));
		assertThat(page.violations()).isEmpty();
		page.screenshot("console-detail", false);
		waiting.cancel(true);
		lease.release();
		page.until("the detail says that the lock is free",
				() -> page.text("#detail-state").equals("It is neither held nor waited for.")
						&& page.isShown("#detail-state"));
		page.press(Keys.ESCAPE);
		// The row stays as long as it has the focus.
		page.type("#locks-tools [name=search]", " ");
		page.until("the row of the free lock is gone", () -> page.lock("order:1").equals(Row.NONE));
	}

	@Test
	@DisplayName("Enter opens exactly the key in the search; the address has search and lock, and can be reloaded and sent")
	void opensByKeyAndByAddress() {
		LockLease lease = acquire(second, "exact");
		LockLease other = acquire(second, "exact <b>&1</b>");
		page.type("#locks-tools [name=search]", "exac" + Keys.ENTER);
		page.until("no lock matches exactly",
				() -> page.text("#locks-found").endsWith("none has exactly this key now"));
		assertThat(page.isShown("#detail")).isFalse();
		page.choose("#locks-tools [name=sort]", "age");
		page.type("#locks-tools [name=search]", "exact" + Keys.ENTER);
		page.until("the detail has the holder", () -> page.text("#detail-holders").contains("name of exact"));
		String hash = "#locks-search=exact&locks-sort=age&open=locks&key=exact";
		assertThat(page.hash()).isEqualTo(hash);
		page.reload();
		page.until("the lock is open again", () -> page.text("#detail-holders").contains("name of exact"));
		page.open(second.port(), hash);
		page.until("the lock is open at the other instance",
				() -> page.text("#detail-holders").contains("name of exact"));
		page.until("the search has its results", () -> page.text("#locks-found").startsWith("2 of "));
		assertThat(page.hash()).isEqualTo(hash);
		page.press(Keys.ESCAPE);
		page.until("the address keeps the search",
				() -> page.hash().equals("#locks-search=exact&locks-sort=age") && !page.isShown("#detail"));
		page.open(second.port(), "#open=locks&key=exact+%3Cb%3E%261%3C%2Fb%3E");
		page.until("the other lock is open", () -> page.text("#detail-holders").contains("name of exact <b>&1</b>"));
		assertThat(page.text("#detail-title")).isEqualTo("exact <b>&1</b>");
		assertThat(page.text("#detail-holders")).contains("note of exact <b>&1</b>");
		assertThat(page.script("return document.querySelectorAll('b').length")).isEqualTo(0L);
		page.press(Keys.ESCAPE);
		page.open(second.port(), "#locks-filter=none&locks-page=-1&locks-sort=none&open=nothing&key=exact");
		page.until("all locks are shown", () -> page.hash().isEmpty() && page.lock("exact").isHeld());
		assertThat(page.isShown("#detail")).isFalse();
		lease.close();
		other.close();
	}

	@Test
	@DisplayName("A lock whose holder freezes is shown, and found, as not renewed")
	void tellsWhatIsNotRenewed() {
		CompletableFuture<FreezeResult> frozen = CompletableFuture
			.supplyAsync(() -> first.post("/freeze?seconds=8&writers=5", FreezeResult.class));
		LockLease renewed = acquire(second, "renewed");
		page.until("both locks are shown", () -> page.lock("ledger").isHeld() && page.lock("renewed").isHeld());
		page.choose("#locks-tools [name=filter]", "not-renewed");
		page.until("the lock is found", () -> page.lock("ledger").lease().endsWith(" left, not renewed"));
		assertThat(page.lock("renewed").isHeld()).isFalse();
		assertThat(page.text("#locks-found")).startsWith("1 of ");
		assertThat(frozen.join()).isNotNull();
		renewed.release();
	}

	@Test
	@DisplayName("Keys with any characters are shown as text and can be released")
	void showsKeysAsText() {
		String key = "a/b 100%: <img src=x onerror=\"document.title='broken'\">";
		acquire(second, key);
		page.until("the lock is shown", () -> page.lock(key).isHeld());
		assertThat(page.script("return document.querySelectorAll('main img').length")).isEqualTo(0L);
		assertThat(page.script("return document.title")).isEqualTo("holdfast-sample · Holdfast console");
		page.click("#locks button[aria-label*='onerror']");
		page.click("#confirm [value=yes]");
		assertAnnounced("Released lock ‘" + key + "’ by force.");
		page.until("the lock is free", () -> !page.lock(key).isHeld());
		LockLease turning = acquire(second, "turning \u202Eabc");
		page.until("the direction mark is shown", () -> page.lock("turning ‹U+202E›abc").isHeld());
		turning.release();
	}

	@Test
	@DisplayName("The keyboard alone is enough to use the console, which shows the focus")
	void worksByKeyboard() {
		LockLease lease = acquire(second, "by keyboard");
		page.until("the lock is shown", () -> page.lock("by keyboard").isHeld());
		page.press(Keys.TAB);
		assertThat(page.focus()).isEqualTo("Skip to the locks");
		assertThat(page.script("return getComputedStyle(document.activeElement).outlineStyle")).isEqualTo("solid");
		page.press(Keys.TAB);
		assertThat(page.focus()).isEqualTo("Pause");
		page.press(Keys.SPACE);
		assertThat(page.text("#connection")).startsWith("Paused");
		page.press(Keys.SPACE);
		page.until("the page is live again", () -> page.text("#connection").equals("Live"));
		page.press(Keys.TAB);
		page.press("keyb");
		page.until("the lock is found", () -> page.text("#locks-found").startsWith("1 of "));
		page.press(Keys.TAB);
		page.press(Keys.TAB);
		page.press(Keys.TAB);
		assertThat(page.focus()).isEqualTo("by keyboard");
		assertThat(page.script("return getComputedStyle(document.activeElement).outlineStyle")).isEqualTo("solid");
		page.press(Keys.ENTER);
		page.until("the detail is shown", () -> page.isShown("#detail"));
		page.press(Keys.ENTER);
		page.until("the detail is closed", () -> !page.isShown("#detail"));
		assertThat(page.focus()).isEqualTo("by keyboard");
		lease.release();
	}

	@ParameterizedTest
	@CsvSource({ "1280, false", "1280, true", "360, false", "360, true" })
	@DisplayName("The console fits wide and narrow windows, light and dark, and axe has no findings")
	void fits(int width, boolean dark) {
		page.resize(width, dark);
		List<LockLease> locks = List.of("order:4711", "stock:" + "x".repeat(200), "invoice/2026/0815")
			.stream()
			.map((key) -> acquire(second, key))
			.toList();
		CompletableFuture<LockLease> waiting = waitFor(first, "order:4711");
		first.context()
			.getBean(SemaphoreService.class)
			.acquireAsync(SemaphoreRequest.of("geocoder", 10).permits(4))
			.join();
		page.until("lock and semaphore are shown",
				() -> page.lock("order:4711").isHeld() && page.semaphore("geocoder").isHeld());
		assertThat(page.fitsTheWidth()).isTrue();
		assertThat(page.violations()).isEmpty();
		assertThat(page.script("return matchMedia('(prefers-color-scheme: dark)').matches")).isEqualTo(dark);
		page.screenshot("console-" + width + (dark ? "-dark" : "-light"), true);
		waiting.cancel(true);
		locks.forEach(LockLease::close);
		first.context().getBean(SemaphoreService.class).admin().forceRelease("geocoder");
	}

	@Test
	@DisplayName("While Redis does not answer, the console shows the last known state with its time, and continues afterwards")
	void showsWhatItKnewLast() {
		LockLease lease = acquire(first, "known");
		page.until("the lock is shown", () -> page.lock("known").isHeld());
		StringRedisTemplate redis = first.context().getBean(StringRedisTemplate.class);
		redis.execute((RedisCallback<Object>) (connection) -> connection.execute("CLIENT", "PAUSE".getBytes(),
				"8000".getBytes(), "ALL".getBytes()));
		page.until("the outage is shown", () -> page.isShown("#outage"));
		assertThat(page.text("#outage")).contains("the store (Redis) did not answer within")
			.containsPattern("This is the state of \\d\\d:\\d\\d:\\d\\d\\.$");
		assertThat(page.text("#connection")).startsWith("Stale, as of ");
		assertThat(page.lock("known").isHeld()).isTrue();
		assertThat(page.text("#count-instances")).isEqualTo("2");
		assertThat(page.text("#locks-state")).doesNotContain("No lock is held").isNotEqualTo("Loading…");
		assertThat(page.violations()).isEmpty();
		page.screenshot("console-outage", true);
		page.until("the page is live again", () -> page.text("#connection").equals("Live"));
		assertThat(page.isShown("#outage")).isFalse();
		lease.close();
	}

	@Test
	@DisplayName("When its instance does not answer, the console says so, and later continues with the instance's new rights")
	void survivesItsInstance() {
		int port = Instances.freePort();
		Instance third = instances.start(port);
		page.open(third.port());
		assertThat(page.text("#rights")).startsWith("This instance allows changes of locks and semaphores.");
		third.context().close();
		page.until("the outage is shown", () -> page.text("#outage")
			.matches("This instance does not answer\\. This is the state of \\d\\d:\\d\\d:\\d\\d\\."));
		assertThat(page.isShown("#outage")).isTrue();
		assertThat(page.text("#connection")).startsWith("Stale, as of ").contains("asking again in ");
		Instance back = instances.start(port, "--management.endpoint.locks.access=read-only",
				"--management.endpoint.semaphores.access=read-only");
		page.until("the page is live again", () -> page.text("#connection").equals("Live"));
		assertThat(page.isShown("#outage")).isFalse();
		page.until("the page is read-only", () -> page.text("#rights").startsWith("Read only: "));
		page.open(first.port());
		back.context().close();
		assertThat(page.complaints()).allMatch((complaint) -> complaint.contains("ERR_CONNECTION_REFUSED")
				|| complaint.contains("ERR_EMPTY_RESPONSE") || complaint.contains("ERR_CONNECTION_RESET"));
	}

	@Test
	@DisplayName("The hidden console sends no requests")
	void restsWhileHidden() {
		page.script("""
				window.shown = [];
				document.addEventListener('visibilitychange',
					(event) => window.shown.push([document.visibilityState, event.timeStamp]));
				""");
		String tab = page.openTab();
		page.open(second.port());
		page.until("the other page has sent requests", () -> requests(0, Double.MAX_VALUE) > 12);
		page.closeTab(tab);
		page.until("the page was hidden, and is visible again",
				() -> Long.valueOf(2).equals(page.script("return shown.length")));
		double hidden = ((Number) page.script("return shown[0][1]")).doubleValue();
		double shown = ((Number) page.script("return shown[1][1]")).doubleValue();
		assertThat(shown - hidden).isGreaterThan(3_000);
		assertThat(requests(hidden, shown)).isZero();
		page.until("the page sends requests again", () -> requests(shown, Double.MAX_VALUE) > 0);
	}

}
