package io.holdfast.redis;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;

import io.holdfast.redis.driver.TestReplies;
import io.holdfast.redis.key.RedisStoreOptions;
import io.holdfast.redis.key.TestOptions;
import io.holdfast.redis.script.StoreScripts;
import io.holdfast.testing.TestRedis;
import io.holdfast.testing.WithRedis;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

import org.springframework.data.redis.core.StringRedisTemplate;
import org.springframework.data.redis.core.script.RedisScript;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Leases are extended by different commands on Redis 7 and newer and on Redis 6, which a
 * Redis without a version stands for.
 */
@WithRedis
class RenewScriptTests {

	private static final String VERSION = "redis.REDIS_VERSION_NUM";

	private static final String TOKEN = "00000000000000000000000000000001:1";

	private final StringRedisTemplate redis;

	private final String key;

	RenewScriptTests(TestRedis server) {
		this.redis = server.template();
		this.key = server.keyPrefix() + "k";
	}

	@BeforeEach
	void hold() {
		this.redis.opsForValue().set(this.key, TOKEN, Duration.ofSeconds(60));
	}

	private static String text(@Nullable Duration longestLease) {
		RedisStoreOptions defaults = TestOptions.defaults();
		RedisStoreOptions options = new RedisStoreOptions(defaults.lockPrefix(), defaults.semaphorePrefix(),
				defaults.channelPrefix(), null, defaults.fenceRetention(), defaults.handoffTimeout(), false,
				defaults.fleetKey(), longestLease, null);
		return new String(StoreScripts.of(options, false, null).renew().text(), StandardCharsets.UTF_8);
	}

	private boolean renew(boolean tellsVersion, String token, String lease) {
		String text = text(null);
		assertThat(text).contains(VERSION);
		RedisScript<?> script = RedisScript.of(tellsVersion ? text : text.replace(VERSION, "nil"), List.class);
		return kept((List<?>) this.redis.execute(script, List.of(this.key), token, lease), 1).get(0);
	}

	private static List<Boolean> kept(List<?> reply, int count) {
		return RedisLeaseStore.renewed(TestReplies.of(reply), count);
	}

	private Long millis() {
		return this.redis.getExpire(this.key, TimeUnit.MILLISECONDS);
	}

	@ParameterizedTest(name = "{0} (Redis 7: {1})")
	@CsvSource({ "a lease that ends earlier is lengthened, true, '', 120000, false, true, 100000, 120000",
			"a lease that ends earlier is lengthened, false, '', 120000, false, true, 100000, 120000",
			"a longer lease is not shortened, true, '', 10, false, true, 40000, 60000",
			"a longer lease is not shortened, false, '', 10, false, true, 40000, 60000",
			"a negative time sets the end, true, '', -20000, false, true, 1, 20000",
			"a negative time sets the end, false, '', -20000, false, true, 1, 20000",
			"a key without an expiry gets an expiry again, true, '', 30000, true, true, 1, 30000",
			"a key without an expiry gets an expiry again, false, '', 30000, true, true, 1, 30000",
			"the lease of another token stays unchanged, true, 0, 120000, false, false, 1, 60000",
			"the lease of another token stays unchanged, false, 0, 120000, false, false, 1, 60000" })
	void renews(String rule, boolean tellsVersion, String suffix, String lease, boolean isPersistent, boolean isKept,
			long least, long most) {
		if (isPersistent) {
			this.redis.persist(this.key);
		}
		assertThat(renew(tellsVersion, TOKEN + suffix, lease)).isEqualTo(isKept);
		assertThat(millis()).isBetween(least, most);
	}

	@ParameterizedTest
	@ValueSource(strings = { "'MGET'", "'NOT MGET'" })
	@DisplayName("Each of many renewals has its own answer, also where one command cannot read all owners")
	void tellsApart(String command) {
		String gone = this.key + ":gone";
		String list = this.key + ":list";
		String others = this.key + ":others";
		this.redis.opsForList().leftPush(list, TOKEN);
		this.redis.opsForValue().set(others, TOKEN + "0", Duration.ofSeconds(60));
		String text = text(null);
		assertThat(text).contains("'MGET'");
		List<?> kept = (List<?>) this.redis.execute(RedisScript.of(text.replace("'MGET'", command), List.class),
				List.of(gone, list, this.key, others), TOKEN, TOKEN, TOKEN, TOKEN, "120000");
		assertThat(kept(kept, 4)).containsExactly(false, false, true, false);
		assertThat(millis()).isBetween(100_000L, 120_000L);
		assertThat(this.redis.getExpire(others, TimeUnit.MILLISECONDS)).isBetween(1L, 60_000L);
		assertThat(this.redis.hasKey(gone)).isFalse();
	}

	@Test
	@DisplayName("Each lease is renewed for its own time")
	void eachForItsOwnTime() {
		String longer = this.key + ":longer";
		String exact = this.key + ":exact";
		this.redis.opsForValue().set(longer, TOKEN, Duration.ofSeconds(60));
		this.redis.opsForValue().set(exact, TOKEN, Duration.ofSeconds(60));
		RedisScript<?> script = RedisScript.of(text(null), List.class);
		List<?> kept = (List<?>) this.redis.execute(script, List.of(this.key, longer, exact), TOKEN, TOKEN, TOKEN,
				"120000", "240000", "-20000");
		assertThat(kept(kept, 3)).containsExactly(true, true, true);
		assertThat(millis()).isBetween(100_000L, 120_000L);
		assertThat(this.redis.getExpire(longer, TimeUnit.MILLISECONDS)).isBetween(200_000L, 240_000L);
		assertThat(this.redis.getExpire(exact, TimeUnit.MILLISECONDS)).isBetween(1L, 20_000L);
	}

	@Test
	@DisplayName("During a fail-over grace a missing key is restored, and a key of another type stays unchanged")
	void restoresOnlyWhatIsGone() {
		String list = this.key + ":list";
		this.redis.opsForList().leftPush(list, TOKEN);
		this.redis.delete(this.key);
		RedisScript<?> script = RedisScript.of(text(Duration.ofSeconds(60)), List.class);
		List<?> kept = (List<?>) this.redis.execute(script, List.of(list, this.key, this.key + ":server"), TOKEN, TOKEN,
				"120000");
		assertThat(kept(kept, 2)).containsExactly(false, true);
		assertThat(this.redis.opsForList().size(list)).isEqualTo(1);
		assertThat(this.redis.opsForValue().get(this.key)).isEqualTo(TOKEN);
	}

	@ParameterizedTest
	@ValueSource(ints = { 0, 60_000 })
	@DisplayName("A key that version 1 kept for a reader is not taken over, not even during a fail-over grace")
	void leavesReservations(int graceMillis) {
		String reserved = TOKEN.replace("1:1", "2:7") + ":r";
		this.redis.opsForValue().set(this.key, reserved, Duration.ofSeconds(60));
		RedisScript<?> script = RedisScript.of(text((graceMillis > 0) ? Duration.ofMillis(graceMillis) : null),
				List.class);
		List<String> keys = (graceMillis > 0) ? List.of(this.key, this.key + ":server") : List.of(this.key);
		List<?> kept = (List<?>) this.redis.execute(script, keys, TOKEN, "120000");
		assertThat(kept(kept, 1)).containsExactly(false);
		assertThat(this.redis.opsForValue().get(this.key)).isEqualTo(reserved);
	}

}
