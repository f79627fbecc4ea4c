package io.holdfast.sample;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;

import io.holdfast.LockLease;
import io.holdfast.LockService;
import io.holdfast.SemaphoreRequest;
import io.holdfast.SemaphoreService;
import io.holdfast.sample.Browser.Row;
import io.holdfast.sample.Instances.Instance;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.openqa.selenium.Keys;

import org.springframework.data.redis.connection.DataType;
import org.springframework.data.redis.core.RedisCallback;
import org.springframework.data.redis.core.StringRedisTemplate;
import org.springframework.http.HttpMethod;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Changes by the console, for two instances: limits, and forced releases of locks. Run
 * with {@code -Pbrowser}.
 */
@Tag("browser")
class ConsoleChangesBrowserTests extends ConsoleTestCase {

	@Test
	@DisplayName("The limit of a semaphore can be raised, so that waiting calls run at once, and cleared again")
	void raisesLimit() {
		CompletableFuture<QuotesResult> quotes = CompletableFuture
			.supplyAsync(() -> first.post("/quotes?orders=150", QuotesResult.class));
		page.until("all permits are used, and calls wait", () -> {
			Row carrier = page.semaphore("carrier");
			return carrier.squares() == 3 && !carrier.queue().isEmpty();
		});
		assertThat(page.semaphore("carrier").note()).startsWith("3 of 3 permits used");
		page.type("[aria-label='Limit of carrier']", "12");
		page.click("[aria-label='Set the limit of carrier']");
		page.until("waiting calls got permits", () -> page.semaphore("carrier").squares() == 12);
		assertThat(page.semaphore("carrier").note()).isEqualTo("12 of 12 permits used · set by an operator");
		assertAnnounced("The limit of ‘carrier’ is 12 now, at all instances.");
		assertThat(quotes.join()).isNotNull();
		page.click("[aria-label=\"Clear the operator's limit of carrier\"]");
		assertAnnounced("The limit of ‘carrier’ is the configured limit again.");
		assertThat(first.send(HttpMethod.GET, "/quotes/limit", QuotesResult.Limit.class).setByOperator()).isFalse();
	}

	@Test
	@DisplayName("A forced release of a lock needs a confirmation, and the focus stays")
	void releasesByForce() {
		LockLease lease = acquire(second, "forced");
		acquire(second, "a neighbour");
		String release = "[aria-label='Release lock forced by force']";
		page.until("the lock is shown", () -> page.lock("forced").isHeld());
		page.click(release);
		assertThat(page.text("#confirm-title")).isEqualTo("Release lock ‘forced’?");
		page.press(Keys.ESCAPE);
		page.until("the confirmation is closed", () -> !page.isShown("#confirm"));
		assertThat(lease.isHeld()).isTrue();
		page.click(release);
		page.click("#confirm [value=yes]");
		assertAnnounced("Released lock ‘forced’ by force.");
		page.until("the lock is free", () -> page.lock("forced").here().equals("free"));
		long before = requests(0, Double.MAX_VALUE);
		page.until("the page has sent requests", () -> requests(0, Double.MAX_VALUE) > before + 12);
		assertThat(page.script("return document.activeElement.getAttribute('aria-label')"))
			.isEqualTo("Release lock forced by force");
		page.press(Keys.TAB);
		page.until("the row is gone", () -> page.lock("forced").equals(Row.NONE));
		first.context().getBean(LockService.class).admin().forceRelease("a neighbour");
	}

	@Test
	@DisplayName("The confirmation names the holder, and a lock with a new holder is not released")
	void releasesOnlyTheHolderThatWasSeen() {
		LockLease seen = acquire(second, "seen");
		page.until("the lock is shown", () -> page.lock("seen").isHeld());
		page.click("[aria-label='Release lock seen by force']");
		page.until("the confirmation has the holder", () -> page.text("#confirm-facts").contains("name of seen"));
		assertThat(page.text("#confirm-facts")).contains("For", String.valueOf(seen.fencingToken()));
		assertThat(page.text("#confirm-text")).startsWith("The next request gets it at once");
		assertThat(page.violations()).isEmpty();
		page.screenshot("console-question", false);
		seen.release();
		LockLease next = acquire(first, "seen");
		page.until("the confirmation has the change", () -> page.isShown("#confirm-changed")
				&& page.text("#confirm-changed").startsWith("The holder has changed since you saw it"));
		assertThat(page.script("return document.getElementById('confirm-yes').disabled")).isEqualTo(true);
		assertThat(page.violations()).isEmpty();
		page.screenshot("console-question-changed", false);
		page.press(Keys.ESCAPE);
		assertThat(next.isHeld()).isTrue();
		next.release();
	}

	@Test
	@DisplayName("The lock of another client is recognized, and the confirmation says that the client would not notice a release")
	void tellsWhatIsForeign() {
		LockLease own = acquire(second, "own");
		first.context()
			.getBean(StringRedisTemplate.class)
			.opsForValue()
			.set("lock:foreign", "a token", Duration.ofMinutes(1));
		page.until("both locks are shown", () -> page.lock("foreign").isHeld() && page.lock("own").isHeld());
		page.choose("#locks-tools [name=filter]", "foreign");
		page.until("the foreign lock is found", () -> page.lock("foreign").isHeld() && !page.lock("own").isHeld());
		assertThat(page.lock("foreign").note()).isEqualTo("exclusive");
		page.click("[aria-label='Release lock foreign by force']");
		assertThat(page.text("#confirm-facts")).contains("a foreign client").doesNotContain("Fencing token");
		assertThat(page.text("#confirm-text")).contains("goes on and never notices");
		page.click("#confirm-yes");
		assertAnnounced("Released lock ‘foreign’ by force.");
		own.release();
	}

	@Test
	@DisplayName("After an unanswered change, a message says that its result is unknown, until the message is closed")
	void tellsThatAnOutcomeIsNotKnown() {
		SemaphoreService semaphores = first.context().getBean(SemaphoreService.class);
		semaphores.acquireAsync(SemaphoreRequest.of("unanswered", 2)).join();
		page.until("the semaphore is shown", () -> page.semaphore("unanswered").isHeld());
		first.context()
			.getBean(StringRedisTemplate.class)
			.execute((RedisCallback<Object>) (connection) -> connection.execute("CLIENT", "PAUSE".getBytes(),
					"4000".getBytes(), "ALL".getBytes()));
		page.type("[aria-label='Limit of unanswered']", "9");
		page.click("[aria-label='Set the limit of unanswered']");
		page.until("the unknown result is announced", () -> page.text("#announcement")
			.startsWith("It is not known whether it was changed; look before you try again: "));
		page.until("the limit was changed",
				() -> page.semaphore("unanswered").note().equals("1 of 9 permits used · set by an operator"));
		assertThat(page.violations()).isEmpty();
		page.screenshot("console-unknown", false);
		page.click("#dismiss");
		assertThat(page.isShown("#announcement")).isFalse();
		assertThat(page.complaints()).allMatch((complaint) -> complaint.contains(" 503 "));
		semaphores.admin().clearLimit("unanswered");
		semaphores.admin().forceRelease("unanswered");
	}

	@Test
	@DisplayName("Without a known limit no change is offered; limit 0, which stops all calls, needs a confirmation")
	void asksBeforeAllIsStopped() {
		SemaphoreService semaphores = first.context().getBean(SemaphoreService.class);
		semaphores.acquireAsync(SemaphoreRequest.of("stopped", 3)).join();
		page.until("the semaphore is shown", () -> page.semaphore("stopped").isHeld());
		StringRedisTemplate redis = first.context().getBean(StringRedisTemplate.class);
		redis.keys("*stopped*")
			.stream()
			.filter((key) -> redis.type(key) == DataType.HASH)
			.forEach((key) -> redis.opsForHash().put(key, "asked", "0"));
		page.until("the limit is unknown", () -> page.semaphore("stopped").note().equals("no limit known"));
		String limit = "[aria-label='Limit of stopped']";
		assertThat(page.script("return document.querySelector(arguments[0]).value", limit)).isEqualTo("");
		page.type(limit, "0" + Keys.ENTER);
		assertThat(page.text("#confirm-title")).isEqualTo("Stop all requests for permits of ‘stopped’?");
		page.press(Keys.ESCAPE);
		page.until("the confirmation is closed", () -> !page.isShown("#confirm"));
		assertThat(semaphores.status("stopped").limitSet()).isFalse();
		page.type(limit, "0" + Keys.ENTER);
		page.click("#confirm-yes");
		assertAnnounced("The limit of ‘stopped’ is 0 now, at all instances: it stops all requests.");
		semaphores.admin().clearLimit("stopped");
		semaphores.admin().forceRelease("stopped");
	}

	@ParameterizedTest
	@ValueSource(strings = { "a//b", "/a", "a/", "a/../b", "./a", "a;b" })
	@DisplayName("Keys that no path could name can be seen in detail and released, too")
	void releasesKeysThatPathsCannotName(String key) {
		acquire(second, key);
		page.type("#locks-tools [name=search]", key);
		page.until("the lock is found", () -> page.lock(key).isHeld() && page.text("#locks-found").startsWith("1 of"));
		page.click("#locks .open");
		page.until("the detail is shown", () -> page.text("#detail-holders").contains("name of " + key));
		page.press(Keys.ESCAPE);
		page.click("[aria-label='Release lock " + key + " by force']");
		page.click("#confirm [value=yes]");
		assertAnnounced("Released lock ‘" + key + "’ by force.");
		page.until("the lock is free", () -> !page.lock(key).isHeld());
	}

	@Test
	@DisplayName("With read-only endpoints no action is shown")
	void showsNoActionsWhereThereAreNone() {
		LockLease lease = acquire(first, "read only");
		first.context().getBean(SemaphoreService.class).acquireAsync(SemaphoreRequest.of("read only", 2)).join();
		Instance reader = instances.start("--management.endpoint.locks.access=read-only",
				"--management.endpoint.semaphores.access=read-only");
		page.open(reader.port());
		page.until("the lock is shown", () -> page.lock("read only").isHeld() && page.semaphore("read only").isHeld());
		assertThat(page.text("#rights")).startsWith("Read only: ");
		assertThat(page.isShown("#locks .do button")).isFalse();
		assertThat(page.isShown("#semaphores .do button")).isFalse();
		page.open(first.port());
		page.until("the lock may be released here",
				() -> page.isShown("[aria-label='Release lock read only by force']"));
		reader.context().close();
		lease.release();
		first.context().getBean(SemaphoreService.class).admin().forceRelease("read only");
	}

}
