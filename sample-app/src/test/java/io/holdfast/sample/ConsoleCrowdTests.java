package io.holdfast.sample;

import java.time.Duration;
import java.util.List;

import io.holdfast.LockLease;
import io.holdfast.LockRequest;
import io.holdfast.LockService;
import io.holdfast.jdbc.FenceCleanUp;
import io.holdfast.sample.Instances.Instance;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.openqa.selenium.Keys;

import org.springframework.data.redis.core.StringRedisTemplate;
import org.springframework.data.redis.core.script.RedisScript;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Console in a browser, with many locks. Run with {@code -Pbrowser}.
 */
@Tag("browser")
class ConsoleCrowdTests extends BrowserTestCase {

	/**
	 * Locks of a dead instance; each hundredth has waiters, in growing number.
	 */
	private static final RedisScript<Long> POPULATE = RedisScript.of(
			"""
					local time = redis.call('TIME')
					for i = tonumber(ARGV[1]), tonumber(ARGV[2]) do
						local key = string.format('lock:%s:%06d', i <= 610 and 'order' or 'stock', i)
						redis.call('SET', key, '0123456789abcdef0123456789abcdef:' .. i, 'PX', 600000)
						redis.call('SET', '{' .. key .. '}:fence', string.format('%d', (time[1] - i) * 1000000))
						for j = 1, i % 100 == 0 and i <= 5000 and i / 100 or 0 do
							redis.call('ZADD', '{' .. key .. '}:queue', j, 'fedcba9876543210fedcba9876543210:' .. i * 100 + j .. ':30000')
						end
					end
					return 1""",
			Long.class);

	private static Instance instance;

	@BeforeAll
	static void start() {
		// Without the jobs, whose locks would sometimes be counted.
		instance = instances.start("--shop.report-cron=-");
		instance.context().getBean(FenceCleanUp.class).stop();
	}

	private static void populate(int from, int to) {
		StringRedisTemplate redis = instance.context().getBean(StringRedisTemplate.class);
		for (int i = from; i <= to; i += 5_000) {
			redis.execute(POPULATE, List.of(), String.valueOf(i), String.valueOf(Math.min(to, i + 4_999)));
		}
	}

	private static String firstKey() {
		return String.valueOf(page.script("return document.querySelector('#locks .key')?.textContent"));
	}

	private static void found(String text) {
		page.until("found: " + text, () -> page.text("#locks-found").startsWith(text));
	}

	@Test
	@DisplayName("Among 5,000 and 100,000 locks, searches and filters find the right locks, sorted and paged")
	void findsAmongMany() {
		populate(1, 5_000);
		page.open(instance.port());
		found("5,000 locks");
		assertThat(page.text("#count-locks-waiters")).isEqualTo("1,275");
		page.type("#locks-tools [name=search]", "ORDER");
		found("610 of 5,000 locks");
		assertThat(page.text("#locks-pages .page")).isEqualTo("Page 1 of 13");
		page.click("#locks-pages .next");
		page.until("the next page is shown", () -> firstKey().equals("order:000051"));
		page.choose("#locks-tools [name=sort]", "age");
		page.until("the oldest lock is first, on the first page", () -> firstKey().equals("order:000610"));
		assertThat(page.lock("order:000610").here()).isEqualTo("for 10 min");
		page.type("#locks-tools [name=search]", " ");
		found("5,000 locks");
		page.choose("#locks-tools [name=sort]", "waiters");
		page.until("the longest queue is first", () -> firstKey().equals("stock:005000"));
		page.choose("#locks-tools [name=filter]", "contended");
		found("50 of 5,000 locks");
		page.screenshot("console-5000", false);
		assertThat(page.violations()).isEmpty();
		page.choose("#locks-tools [name=filter]", "1h");
		found("1,4");
		populate(5_001, 100_000);
		page.choose("#locks-tools [name=filter]", "");
		page.type("#locks-tools [name=search]", "09999");
		// Nine times as long as the previous count, on a busy machine some seconds.
		page.until("all locks are counted again", Duration.ofMinutes(2),
				() -> page.text("#locks-found").startsWith("11 of 100,000 locks"));
		page.until("the age of the numbers is shown",
				() -> page.text("#age-locks").matches("counted (\\d+|\\d\\.\\d) s ago"));
		page.screenshot("console-100000", false);
		LockLease late = instance.context().getBean(LockService.class).acquireAsync(LockRequest.of("late")).join();
		page.type("#locks-tools [name=search]", "late" + Keys.ENTER);
		page.until("a lock from after the count is open", () -> page.text("#detail-facts").contains("Granted"));
		page.press(Keys.ESCAPE);
		late.close();
		page.resize(Browser.PHONE, true);
		assertThat(page.fitsTheWidth()).isTrue();
		page.screenshot("console-100000-phone", false);
	}

}
