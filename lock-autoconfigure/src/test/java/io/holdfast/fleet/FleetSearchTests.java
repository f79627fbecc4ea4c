package io.holdfast.fleet;

import java.time.Duration;
import java.time.Instant;
import java.util.List;

import io.holdfast.LockLease;
import io.holdfast.LockMode;
import io.holdfast.LockRequest;
import io.holdfast.LockService;
import io.holdfast.SemaphoreRequest;
import io.holdfast.actuate.FleetDescriptor.Counts;
import io.holdfast.actuate.LocksEndpoint;
import io.holdfast.actuate.ReleaseDescriptor;
import io.holdfast.actuate.ResourceDescriptor;
import io.holdfast.actuate.SemaphoresEndpoint;
import io.holdfast.actuate.UsageDescriptor;
import io.holdfast.engine.DefaultLockService;
import io.holdfast.engine.DefaultSemaphoreService;
import io.holdfast.engine.EngineSettings;
import io.holdfast.engine.LeaseEngine;
import io.holdfast.engine.fleet.StandingQuery.Order;
import io.holdfast.engine.fleet.StandingQuery.State;
import io.holdfast.redis.RedisLeaseStore;
import io.holdfast.redis.key.RedisStoreOptions;
import io.holdfast.testing.RedisServer;
import io.holdfast.testing.Slow;
import io.holdfast.testing.TestRedis;
import io.holdfast.testing.WithRedis;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import org.springframework.boot.actuate.endpoint.SecurityContext;
import org.springframework.boot.actuate.endpoint.web.WebEndpointResponse;
import org.springframework.data.redis.core.StringRedisTemplate;
import org.springframework.data.redis.core.script.RedisScript;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * The search for locks and semaphores among many in a real Redis.
 */
@WithRedis
class FleetSearchTests {

	/**
	 * Locks of an absent instance; every tenth lock has a waiter.
	 */
	private static final RedisScript<Long> POPULATE = RedisScript.of("""
			local time = redis.call('TIME')
			for i = 1, tonumber(ARGV[1]) do
				local key = string.format('lock:stock:%06d', i)
				redis.call('SET', key, '0123456789abcdef0123456789abcdef:' .. i, 'PX', 300000)
				redis.call('SET', '{' .. key .. '}:fence', string.format('%d', (time[1] - i) * 1000000 + 1))
				if i % 10 == 0 then
					redis.call('ZADD', '{' .. key .. '}:queue', i, 'fedcba9876543210fedcba9876543210:' .. i .. ':30000')
				end
			end
			return 1""", Long.class);

	private final StringRedisTemplate redis;

	@AutoClose
	private final LeaseEngine engine;

	private final LockService locks;

	private final LocksEndpoint endpoint;

	private final SemaphoresEndpoint semaphores;

	FleetSearchTests(TestRedis redis) {
		RedisServer server = redis.startServer();
		this.redis = new StringRedisTemplate(redis.connectionFactory(server.host(), server.port()));
		RedisStoreOptions options = new RedisStoreOptions("lock:", "semaphore:", "wake:", null, Duration.ofMinutes(1),
				Duration.ofSeconds(5), false, "fleet", null, null);
		this.engine = new LeaseEngine(new RedisLeaseStore(this.redis.getRequiredConnectionFactory(), options),
				settings());
		this.locks = new DefaultLockService(this.engine);
		this.endpoint = new LocksEndpoint(this.engine);
		this.semaphores = new SemaphoresEndpoint(this.engine);
	}

	/** Keeps a busy machine from counting as a silent Redis. */
	private static EngineSettings settings() {
		EngineSettings base = EngineSettings.defaults();
		return new EngineSettings(base.waitTime(), base.leaseTime(), base.maxHold(), base.lossMargin(),
				base.semaphoreWaitTime(), base.semaphoreLeaseTime(), base.semaphoreFair(), base.handoffTimeout(),
				base.retryInterval(), Duration.ofSeconds(5), base.outagePatience(), base.maxWaiters(),
				base.maxWaitersPerKey(), base.lockHandOver(), base.semaphoreHandOver());
	}

	private void populate(int count) {
		this.redis.execute(POPULATE, List.of(), String.valueOf(count));
	}

	private UsageDescriptor search(@Nullable String search, @Nullable State state, @Nullable Duration heldFor,
			@Nullable Order sort, @Nullable Integer page) {
		UsageDescriptor found = this.endpoint.locks(null, 50, null, search, state, heldFor, sort, page);
		assertThat(found.fleet().problem()).isNull();
		assertThat(found.fleet().cursor()).isNull();
		return found;
	}

	/**
	 * Repeat the search until all locks are counted: a busy machine needs several
	 * searches.
	 */
	private void awaitCounted(String search) {
		await("all counted").atMost(Duration.ofMinutes(2))
			.until(() -> counts(search(search, null, null, null, null)).complete());
	}

	private static Counts counts(UsageDescriptor found) {
		Counts counts = found.fleet().found();
		assertThat(counts).isNotNull();
		return counts;
	}

	private static List<String> keys(UsageDescriptor found) {
		return found.fleet().locks().stream().map(ResourceDescriptor::key).toList();
	}

	@Test
	@DisplayName("A search in 5,000 locks returns the matching locks, page by page, in their present state")
	void searchesManyLocks() {
		populate(4_999);
		this.locks.acquire(LockRequest.of("Order:1").name("order"));
		awaitCounted("order");
		UsageDescriptor found = search("order", null, null, null, null);
		assertThat(keys(found)).containsExactly("Order:1");
		assertThat(found.held()).hasSize(1);
		assertThat(counts(found))
			.extracting(Counts::matching, Counts::total, Counts::held, Counts::waiting, Counts::complete)
			.containsExactly(1, 5_000, 5_000, 499L, true);
		UsageDescriptor contended = search("STOCK", State.CONTENDED, null, null, 10);
		assertThat(counts(contended).matching()).isEqualTo(499);
		assertThat(keys(contended)).hasSize(49).startsWith("stock:004510").endsWith("stock:004990");
		assertThat(contended.held()).isEmpty();
		assertThat(contended.fleet().locks()).allSatisfy((lock) -> {
			assertThat(lock.queueLength()).isEqualTo(1);
			assertThat(lock.holders().get(0).ttlMillis()).isBetween(1L, 300_000L);
		});
		UsageDescriptor oldest = search(null, null, null, Order.AGE, null);
		assertThat(keys(oldest)).startsWith("stock:004999", "stock:004998");
		assertThat(oldest.fleet().locks().get(0).granted()).isBetween(counts(oldest).counted().minusSeconds(5_100),
				counts(oldest).counted().minusSeconds(4_990));
		assertThat(counts(search(null, null, Duration.ofSeconds(4_000), null, null)).matching()).isBetween(990, 1_010);
		assertThat(keys(search(null, null, null, Order.WAITERS, 10))).endsWith("stock:004990", "Order:1");
	}

	@Test
	@DisplayName("A lock that was released since the count is listed as free, and a single lock of any key is shown in"
			+ " detail")
	void tellsOfNow() {
		this.locks.acquire("a//b;c").release();
		LockLease lease = this.locks.acquire(LockRequest.of("a//b;c").name("odd"));
		assertThat(keys(search(null, null, null, null, 1))).containsExactly("a//b;c");
		UsageDescriptor one = this.endpoint.locks(null, null, "a//b;c", null, null, null, null, null);
		assertThat(one.fleet().locks()).singleElement().satisfies((lock) -> {
			assertThat(lock.fencingToken()).isEqualTo(lease.fencingToken());
			assertThat(lock.holders().get(0).thread()).isEqualTo(Thread.currentThread().getName());
			assertThat(lock.holders().get(0).name()).isEqualTo("odd");
			assertThat(lock.holders().get(0).since()).isNotNull();
		});
		lease.release();
		await().untilAsserted(() -> {
			assertThat(this.endpoint.locks(null, null, "a//b;c", null, null, null, null, null).fleet().locks())
				.isEmpty();
			assertThat(search(null, null, null, null, 1).fleet().locks())
				.allSatisfy((lock) -> assertThat(lock.holderCount()).isZero());
		});
	}

	@Test
	@DisplayName("A lock that is held beyond the retention of its fencing token is found by the age that its holder"
			+ " reports")
	void findsLongestHeld() {
		LockLease leader = this.locks.acquire(LockRequest.of("leader"));
		this.locks.acquire(LockRequest.of("read").mode(LockMode.READ));
		// As at the end of the retention, which renewals do not extend.
		assertThat(this.redis.delete(List.of("{lock:leader}:fence", "{lock:read}:fence"))).isEqualTo(2);
		await("a second").until(() -> keys(search(null, null, Duration.ofSeconds(1), null, null)).size() == 2);
		UsageDescriptor found = search(null, null, Duration.ofSeconds(1), null, null);
		assertThat(keys(found)).containsExactly("leader", "read");
		assertThat(found.fleet().locks())
			.allSatisfy((lock) -> assertThat(lock.granted()).isBefore(Instant.now().minusSeconds(1)));
		assertThat(keys(search(null, null, Duration.ofMinutes(1), null, null))).isEmpty();
		assertThat(this.endpoint.release("leader", leader.fencingToken(), SecurityContext.NONE)).isInstanceOfSatisfying(
				WebEndpointResponse.class,
				(answer) -> assertThat(answer.getBody()).isEqualTo(new ReleaseDescriptor(false,
						"Lock 'leader' was not released: Redis does not remember its fencing token any more"
								+ " (holdfast.lock.fence-retention). Release it without a token")));
	}

	@Test
	@DisplayName("Semaphores are searched, too")
	void searchesSemaphores() {
		DefaultSemaphoreService service = new DefaultSemaphoreService(this.engine);
		service.acquire(SemaphoreRequest.of("carrier", 3));
		service.acquire(SemaphoreRequest.of("geocoder", 3));
		UsageDescriptor found = this.semaphores.semaphores(null, null, null, "CARR", null, null, null);
		assertThat(found.fleet().semaphores()).extracting(ResourceDescriptor::key).containsExactly("carrier");
		assertThat(found.held()).hasSize(1);
		assertThat(found.fleet().found()).isNotNull().extracting(Counts::matching, Counts::total).containsExactly(1, 2);
		UsageDescriptor one = this.semaphores.semaphores(null, null, "geocoder", null, null, null, null);
		assertThat(one.fleet().semaphores()).singleElement()
			.satisfies(
					(each) -> assertThat(each.holders().get(0).thread()).isEqualTo(Thread.currentThread().getName()));
		assertThat(this.semaphores.semaphores(null, null, "none", null, null, null, null).fleet().semaphores())
			.isEmpty();
	}

	@Test
	@Slow
	@DisplayName("100,000 locks are counted in some searches of a second each, and then searched at once")
	void searches100000() {
		populate(100_000);
		awaitCounted("0999");
		long start = System.nanoTime();
		UsageDescriptor found = search("0999", State.CONTENDED, null, Order.AGE, null);
		long millis = (System.nanoTime() - start) / 1_000_000;
		assertThat(counts(found)).extracting(Counts::matching, Counts::total).containsExactly(11, 100_000);
		assertThat(keys(found)).startsWith("stock:099990");
		assertThat(millis).isLessThan(2_000);
	}

}
