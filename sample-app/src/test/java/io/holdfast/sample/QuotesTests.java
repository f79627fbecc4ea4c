package io.holdfast.sample;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

import io.holdfast.LockLease;
import io.holdfast.LockService;
import io.holdfast.sample.Instances.Instance;
import io.holdfast.sample.QuotesResult.Limit;
import io.holdfast.sample.QuotesResult.Round;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import org.springframework.http.HttpMethod;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Calls of the carrier, from two instances.
 */
class QuotesTests extends TwoInstancesTestCase {

	private static final int CONFIGURED = 3;

	@BeforeAll
	static void start() {
		// Long enough that calls without a permit overlap, and that some rounds last
		// longer than the timeout of a Redis command.
		String[] properties = { "--shop.quote-time=100ms", "--shop.quote-limit=" + CONFIGURED,
				"--spring.data.redis.timeout=2s" };
		startTwo(properties);
	}

	@AfterEach
	void clearLimit() {
		limit(first, HttpMethod.DELETE, "");
	}

	@Test
	@DisplayName("S10: two instances make as many calls at a time as the limit allows, and more without the semaphore")
	void callsAsOftenAtATimeAsAllowed() {
		QuotesResult quotes = first.post("/quotes?orders=41", QuotesResult.class);
		assertThat(quotes.limit()).isEqualTo(CONFIGURED);
		assertThat(quotes.withoutSemaphore().highest()).isGreaterThan(CONFIGURED);
		Round limited = quotes.withSemaphore();
		assertThat(limited.highest()).isEqualTo(CONFIGURED);
		assertThat(limited.calls().succeeded()).isEqualTo(41);
		assertThat(limited.calls().failed()).isZero();
		assertThat(limited.calls().instances()).containsOnlyKeys(first.port(), second.port());
		assertThat(limited.calls().instances().values()).containsExactlyInAnyOrder(21, 20);
		assertThat(limited.calls().waits().count()).isEqualTo(41);
		// The last call waited while three calls at a time ran before it.
		assertThat(limited.calls().waits().maxMillis()).isBetween(1000L, limited.calls().millis());
		assertThat(limit(first, HttpMethod.GET, "")).isEqualTo(new Limit(CONFIGURED, false, 0, CONFIGURED, 0));
	}

	@ParameterizedTest
	@ValueSource(ints = { 1, 5 })
	@DisplayName("S10: an operator's limit applies to all instances until it is cleared")
	void followsTheOperator(int limit) {
		Limit set = new Limit(limit, true, 0, limit, 0);
		assertThat(limit(second, HttpMethod.PUT, "?limit=" + limit)).isEqualTo(set);
		assertThat(limit(first, HttpMethod.GET, "")).isEqualTo(set);
		QuotesResult quotes = first.post("/quotes?orders=25", QuotesResult.class);
		assertThat(quotes.limit()).isEqualTo(limit);
		assertThat(quotes.withSemaphore().highest()).isEqualTo(limit);
		Limit cleared = new Limit(CONFIGURED, false, 0, CONFIGURED, 0);
		assertThat(limit(first, HttpMethod.DELETE, "")).isEqualTo(cleared);
		assertThat(limit(second, HttpMethod.GET, "")).isEqualTo(cleared);
	}

	@Test
	@DisplayName("S10: raising the limit lets waiting calls run")
	void letsWaitingCallsGo() throws Exception {
		CompletableFuture<QuotesResult> round = CompletableFuture
			.supplyAsync(() -> first.post("/quotes?orders=200", QuotesResult.class));
		await().atMost(Duration.ofSeconds(20)).until(() -> {
			Limit now = limit(second, HttpMethod.GET, "");
			assertThat(now.used()).isLessThanOrEqualTo(CONFIGURED);
			return now.used() == CONFIGURED && now.free() == 0 && now.waiting() > 0;
		});
		limit(second, HttpMethod.PUT, "?limit=20");
		QuotesResult quotes = round.get(60, TimeUnit.SECONDS);
		assertThat(quotes.limit()).isEqualTo(CONFIGURED);
		assertThat(quotes.withSemaphore().highest()).isBetween(CONFIGURED + 1, 20);
		assertThat(quotes.withSemaphore().calls().succeeded()).isEqualTo(200);
	}

	@Test
	@DisplayName("S10: with a limit of 0 no call is made, and each caller gets the reason")
	void makesNoCallWithoutPermits() {
		limit(first, HttpMethod.PUT, "?limit=0");
		Round limited = second.post("/quotes?orders=4", QuotesResult.class).withSemaphore();
		assertThat(limited.highest()).isZero();
		assertThat(limited.calls().succeeded()).isZero();
		assertThat(limited.calls().failed()).isEqualTo(4);
	}

	@Test
	@DisplayName("A single round of quotes runs at a time, at any instance")
	void refusesToAskTwice() {
		try (LockLease quotes = second.context().getBean(LockService.class).acquire("quotes")) {
			first.expectProblem(HttpMethod.POST, "/quotes?orders=2", 409, "Quotes are being asked for already");
			quotes.ensureHeld();
		}
	}

	private static Limit limit(Instance instance, HttpMethod method, String query) {
		return instance.send(method, "/quotes/limit" + query, Limit.class);
	}

}
