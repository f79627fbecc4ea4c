package io.holdfast.sample;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Stream;

import io.holdfast.LockLease;
import io.holdfast.LockMode;
import io.holdfast.LockRequest;
import io.holdfast.LockService;
import io.holdfast.PermitLease;
import io.holdfast.SemaphoreRequest;
import io.holdfast.SemaphoreService;
import io.holdfast.sample.Instances.Instance;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

import org.springframework.http.HttpMethod;
import org.springframework.http.MediaType;
import org.springframework.test.web.servlet.client.RestTestClient;
import org.springframework.test.web.servlet.client.StatusAssertions;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Endpoints of locks and semaphores, over HTTP.
 */
class EndpointsTests {

	private static final String RELEASED = "{\"released\":true}";

	private static final String NOT_RELEASED = "{\"released\":false}";

	private static Instances instances;

	private static Instance own;

	/** Without the sample's settings for the access to endpoints. */
	private static Instance other;

	@BeforeAll
	static void start() {
		instances = new Instances();
		own = instances.start();
		other = instances.start("--management.endpoint.locks.access=", "--management.endpoint.semaphores.access=");
	}

	@AfterAll
	static void stop() {
		instances.close();
	}

	private static LockService locks(Instance instance) {
		return instance.context().getBean(LockService.class);
	}

	private static SemaphoreService semaphores(Instance instance) {
		return instance.context().getBean(SemaphoreService.class);
	}

	private static RestTestClient.BodyContentSpec get(Instance instance, String uri, Object... variables) {
		return instance.http().get().uri("/actuator" + uri, variables).exchange().expectStatus().isOk().expectBody();
	}

	@Test
	@DisplayName("The endpoint reads locks: held and waited for here, held by other instances, and with slashes in a key")
	void readsLocks() {
		try (LockLease held = locks(own).acquire(LockRequest.of("a/b c").name("letters").mode(LockMode.EXCLUSIVE));
				LockLease otherLock = locks(other).acquire("other")) {
			CompletableFuture<LockLease> waiting = locks(own)
				.acquireAsync(LockRequest.of("other").waitTime(Duration.ofMinutes(1)));
			RestTestClient.BodyContentSpec all = get(own, "/locks");
			all.jsonPath("$.held[?(@.key=='a/b c')].mode").isEqualTo("EXCLUSIVE");
			all.jsonPath("$.held[?(@.key=='a/b c')].name").isEqualTo("letters");
			all.jsonPath("$.held[?(@.key=='a/b c')].fencingToken").isEqualTo(held.fencingToken());
			all.jsonPath("$.held[0].since")
				.value(String.class, (since) -> assertThat(since).matches("\\d{4}-\\d\\d-\\d\\dT[0-9:.]+Z"));
			all.jsonPath("$.waiting[?(@.key=='other')].mode").isEqualTo("EXCLUSIVE");
			all.jsonPath("$.fleet.locks[?(@.key=='other')].fencingToken").isEqualTo(otherLock.fencingToken());
			all.jsonPath("$.fleet.cursor").doesNotExist();
			all.jsonPath("$.fleet.problem").doesNotExist();
			RestTestClient.BodyContentSpec one = get(other, "/locks/a/{rest}", "b c");
			one.jsonPath("$.holders[0].mode").isEqualTo("EXCLUSIVE");
			one.jsonPath("$.holders[0].foreign").isEqualTo(false);
			one.jsonPath("$.holders[0].ttlMillis").value(Integer.class, (ttl) -> assertThat(ttl).isBetween(1, 30_000));
			for (String uri : List.of("/locks", "/locks/other", "/semaphores")) {
				get(own, uri).consumeWith((answer) -> assertThat(
						new String(Objects.requireNonNull(answer.getResponseBody()), StandardCharsets.UTF_8))
					.as("unknown members")
					.doesNotContain(":null"));
			}
			waiting.cancel(true);
		}
		own.http().get().uri("/actuator/locks/a/{rest}", "b c").exchange().expectStatus().isNotFound();
	}

	@ParameterizedTest
	@ValueSource(strings = { "a/b", "a//b", "/a", "t/", "s;p", "..", "a\\b", "100%", "a+b", "a&b=c", "ä %2F" })
	@DisplayName("Only the lock of the given key is released by force")
	void releasesLocks(String key) {
		List<LockLease> others = Stream.of("t", "s", "a", "b").map((another) -> acquire(other, another)).toList();
		acquire(own, key);
		assertThat(release(own, "locks", key)).isEqualTo(RELEASED);
		assertThat(release(own, "locks", key)).isEqualTo(NOT_RELEASED);
		assertThat(others).allMatch((lease) -> locks(own).status(lease.key()).isLocked());
		others.forEach(LockLease::release);
	}

	/**
	 * Acquire without a thread's context, so that no thread counts as the holder after
	 * the forced release.
	 */
	private static LockLease acquire(Instance instance, String key) {
		return locks(instance).acquireAsync(LockRequest.of(key)).join();
	}

	private static String release(Instance instance, String endpoint, String key) {
		return instance.http()
			.delete()
			.uri("/actuator/" + endpoint + "?key={key}", key)
			.exchange()
			.expectStatus()
			.isOk()
			.expectBody(String.class)
			.returnResult()
			.getResponseBody();
	}

	@Test
	@DisplayName("The instances of the fleet are listed, and no answer contains a token or the id of an instance")
	void tellsOfInstances() {
		locks(own).acquire(LockRequest.of("listed"));
		locks(own).acquire(LockRequest.of("read").mode(LockMode.READ));
		CompletableFuture<LockLease> waiting = locks(other)
			.acquireAsync(LockRequest.of("listed").waitTime(Duration.ofMinutes(1)));
		semaphores(own).acquire(SemaphoreRequest.of("listed", 1));
		CompletableFuture<PermitLease> second = semaphores(other)
			.acquireAsync(SemaphoreRequest.of("listed", 1).waitTime(Duration.ofMinutes(1)));
		await().untilAsserted(() -> get(own, "/locks").jsonPath("$.fleet.instances.length()")
			.isEqualTo(2)
			.jsonPath("$.fleet.instances[0].application")
			.isEqualTo("holdfast-sample")
			.jsonPath("$.fleet.silent.length()")
			.isEqualTo(0));
		get(other, "/locks/listed").jsonPath("$.holders[0].thread")
			.isEqualTo(Thread.currentThread().getName())
			.jsonPath("$.queue.length()")
			.isEqualTo(1);
		for (String path : List.of("/locks", "/locks/listed", "/locks/read", "/semaphores", "/semaphores/listed")) {
			String answer = own.send(HttpMethod.GET, "/actuator" + path, String.class);
			assertThat(answer).contains("\"ttlMillis\"").doesNotContainPattern("[0-9a-f]{32}");
		}
		waiting.cancel(true);
		second.cancel(true);
		assertThat(locks(own).admin().forceRelease("listed")).isTrue();
		assertThat(locks(own).admin().forceRelease("read")).isTrue();
		assertThat(semaphores(own).admin().forceRelease("listed")).isTrue();
	}

	@Test
	@DisplayName("A path, a missing key, or a missing permission changes nothing")
	void refusesChanges() {
		try (LockLease lock = locks(own).acquire("c/d");
				PermitLease permit = semaphores(own).acquire(SemaphoreRequest.of("c/d", 5))) {
			for (String endpoint : List.of("locks", "semaphores")) {
				own.http().delete().uri("/actuator/" + endpoint + "/c/d").exchange().expectStatus().isEqualTo(405);
				own.http().delete().uri("/actuator/" + endpoint).exchange().expectStatus().isBadRequest();
				own.http().delete().uri("/actuator/" + endpoint + "?key=").exchange().expectStatus().isBadRequest();
				other.http()
					.delete()
					.uri("/actuator/" + endpoint + "?key=c/d")
					.exchange()
					.expectStatus()
					.isEqualTo(405);
			}
			assertThat(lock.isHeld()).isTrue();
			assertThat(permit.isHeld()).isTrue();
		}
	}

	@Test
	@DisplayName("A lock that was granted again since the given fencing token is not released, and the answer says so")
	void leavesTheNextOneAlone() {
		LockLease first = acquire(other, "again");
		first.release();
		try (LockLease next = acquire(other, "again")) {
			String uri = "/actuator/locks?key=again&fencingToken=";
			RestTestClient.ResponseSpec refused = own.http().delete().uri(uri + first.fencingToken()).exchange();
			refused.expectStatus()
				.isEqualTo(409)
				.expectBody(String.class)
				.value((body) -> assertThat(body).contains("\"released\":false",
						"Lock 'again' was not released: its fencing token is not " + first.fencingToken()
								+ " any more, but " + next.fencingToken() + ", so it was granted again since then\""));
			assertThat(locks(own).status("again").isLocked()).isTrue();
			for (String answer : List.of(RELEASED, NOT_RELEASED)) {
				assertThat(own.send(HttpMethod.DELETE, uri + next.fencingToken(), String.class)).isEqualTo(answer);
			}
		}
	}

	@Test
	@DisplayName("Several keys in a request count as one key with commas, as documented: none of them is released")
	void takesSeveralKeysForOne() {
		List<LockLease> each = Stream.of("x", "y").map((key) -> acquire(own, key)).toList();
		acquire(own, "x,y");
		assertThat(own.send(HttpMethod.DELETE, "/actuator/locks?key=x&key=y", String.class)).isEqualTo(RELEASED);
		assertThat(locks(own).status("x,y").isLocked()).isFalse();
		assertThat(each).allMatch((lease) -> locks(own).status(lease.key()).isLocked());
		each.forEach(LockLease::release);
	}

	@Test
	@DisplayName("Semaphores are read, their limits set and cleared, their permits released, where allowed")
	void readsAndChangesSemaphores() {
		PermitLease held = semaphores(other).acquire(SemaphoreRequest.of("call/out", 5).permits(2));
		RestTestClient.BodyContentSpec semaphores = get(own, "/semaphores");
		semaphores.jsonPath("$.fleet.semaphores[0].key").isEqualTo("call/out");
		semaphores.jsonPath("$.fleet.semaphores[0].used").isEqualTo(2);
		semaphores.jsonPath("$.fleet.semaphores[0].limitSet").isEqualTo(false);
		for (String body : List.of("\"limit\":7", "\"limit\":null,\"clear\":true", "\"limit\":8", "\"clear\":true")) {
			post(other, body).isEqualTo(405);
			post(own, body).isNoContent();
			RestTestClient.BodyContentSpec semaphore = get(other, "/semaphores/call/out");
			semaphore.jsonPath("$.limit").isEqualTo(body.contains("7") ? 7 : body.contains("8") ? 8 : 5);
			semaphore.jsonPath("$.limitSet").isEqualTo(body.matches(".*\\d.*"));
		}
		assertThat(release(own, "semaphores", "call/out")).isEqualTo(RELEASED);
		own.http().get().uri("/actuator/semaphores/call/out").exchange().expectStatus().isNotFound();
		held.release();
	}

	private static StatusAssertions post(Instance instance, String body) {
		return instance.http()
			.post()
			.uri("/actuator/semaphores")
			.contentType(MediaType.APPLICATION_JSON)
			.body("{\"key\":\"call/out\"," + body + "}")
			.exchange()
			.expectStatus();
	}

	@ParameterizedTest
	@CsvSource(quoteCharacter = '`', delimiter = '|',
			textBlock = """
					/locks?limit=0         | The limit of a page is 0, which is not from 1 to 1000
					/locks?limit=1001      | The limit of a page is 1001, which is not from 1 to 1000
					/locks?limit=0&limit=5 | The limit of a page is 0, which is not from 1 to 1000
					/locks?limit=many      | The parameter 'limit' is 'many', which is not a whole number in the range of Integer
					/locks?state=held      | The parameter 'state' is 'held', which is not one of contended, not-renewed, foreign
					/locks?sort=<size>     | The parameter 'sort' is '<size>', which is not one of key, waiters, age
					/locks?heldFor=soon    | The parameter 'heldFor' is 'soon', which is not a time such as 30s or 5m
					/locks?heldFor=-1s     | 'heldFor' is PT-1S, which is not from
					/locks?heldFor=36501d  | 'heldFor' is PT876024H, which is not from
					/locks?heldFor=2562047788015215h | 'heldFor' is PT2562047788015215H, which is not from
					/semaphores?page=1.5   | The parameter 'page' is '1.5', which is not a whole number in the range of Integer
					/locks?cursor=nowhere  | The cursor does not come from a page of this list
					/locks?cursor=0-0&cursor=0-0 | The cursor does not come from a page of this list
					/locks/ /              | A lock's key must not be blank
					/semaphores/ /         | A semaphore's key must not be blank
					/semaphores?limit=0    | The limit of a page is 0, which is not from 1 to 1000
					/semaphores?cursor=<b> | The cursor does not come from a page of this list
					""")
	@DisplayName("Invalid parameters are refused with a message")
	void refuses(String uri, String message) {
		own.expectProblem(HttpMethod.GET, "/actuator" + uri, 400, message);
	}

}
