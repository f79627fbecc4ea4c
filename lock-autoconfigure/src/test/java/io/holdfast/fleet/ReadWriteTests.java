package io.holdfast.fleet;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

import io.holdfast.LockLease;
import io.holdfast.LockMode;
import io.holdfast.LockRequest;
import io.holdfast.LockService;
import io.holdfast.LockStatus.Owner;
import io.holdfast.ReleaseResult;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import org.springframework.data.redis.RedisSystemException;
import org.springframework.data.redis.core.script.DefaultRedisScript;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.awaitility.Awaitility.await;

/**
 * Exclusion of readers, writers and clients of the plain pattern in several contexts.
 */
class ReadWriteTests extends FleetTestCase {

	private static LockService first;

	private static LockService second;

	private static LockService third;

	@BeforeAll
	static void start() {
		List<LockService> contexts = fleet.start(3);
		first = contexts.get(0);
		second = contexts.get(1);
		third = contexts.get(2);
	}

	@Test
	@DisplayName("Readers of all contexts read together, and exclude a writer; a writer excludes all requests")
	void readersOrWriter() throws Exception {
		List<LockLease> readers = List.of(first.acquire(read()), second.acquire(read()), third.acquire(read()));
		assertThat(Attempt.onAnotherThread(() -> first.tryAcquire(once(LockMode.EXCLUSIVE)))).isEmpty();
		assertThat(second.status(this.key)).satisfies((status) -> {
			assertThat(status.owner()).isEqualTo(Owner.READERS);
			assertThat(status.remaining()).isPositive();
			assertThat(status.readers()).isEqualTo(3);
		});
		readers.forEach((reader) -> assertThat(reader.release()).isEqualTo(ReleaseResult.RELEASED));
		assertThat(second.status(this.key).isLocked()).isFalse();
		LockLease writer = first.acquire(write());
		assertThat(second.status(this.key)).satisfies((status) -> {
			assertThat(status.owner()).isEqualTo(Owner.OTHER_INSTANCE);
			assertThat(status.readers()).isZero();
		});
		for (LockService locks : List.of(second, third)) {
			assertThat(locks.tryAcquire(once(LockMode.READ))).isEmpty();
			assertThat(locks.tryAcquire(once(LockMode.EXCLUSIVE))).isEmpty();
		}
		assertThat(writer.release()).isEqualTo(ReleaseResult.RELEASED);
	}

	@Test
	@DisplayName("S3 Readers and writers exclude a client of the plain pattern, and the other way round")
	void plainClient() {
		PlainClient plain = fleet.plainClient();
		for (LockMode mode : List.of(LockMode.READ, LockMode.EXCLUSIVE)) {
			try (LockLease lease = first.acquire(request(mode))) {
				assertThat(plain.tryLock(this.key, Duration.ofMinutes(1))).isNull();
				lease.ensureHeld();
				lease.release();
			}
			String token = plain.tryLock(this.key, Duration.ofMinutes(1));
			assertThat(token).isNotNull();
			assertThat(first.tryAcquire(once(mode))).isEmpty();
			Attempt<LockLease> attempt = Attempt.start(second, request(mode));
			fleet.awaitWaiting(this.key, 1);
			assertThat(plain.unlock(this.key, String.valueOf(token))).isTrue();
			attempt.get(Fleet.PROMPT).release();
		}
	}

	@Test
	@DisplayName("S3 S4 Our lock has the plain form: its token frees it, and our late release leaves the next owner"
			+ " alone")
	void hasThePlainForm() {
		PlainClient plain = fleet.plainClient();
		LockLease lease = first.acquire("form");
		assertThat(fleet.template().type(fleet.lockKey("form")).code()).isEqualTo("string");
		assertThat(fleet.ttl("form")).isPositive();
		assertThat(plain.unlock("form", String.valueOf(fleet.owner("form")))).isTrue();
		String token = plain.tryLock("form", Duration.ofMinutes(1));
		lease.release();
		assertThat(fleet.owner("form")).as("owner after our late release").isEqualTo(token).isNotNull();
		assertThat(plain.unlock("form", String.valueOf(token))).isTrue();
	}

	@Test
	@DisplayName("S3 An unguarded counter is right under a lock that plain clients and ours take in turn")
	void counter() throws Exception {
		Data data = fleet.data();
		PlainClient plain = fleet.plainClient();
		LockService eager = fleet.start("holdfast.wake-up.retry-interval=10ms");
		new Crowd().add(2, () -> {
			for (int i = 0; i < 15; i++) {
				addLockedPlainly(data, plain);
			}
		}).add(3, () -> {
			for (int i = 0; i < 15; i++) {
				data.addLocked(eager, "mixed", Duration.ofMinutes(1));
			}
		}).add(1, () -> {
			for (int i = 0; i < 5; i++) {
				data.addLocked(first, "mixed", Duration.ofMinutes(1));
			}
		}).run();
		assertThat(data.get("mixed")).isEqualTo(2 * 15 + 3 * 15 + 5);
	}

	private static void addLockedPlainly(Data data, PlainClient plain) {
		String token = plain.tryLock("mixed", Duration.ofMinutes(1));
		while (token == null) {
			LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(2));
			token = plain.tryLock("mixed", Duration.ofMinutes(1));
		}
		data.add("mixed", 1);
		assertThat(plain.unlock("mixed", token)).isTrue();
	}

	@Test
	@DisplayName("S3 Readers answer WRONGTYPE to the script of RedisLockRegistry, which reads the key first and"
			+ " changes nothing")
	void redisLockRegistry() {
		DefaultRedisScript<Boolean> obtain = new DefaultRedisScript<>("""
				local lockClientId = redis.call('GET', KEYS[1])
				if lockClientId == ARGV[1] then
				  redis.call('PEXPIRE', KEYS[1], ARGV[2])
				  return true
				elseif not lockClientId then
				  redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
				  return true
				end
				return false
				""", Boolean.class);
		List<String> keys = List.of(fleet.lockKey(this.key));
		try (LockLease reader = first.acquire(read())) {
			assertThatExceptionOfType(RedisSystemException.class)
				.isThrownBy(() -> fleet.template().execute(obtain, keys, "registry", "60000"))
				.havingRootCause()
				.withMessageContaining("WRONGTYPE");
			reader.ensureHeld();
		}
		LockLease owner = first.acquire(write());
		assertThat(fleet.template().execute(obtain, keys, "registry", "60000")).isFalse();
		assertThat(owner.release()).isEqualTo(ReleaseResult.RELEASED);
		assertThat(fleet.template().execute(obtain, keys, "registry", "60000")).isTrue();
		assertThat(second.tryAcquire(once(LockMode.READ))).isEmpty();
		assertThat(second.status(this.key).owner()).isEqualTo(Owner.FOREIGN);
		fleet.template().delete(keys);
	}

	@Test
	@DisplayName("A single mode is released by force: the readers or the exclusive owner, with the leases nested in"
			+ " its lease")
	void forcedReleaseOfOneSide() {
		LockLease writer = first.acquire(write());
		LockLease nested = first.acquire(read());
		assertThat(third.admin().forceRelease(this.key, LockMode.READ)).isFalse();
		assertThat(third.admin().forceRelease(this.key, LockMode.EXCLUSIVE)).isTrue();
		await("loss").atMost(Fleet.PATIENCE).until(() -> !writer.isHeld() && !nested.isHeld());
		assertThat(third.status(this.key).owner()).isEqualTo(Owner.NONE);
		List.of(writer, nested).forEach((lease) -> assertThat(lease.release()).isEqualTo(ReleaseResult.LOST));
		List<LockLease> readers = List.of(first.acquire(read()), second.acquire(read()));
		assertThat(third.admin().forceRelease(this.key, LockMode.EXCLUSIVE)).isFalse();
		assertThat(third.admin().forceRelease(this.key, LockMode.READ)).isTrue();
		assertThat(third.admin().forceRelease(this.key, LockMode.READ)).isFalse();
		await("loss").atMost(Fleet.PATIENCE).until(() -> readers.stream().noneMatch(LockLease::isHeld));
		readers.forEach((lease) -> assertThat(lease.release()).isEqualTo(ReleaseResult.LOST));
	}

	@Test
	@DisplayName("The status has the length of the queue, and the number of this instance's waiting requests, in all"
			+ " modes")
	void waitingByInstance() {
		LockLease owner = first.acquire(request(LockMode.EXCLUSIVE));
		List<Turn> turns = new ArrayList<>(List.of(ask(second, read(), 1), ask(second, read(), 2)));
		turns.addAll(List.of(Turn.of(second, write()), Turn.of(second, write())));
		await("requests of the second").until(() -> second.status(this.key).waitingInThisInstance() == 4);
		for (int i = 0; i < 3; i++) {
			turns.add(Turn.of(third, request(LockMode.EXCLUSIVE)));
		}
		await("requests of the third").until(() -> third.status(this.key).waitingInThisInstance() == 3);
		assertThat(first.status(this.key).waitingInThisInstance()).isZero();
		// Two readers, a writer for both of its requests, and one entry for three
		// requests.
		await("the queue").untilAsserted(() -> assertThat(first.status(this.key).waiting()).isEqualTo(4));
		owner.release();
		await("all turns").until(() -> {
			turns.stream().filter(Turn::isGranted).forEach(Turn::release);
			return first.status(this.key).waiting() == 0 && turns.stream().allMatch(Turn::isGranted);
		});
		assertThat(third.status(this.key).waitingInThisInstance()).isZero();
		turns.forEach(Turn::release);
	}

	private LockRequest read() {
		return request(LockMode.READ);
	}

	private LockRequest write() {
		return request(LockMode.EXCLUSIVE);
	}

	private LockRequest request(LockMode mode) {
		return LockRequest.of(this.key).mode(mode).waitTime(Fleet.PATIENCE);
	}

	private LockRequest once(LockMode mode) {
		return request(mode).waitTime(Duration.ZERO);
	}

	/** Queue a request at the given place. */
	private Turn ask(LockService locks, LockRequest request, int position) {
		Turn turn = Turn.of(locks, request);
		fleet.awaitWaiting(this.key, position);
		return turn;
	}

}
