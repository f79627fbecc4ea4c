package io.holdfast.redis;

import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;

import io.holdfast.engine.store.LeaseStore.AcquireCommand;
import io.holdfast.engine.store.LeaseStore.AcquireReply.Granted;
import io.holdfast.engine.store.LeaseStore.Renewal;
import io.holdfast.engine.store.LeaseStore.Standing;
import io.holdfast.engine.store.LeaseStore;
import io.holdfast.engine.store.Resource.Kind;
import io.holdfast.engine.store.Resource;
import io.holdfast.engine.store.StoreCommandException;
import io.holdfast.redis.key.PermitKeys;
import io.holdfast.testing.TestRedis;
import io.holdfast.testing.WithRedis;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import org.springframework.data.redis.core.StringRedisTemplate;
import org.springframework.data.redis.core.ZSetOperations.TypedTuple;
import org.springframework.data.redis.core.script.DefaultRedisScript;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/**
 * The contract of permits in Redis over Lettuce, the keys of permits and their lives, and
 * changes of the keys by other programs.
 */
@WithRedis
@Execution(ExecutionMode.CONCURRENT)
class RedisPermitStoreTests extends RedisPermitContract {

	final StringRedisTemplate redis;

	final String prefix;

	RedisPermitStoreTests(TestRedis redis) {
		super(new TestStores(redis.keyPrefix(), redis.template(), redis::connectionFactory));
		this.redis = redis.template();
		this.prefix = redis.keyPrefix();
	}

	PermitKeys keys(Resource resource) {
		return PermitKeys.of(this.prefix + "semaphore:" + resource.key(), false);
	}

	Set<String> allKeys() {
		return this.redis.keys("*" + this.prefix + "*");
	}

	Map<String, String> stateOf(Resource resource) {
		return this.redis.<String, String>opsForHash().entries(keys(resource).state());
	}

	/**
	 * Return the remaining lives of a resource's keys, all counted from one moment: the
	 * clock may advance while a script reads the keys.
	 */
	@SuppressWarnings("unchecked")
	private List<Long> ttls(Resource resource) {
		PermitKeys keys = keys(resource);
		String script = """
				local function now()
				  local time = redis.call('TIME')
				  return time[1] * 1000 + math.floor(time[2] / 1000)
				end
				local ttls, begun
				repeat
				  ttls, begun = {}, now()
				  for i, key in ipairs(KEYS) do
				    ttls[i] = redis.call('PTTL', key)
				  end
				until now() == begun
				return ttls
				""";
		return this.redis.execute(new DefaultRedisScript<>(script, List.class),
				List.of(keys.holders(), keys.queue(), keys.state()));
	}

	void assertAllLiveFor(Resource resource, long atLeast, long atMost) {
		List<Long> ttls = ttls(resource).stream().filter((ttl) -> ttl != -2).distinct().toList();
		assertThat(ttls).singleElement().satisfies((ttl) -> assertThat(ttl).isBetween(atLeast, atMost));
	}

	@Test
	@DisplayName("A semaphore has the keys of its holders, queue and state")
	void keysOfSemaphore() {
		granted(this.a.acquire(SEMAPHORE, command(this.a, "1", 1)));
		Granted last = granted(this.a.acquire(SEMAPHORE, command(this.a, "2", 3)));
		busy(acquire(this.b, "1", 2));
		long now = System.currentTimeMillis();
		PermitKeys keys = keys(SEMAPHORE);
		assertThat(allKeys()).containsExactlyInAnyOrder(keys.holders(), keys.queue(), keys.state());
		assertThat(this.redis.opsForZSet().rangeWithScores(keys.holders(), 0, -1)).extracting(TypedTuple::getValue)
			.containsExactly(this.a.token("1") + ":1", this.a.token("2") + ":3");
		assertThat(this.redis.opsForZSet().score(keys.holders(), this.a.token("1") + ":1"))
			.isBetween((double) now + LEASE - 5000, (double) now + LEASE + 1000);
		assertThat(this.redis.opsForZSet().range(keys.queue(), 0, -1))
			.containsExactly(this.b.token("1") + ":2:5000:5:s");
		Map<String, String> state = stateOf(SEMAPHORE);
		assertThat(state).containsOnlyKeys("used", "until", "asked", "fence", this.a.token("2"), this.b.token("1"))
			.containsEntry("used", "4")
			.containsEntry("asked", "5")
			.containsEntry("fence", "" + last.fence())
			.containsEntry(this.a.token("2"), "3");
		assertThat(state.get(this.b.token("1"))).matches("\\d{16}:2:5000:5:s");
		assertThat(Long.parseLong(state.get("until"))).isBetween(now + LEASE - 5000, now + LEASE + 1000);
		release(this.a, "2", 3);
		assertThat(stateOf(SEMAPHORE)).containsOnlyKeys("used", "until", "asked", "fence", this.b.token("1"))
			.containsEntry(this.b.token("1"), "2");
	}

	@Test
	@DisplayName("All keys live equally long: until the last known lease or wait ends")
	void keysLiveEquallyLong() {
		granted(this.a.acquire(SEMAPHORE, command(this.a, "1", 1, Resource.ALL)));
		assertAllLiveFor(SEMAPHORE, LEASE - 5000, LEASE);
		// Ends earlier, but not before a busy machine runs the next line.
		granted(this.b.acquire(SEMAPHORE,
				new AcquireCommand(this.b.token("1"), 1, Resource.ALL, true, LEASE / 2, CLAIM)));
		busy(this.c.acquire(SEMAPHORE, all(this.c, "1")));
		assertAllLiveFor(SEMAPHORE, LEASE - 5000, LEASE);
		assertThat(ttls(SEMAPHORE)).doesNotContain(-2L);
		assertThat(renew(this.a, SEMAPHORE, "1", 1, 3 * LEASE)).isTrue();
		assertAllLiveFor(SEMAPHORE, 3 * LEASE - 5000, 3 * LEASE);
		granted(this.b.acquire(SEMAPHORE,
				new AcquireCommand(this.b.token("1"), 1, Resource.ALL, true, 4 * LEASE, CLAIM)));
		assertAllLiveFor(SEMAPHORE, 4 * LEASE - 5000, 4 * LEASE);
		assertThat(renew(this.a, SEMAPHORE, "1", 1, 5 * LEASE)).isTrue();
		busy(this.c.acquire(SEMAPHORE, all(this.c, "1")));
		assertAllLiveFor(SEMAPHORE, 5 * LEASE - 5000, 5 * LEASE);
	}

	@Test
	@DisplayName("A wait keeps its keys for twice its claim, and a hand-off for its claim")
	void waitsAndHandOffsKeepKeys() {
		granted(this.a.acquire(SEMAPHORE, brief(all(this.a, "1"))));
		// The keys may have expired by now.
		assertThat(ttls(SEMAPHORE)).allSatisfy((ttl) -> assertThat(ttl).isLessThanOrEqualTo(SHORT));
		busy(this.b.acquire(SEMAPHORE, brief(all(this.b, "1"))));
		assertAllLiveFor(SEMAPHORE, 1000, 2 * HANDOFF.toMillis());
		busy(this.c.acquire(SEMAPHORE, all(this.c, "1")));
		assertAllLiveFor(SEMAPHORE, CLAIM, 2 * CLAIM);
		elapse(MORE_THAN_SHORT);
		assertAllLiveFor(SEMAPHORE, CLAIM, 2 * CLAIM - SHORT);
		long before = ttls(SEMAPHORE).get(1);
		// The second request of the waiter.
		busy(this.c.acquire(SEMAPHORE, all(this.c, "1")));
		assertAllLiveFor(SEMAPHORE, before + 1, 2 * CLAIM);
		this.b.release(SEMAPHORE, all(this.b, "1"));
		assertThat(this.c.awaitWakeUp().ttlMillis()).isEqualTo(CLAIM);
		this.c.wakeUps.clear();
	}

	@Test
	@DisplayName("A hand-off beyond all known ends keeps the keys until its own end")
	void handOffKeepsKeys() {
		AcquireCommand patient = new AcquireCommand(this.b.token("1"), LIMIT, LIMIT, true, LEASE, LEASE);
		granted(this.a.acquire(SEMAPHORE, brief(command(this.a, "1", LIMIT))));
		busy(this.b.acquire(SEMAPHORE, patient));
		PermitKeys keys = keys(SEMAPHORE);
		// As if its last request was long ago.
		this.redis.opsForHash().put(keys.state(), "until", "" + (System.currentTimeMillis() + 2000));
		List.of(keys.holders(), keys.queue(), keys.state())
			.forEach((key) -> this.redis.expire(key, Duration.ofSeconds(2)));
		release(this.a, "1", LIMIT);
		assertAllLiveFor(SEMAPHORE, LEASE - 5000, LEASE);
	}

	@Test
	@DisplayName("A key that is empty for a moment within a command lives as long as the other keys")
	void keysThatWereEmptyKeepTheirEnd() {
		granted(this.a.acquire(SEMAPHORE, all(this.a, "1")));
		busy(this.b.acquire(SEMAPHORE, all(this.b, "1")));
		busy(this.b.release(SEMAPHORE, all(this.b, "1"), all(this.b, "2")).next());
		assertAllLiveFor(SEMAPHORE, LEASE - 5000, LEASE);
		LeaseStore polling = newPollingStore();
		busy(get(polling.acquire(SEMAPHORE, all(this.b, "2"), true)));
		assertAllLiveFor(SEMAPHORE, LEASE - 5000, LEASE);
		polling.close();
		this.a.release(SEMAPHORE, all(this.a, "1"));
		assertAllLiveFor(SEMAPHORE, LEASE - 5000, LEASE);
	}

	@Test
	@DisplayName("A waiter with a place ahead of the clock is removed like any other when its requests stop")
	void forgetsWhoWasQueuedByAnotherClock() {
		granted(acquire(this.a, "1", 3));
		busy(this.b.acquire(SEMAPHORE, brief(command(this.b, "1", LIMIT))));
		this.redis.opsForZSet().add(keys(SEMAPHORE).queue(), this.b.token("1") + ":5:" + SHORT + ":5:s", 8e15);
		elapse(STALE);
		granted(acquire(this.c, "1", 2));
	}

	@Test
	@DisplayName("A next that a release queues has its entry in the queue and its own state")
	void keysOfNext() {
		granted(acquire(this.a, "1", LIMIT));
		busy(acquire(this.b, "1", LIMIT));
		LeaseStore polling = newPollingStore();
		long now = System.currentTimeMillis();
		busy(get(polling.release(SEMAPHORE, command(this.a, "1", LIMIT), command(this.a, "2", 3, 7))).next());
		polling.close();
		assertThat(this.redis.opsForZSet().range(keys(SEMAPHORE).queue(), 0, -1))
			.containsExactly(this.a.token("2") + ":3:5000:7:p");
		Map<String, String> state = stateOf(SEMAPHORE);
		assertThat(state).containsOnlyKeys("used", "until", "asked", "fence", this.b.token("1"), this.a.token("2"))
			.containsEntry("used", "5")
			.containsEntry("asked", "7");
		assertThat(state.get(this.a.token("2"))).matches("\\d{16}:3:5000:7:p");
		assertThat(Long.parseLong(state.get("until"))).isBetween(now + LEASE - 5000, now + LEASE + 1000);
	}

	@Test
	@DisplayName("An unused semaphore leaves no keys, whatever was done before")
	void leavesNothing() {
		granted(acquire(this.a, "1", 3));
		busy(acquire(this.b, "1", 4));
		busy(this.c.attempt(SEMAPHORE, command(this.c, "1", 4)));
		release(this.b, "1", 4);
		granted(this.a.release(SEMAPHORE, command(this.a, "1", 3), command(this.a, "2", 3)).next());
		release(this.a, "2", 3);
		assertThat(allKeys()).isEmpty();
		acquire(this.a, "2", LIMIT + 1);
		release(this.a, "2", LIMIT + 1);
		renew(this.a, SEMAPHORE, "3", 1, LEASE);
		assertThat(allKeys()).isEmpty();
		state();
		get(this.a.store.limit(SEMAPHORE, null));
		assertThat(allKeys()).isEmpty();
		granted(this.a.acquire(SEMAPHORE, brief(command(this.a, "4", 1))));
		elapse(MORE_THAN_SHORT);
		assertThat(allKeys()).isEmpty();
		granted(this.a.acquire(SEMAPHORE, brief(command(this.a, "5", LIMIT))));
		busy(acquire(this.b, "5", 1));
		elapse(MORE_THAN_SHORT);
		release(this.b, "5", 1);
		assertThat(allKeys()).isEmpty();
	}

	@Test
	@DisplayName("A holder that has ended leaves nothing in the state, also beside other holders")
	void forgetsHolder() {
		granted(acquire(this.a, "1", 1));
		granted(acquire(this.a, "2", 2));
		granted(acquire(this.b, "1", 1));
		assertThat(release(this.b, "1", 1)).isTrue();
		assertThat(stateOf(SEMAPHORE)).containsOnlyKeys("used", "until", "asked", "fence", this.a.token("2"))
			.containsEntry("used", "3");
		assertThat(release(this.a, "2", 2)).isTrue();
		assertThat(stateOf(SEMAPHORE)).containsOnlyKeys("used", "until", "asked", "fence").containsEntry("used", "1");
	}

	@Test
	@DisplayName("After another program deleted the holders, the next holder is alone, and its keys live equally long")
	void countsAnewWithoutHolders() {
		granted(acquire(this.a, "1", 2));
		this.redis.delete(keys(SEMAPHORE).holders());
		granted(this.b.acquire(SEMAPHORE, new AcquireCommand(this.b.token("1"), 1, LIMIT, true, LEASE / 2, CLAIM)));
		assertThat(stateOf(SEMAPHORE)).containsEntry("used", "1");
		assertAllLiveFor(SEMAPHORE, LEASE - 5000, LEASE);
	}

	@Test
	@DisplayName("An operator's limit has no expiry, and is the only key left")
	void leavesOnlyLimit() {
		get(this.a.store.limit(SEMAPHORE, 2));
		granted(acquire(this.a, "1", 2));
		release(this.a, "1", 2);
		PermitKeys keys = keys(SEMAPHORE);
		assertThat(allKeys()).containsExactly(keys.limit());
		assertThat(this.redis.opsForValue().get(keys.limit())).isEqualTo("2");
		assertThat(this.redis.getExpire(keys.limit())).isEqualTo(-1);
		get(this.a.store.limit(SEMAPHORE, null));
		assertThat(allKeys()).isEmpty();
	}

	@Test
	@DisplayName("A fence ahead of the clock is kept until the clock reaches it")
	void keepsFenceAheadOfClock() {
		granted(acquire(this.a, "1", 1));
		long ahead = (System.currentTimeMillis() + 3000) * 1000;
		PermitKeys keys = keys(SEMAPHORE);
		this.redis.opsForHash().put(keys.state(), "fence", "" + ahead);
		release(this.a, "1", 1);
		assertThat(allKeys()).containsExactly(keys.state());
		assertThat(stateOf(SEMAPHORE)).containsExactly(Map.entry("fence", "" + ahead));
		assertThat(this.redis.getExpire(keys.state(), TimeUnit.MILLISECONDS)).isBetween(1L, 3000L);
		assertThat(granted(acquire(this.a, "2", 1)).fence()).isEqualTo(ahead + 1);
	}

	// Changes by other programs

	@Test
	@DisplayName("A missing fence is replaced by a number above all earlier fences")
	void fencesOutliveTheirKey() {
		Granted first = granted(this.a.acquire(SEMAPHORE, command(this.a, "1", 1, Resource.ALL)));
		forgetFence(SEMAPHORE);
		long reported = busy(this.b.acquire(SEMAPHORE, all(this.b, "1"))).fence();
		assertThat(reported).isGreaterThanOrEqualTo(first.fence());
		Granted again = granted(this.a.acquire(SEMAPHORE, command(this.a, "1", 1, Resource.ALL)));
		assertThat(again.fence()).isGreaterThan(reported);
		forgetFence(SEMAPHORE);
		this.a.release(SEMAPHORE, command(this.a, "1", 1, Resource.ALL));
		assertThat(this.b.awaitWakeUp().fence()).isGreaterThan(again.fence());
		this.b.wakeUps.clear();
	}

	private void forgetFence(Resource resource) {
		this.redis.opsForHash().delete(keys(resource).state(), "fence");
	}

	@ParameterizedTest
	@ValueSource(strings = { "", "used", "until" })
	@DisplayName("A lost state, or a lost part of the state, is restored")
	void restoresState(String lost) {
		granted(acquire(this.a, "1", 2));
		granted(this.a.acquire(SEMAPHORE, command(this.a, "2", 1)));
		busy(acquire(this.b, "1", 3));
		busy(acquire(this.c, "1", 4));
		PermitKeys keys = keys(SEMAPHORE);
		if (lost.isEmpty()) {
			this.redis.delete(keys.state());
		}
		else {
			this.redis.opsForHash().delete(keys.state(), lost);
		}
		assertThat(state()).extracting(Standing::used, Standing::waiting).containsExactly(3, 2);
		busy(this.c.attempt(SEMAPHORE, command(this.c, "2", 3)));
		assertThat(stateOf(SEMAPHORE)).containsEntry("used", "3").containsEntry(this.a.token("1"), "2");
		assertAllLiveFor(SEMAPHORE, LEASE - 5000, LEASE);
		// All are found by the restored state, and have kept their places.
		busy(acquire(this.b, "1", 3));
		assertThat(renew(this.a, SEMAPHORE, "1", 2, 2 * LEASE)).isTrue();
		assertThat(release(this.c, "1", 4)).isFalse();
		assertThat(state()).extracting(Standing::used, Standing::waiting).containsExactly(3, 1);
		assertThat(release(this.a, "1", 5)).isTrue();
		this.b.awaitWakeUp();
		assertThat(state()).extracting(Standing::used, Standing::waiting).containsExactly(4, 0);
	}

	@Test
	@DisplayName("Waiters without state count as alive from then on, and are removed when their requests stop")
	void restoredWaitersGoToo() {
		granted(acquire(this.a, "1", 3));
		busy(this.b.acquire(SEMAPHORE, brief(command(this.b, "1", 5))));
		elapse(HANDOFF.plusMillis(200));
		this.redis.delete(keys(SEMAPHORE).state());
		busy(this.c.attempt(SEMAPHORE, command(this.c, "1", 1)));
		elapse(HANDOFF.plusMillis(200));
		busy(this.c.attempt(SEMAPHORE, command(this.c, "1", 1)));
		elapse(HANDOFF);
		granted(this.c.attempt(SEMAPHORE, command(this.c, "1", 1)));
	}

	@Test
	@DisplayName("Renewal finds its permits without the state, and all keys live equally long")
	void renewsWithoutState() {
		granted(this.a.acquire(SEMAPHORE, new AcquireCommand(this.a.token("1"), 1, LIMIT, true, 2 * LEASE, CLAIM)));
		granted(acquire(this.a, "2", 3));
		this.redis.delete(keys(SEMAPHORE).state());
		assertThat(renew(this.a, SEMAPHORE, "2", 3, LEASE)).isTrue();
		assertThat(renew(this.a, SEMAPHORE, "1", 1, LEASE)).isTrue();
		assertAllLiveFor(SEMAPHORE, 2 * LEASE - 5000, 2 * LEASE);
		busy(acquire(this.b, "1", 2));
		assertThat(stateOf(SEMAPHORE)).containsEntry("used", "4")
			.containsEntry("fence", "0")
			.containsOnlyKeys("used", "until", "asked", "fence", this.a.token("2"), this.b.token("1"));
		assertAllLiveFor(SEMAPHORE, 2 * LEASE - 5000, 2 * LEASE);
	}

	@Test
	@DisplayName("Ended leases leave nothing in the state, and foreign entries among the holders do no harm")
	void forgetsWhatHasEnded() {
		PermitKeys keys = keys(SEMAPHORE);
		granted(acquire(this.b, "1", 1));
		granted(this.a.acquire(SEMAPHORE, brief(command(this.a, "1", 3))));
		this.redis.opsForZSet().add(keys.holders(), "stranger's", 12);
		busy(acquire(this.c, "1", LIMIT));
		elapse(MORE_THAN_SHORT);
		assertThat(release(this.c, "1", LIMIT)).isFalse();
		assertThat(stateOf(SEMAPHORE)).containsOnlyKeys("used", "until", "asked", "fence").containsEntry("used", "1");
		assertThat(this.redis.opsForZSet().range(keys.holders(), 0, -1)).containsExactly(this.b.token("1") + ":1");
		this.redis.opsForZSet().add(keys.holders(), "stranger's", 8e12);
		this.redis.delete(keys.state());
		granted(acquire(this.c, "2", 1));
		assertThat(stateOf(SEMAPHORE)).containsEntry("used", "2");
	}

	@Test
	@DisplayName("A wait keeps its keys also when the state is gone")
	void waitsKeepKeysWithoutState() {
		granted(this.a.acquire(SEMAPHORE, new AcquireCommand(this.a.token("1"), LIMIT, LIMIT, true, 3000, CLAIM)));
		busy(acquire(this.c, "1", 1));
		this.redis.delete(keys(SEMAPHORE).state());
		busy(this.b.acquire(SEMAPHORE, brief(command(this.b, "1", 1))));
		assertAllLiveFor(SEMAPHORE, CLAIM, 2 * CLAIM);
	}

	@Test
	@DisplayName("Holders that another program deleted are no longer counted")
	void forgetsDeletedHolders() {
		granted(acquire(this.a, "1", 5));
		busy(acquire(this.b, "1", 2));
		this.redis.delete(keys(SEMAPHORE).holders());
		assertThat(renew(this.a, SEMAPHORE, "1", 5, LEASE)).isFalse();
		assertThat(state().used()).isZero();
		assertThat(release(this.a, "1", 5)).isFalse();
		this.b.awaitWakeUp();
		assertThat(stateOf(SEMAPHORE)).containsEntry("used", "2");
	}

	@ParameterizedTest
	@ValueSource(strings = { "holders", "queue", "state", "limit" })
	@DisplayName("A key of a wrong type is an error, and stays unchanged")
	void leavesWrongTypeAlone(String which) {
		granted(this.a.acquire(SEMAPHORE, command(this.a, "1", 2)));
		granted(this.a.acquire(SEMAPHORE, brief(command(this.a, "2", 1))));
		busy(this.b.acquire(SEMAPHORE, command(this.b, "1", 4)));
		elapse(MORE_THAN_SHORT);
		PermitKeys keys = keys(SEMAPHORE);
		String wrong = Map
			.of("holders", keys.holders(), "queue", keys.queue(), "state", keys.state(), "limit", keys.limit())
			.get(which);
		this.redis.delete(wrong);
		this.redis.opsForList().rightPush(wrong, "stranger's");
		Map<String, String> before = dump();
		assertThatExceptionOfType(StoreCommandException.class)
			.isThrownBy(() -> this.b.acquire(SEMAPHORE, command(this.b, "1", 4)))
			.withMessageContaining(KEY)
			.withMessageContaining("key-prefix")
			.matches((failure) -> !failure.isTemporary());
		assertThatExceptionOfType(StoreCommandException.class)
			.isThrownBy(() -> this.a.release(SEMAPHORE, command(this.a, "1", 2)));
		assertThatExceptionOfType(StoreCommandException.class).isThrownBy(() -> get(this.a.store.limit(SEMAPHORE, 1)));
		if (which.equals("holders")) {
			assertThatExceptionOfType(StoreCommandException.class).isThrownBy(() -> this.a.permits(SEMAPHORE));
		}
		if (!which.equals("limit")) {
			// A renewal could not count on any of the entry.
			assertThat(renew(this.a, SEMAPHORE, "1", 2, 2 * LEASE)).isFalse();
		}
		assertThat(dump()).isEqualTo(before);
	}

	private Map<String, String> dump() {
		return allKeys().stream()
			.collect(Collectors.toMap((key) -> key, (key) -> Arrays.toString(this.redis.dump(key))));
	}

	@Test
	@DisplayName("A string in place of a semaphore's holders is an error, since a semaphore has no exclusive lock")
	void leavesStringAlone() {
		String holders = keys(SEMAPHORE).holders();
		this.redis.opsForValue().set(holders, "stranger's");
		assertThatExceptionOfType(StoreCommandException.class).isThrownBy(() -> acquire(this.a, "1", 1));
		assertThatExceptionOfType(StoreCommandException.class).isThrownBy(() -> release(this.a, "1", 1));
		assertThatExceptionOfType(StoreCommandException.class).isThrownBy(this::state);
		assertThat(allKeys()).containsExactly(holders);
	}

	@Test
	@DisplayName("A key that another program replaced does not fail the renewal of other keys")
	void renewsBesideWrongType() {
		Resource another = new Resource(Resource.Kind.SEMAPHORE, "another");
		granted(acquire(this.a, "1", 1));
		granted(this.a.acquire(another, command(this.a, "2", 1)));
		this.redis.opsForValue().set(keys(SEMAPHORE).holders(), "stranger's");
		assertThat(this.a.renew(List.of(new Renewal(SEMAPHORE, this.a.token("1"), 1, LEASE),
				new Renewal(another, this.a.token("2"), 1, LEASE))))
			.containsExactly(false, true);
	}

	@Test
	@DisplayName("Waiters keep their order when the server's clock is set back")
	void keepsOrderWhenClockIsSetBack() {
		granted(acquire(this.a, "1", LIMIT));
		busy(acquire(this.b, "1", 1));
		String queue = keys(SEMAPHORE).queue();
		String first = this.b.token("1") + ":1:5000:5:s";
		this.redis.opsForZSet().add(queue, first, 8e15);
		for (int i = 9; i > 0; i--) {
			busy(acquire(this.c, "" + i, 1));
		}
		assertThat(this.redis.opsForZSet().range(queue, 0, -1)).startsWith(first, this.c.token("9") + ":1:5000:5:s",
				this.c.token("8") + ":1:5000:5:s", this.c.token("7") + ":1:5000:5:s");
	}

	@Test
	@DisplayName("A waiter of an instance that has left leaves no state after its turn")
	void forgetsWhoIsGone() {
		granted(acquire(this.a, "1", LIMIT));
		busy(acquire(this.b, "1", LIMIT));
		busy(acquire(this.c, "1", 1));
		leave(this.b);
		release(this.a, "1", LIMIT);
		this.c.awaitWakeUp();
		assertThat(stateOf(SEMAPHORE)).containsOnlyKeys("used", "until", "asked", "fence").containsEntry("used", "1");
	}

	@Test
	@DisplayName("An unreadable entry of the queue is dropped")
	void dropsForeignEntry() {
		granted(acquire(this.a, "1", 5));
		busy(acquire(this.b, "1", 2));
		this.redis.opsForZSet().add(keys(SEMAPHORE).queue(), "whatever", 1);
		this.redis.opsForZSet().add(keys(SEMAPHORE).queue(), this.c.token("1") + ":1:5000:5", 2);
		release(this.a, "1", 5);
		this.b.awaitWakeUp();
		assertThat(this.redis.hasKey(keys(SEMAPHORE).queue())).isFalse();
		assertThat(holders(SEMAPHORE)).containsExactly(this.b.token("1") + " 2");
	}

	@Test
	@DisplayName("A waiter with a grant from a deleted queue can renew and release its permit")
	void outlivesTheQueue() {
		granted(acquire(this.a, "1", LIMIT - 1));
		granted(acquire(this.a, "2", 1));
		busy(acquire(this.b, "1", 1));
		this.redis.delete("{" + this.prefix + "semaphore:" + KEY + "}:queue");
		assertThat(release(this.a, "2", 1)).isTrue();
		granted(acquire(this.b, "1", 1));
		assertThat(renew(this.b, SEMAPHORE, "1", 1, LEASE)).isTrue();
		assertThat(release(this.b, "1", 1)).isTrue();
		assertThat(state().used()).isEqualTo(LIMIT - 1);
		assertThat(stateOf(SEMAPHORE)).doesNotContainKey(this.b.token("1"));
	}

	@Test
	@DisplayName("A sorted set of another program at the lock key is an error in every mode, and stays unchanged")
	void leavesOthersSortedSetAlone() {
		String lockKey = this.prefix + "lock:" + KEY;
		this.redis.opsForZSet().add(lockKey, "Ann", 12);
		this.redis.opsForZSet().add(lockKey, "Bob:7", 7);
		Set<TypedTuple<String>> scores = this.redis.opsForZSet().rangeWithScores(lockKey, 0, -1);
		for (AcquireCommand command : List.of(exclusive(this.a, "1"), reader(this.a, "2"))) {
			assertThatExceptionOfType(StoreCommandException.class).isThrownBy(() -> this.a.acquire(LOCK, command))
				.withMessageContaining("'" + lockKey + "'")
				.withMessageContaining("holdfast.lock.key-prefix");
			assertThatExceptionOfType(StoreCommandException.class).isThrownBy(() -> this.a.release(LOCK, command));
		}
		assertThatExceptionOfType(StoreCommandException.class).isThrownBy(() -> this.a.inspect());
		assertThat(this.redis.opsForZSet().rangeWithScores(lockKey, 0, -1)).isEqualTo(scores);
		assertThat(this.redis.keys("*" + this.prefix + "*")).containsExactly(lockKey);
	}

	@ParameterizedTest
	@ValueSource(strings = { "nan", "inf", "-5", "99999999999", "ten", "" })
	@DisplayName("A foreign value at the limit's key counts only if it is a limit")
	void ignoresWhatIsNoLimit(String text) {
		this.redis.opsForValue().set(keys(SEMAPHORE).limit(), text);
		assertThat(state().limit()).isNull();
		granted(acquire(this.a, "1", LIMIT));
		busy(acquire(this.b, "1", 1));
		release(this.a, "1", LIMIT);
		assertThat(this.b.awaitWakeUp().token()).isEqualTo(this.b.token("1"));
	}

}
