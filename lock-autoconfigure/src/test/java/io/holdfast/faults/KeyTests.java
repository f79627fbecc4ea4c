package io.holdfast.faults;

import java.util.Map;
import java.util.stream.Stream;

import io.holdfast.LeaseStoreException;
import io.holdfast.LockLease;
import io.holdfast.ReleaseResult;
import io.holdfast.actuate.LocksEndpoint;
import io.holdfast.actuate.ResourceDescriptor.Holder;
import io.holdfast.engine.LeaseEngine;
import io.holdfast.testing.TestRedis;
import io.holdfast.testing.WithRedis;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Named;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

import org.springframework.data.redis.connection.DataType;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.tuple;

/**
 * Keys that are not allowed, and keys under which Redis holds something else.
 */
@WithRedis
class KeyTests {

	private final Fleet fleet;

	private final Instance instance;

	KeyTests(TestRedis redis) {
		this.fleet = Fleet.on(redis);
		this.instance = this.fleet.start();
	}

	@Test
	@DisplayName("A hash at the lock's key: an error that names the key and the cure, and the hash is untouched")
	void hashAtTheLockKey() {
		String lockKey = this.fleet.lockKey("settings");
		this.fleet.observer().opsForHash().put(lockKey, "field", "value");
		assertThatExceptionOfType(LeaseStoreException.class).isThrownBy(() -> this.instance.acquire("settings"))
			.withMessageContaining("'" + lockKey + "'")
			.withMessageContaining("holds something else")
			.withMessageContaining("use another key")
			.withMessageContaining("holdfast.lock.key-prefix")
			.satisfies((ex) -> assertThat(ex.getKey()).isEqualTo("settings"));
		assertThatExceptionOfType(LeaseStoreException.class).isThrownBy(() -> this.instance.tryAcquire("settings"));
		assertThatExceptionOfType(LeaseStoreException.class).isThrownBy(() -> this.instance.locks().status("settings"));
		LeaseEngine engine = this.instance.engine();
		assertThat(new LocksEndpoint(engine).lock("settings")).isNotNull().satisfies((seen) -> {
			assertThat(seen.holders()).extracting(Holder::foreign, Holder::ttlMillis).containsExactly(tuple(true, -1L));
			assertThat(seen.fencingToken()).isNull();
		});
		assertThat(new LocksEndpoint(engine).lock("free")).isNull();
		assertThat(new LocksEndpoint(engine).locks(null, null).fleet().locks()).isEmpty();
		assertThatExceptionOfType(LeaseStoreException.class)
			.isThrownBy(() -> this.instance.locks().admin().forceRelease("settings"))
			.withMessageContaining("holds something else");
		assertThat(this.fleet.observer().opsForHash().entries(lockKey)).containsOnly(Map.entry("field", "value"));
		assertThat(this.fleet.observer().getExpire(lockKey)).as("no expiry").isEqualTo(-1);
		assertThat(this.fleet.queued("settings")).isZero();
		assertThat(this.fleet.fence("settings")).isZero();
	}

	@ParameterizedTest(name = "A hash at the lock''s {0}: an error, and nothing is changed")
	@ValueSource(strings = { "queue", "fence" })
	void hashAtACompanion(String companion) {
		String key = "{" + this.fleet.lockKey("settings") + "}:" + companion;
		this.fleet.observer().opsForHash().put(key, "field", "value");
		assertThatExceptionOfType(LeaseStoreException.class).isThrownBy(() -> this.instance.acquire("settings"))
			.withMessageContaining(this.fleet.lockKey("settings"));
		assertThat(this.fleet.observer().type(key)).isEqualTo(DataType.HASH);
		assertThat(this.fleet.isLocked("settings")).isFalse();
	}

	static Stream<Named<String>> oddKeys() {
		return Stream.of(Named.of("blanks inside", "stock of SKU 1"),
				Named.of("letters of any script", "Lager:Größe:漢字:😀"), Named.of("a hash tag", "{order:7}:lines"),
				Named.of("a closing brace", "a}b"), Named.of("empty braces", "a{}b"),
				Named.of("a companion's name", "stock:queue"), Named.of("patterns", "*?[a-z]\\"),
				Named.of("format characters", "%s {0} ${x} #{y}"), Named.of("1024 characters", "x".repeat(1024)));
	}

	@ParameterizedTest(name = "Allowed: {0}")
	@MethodSource("oddKeys")
	void allowed(String key) {
		try (LockLease lease = this.instance.acquire(key)) {
			assertThat(lease.key()).isEqualTo(key);
			assertThat(this.fleet.isLocked(key)).isTrue();
			assertThat(this.instance.locks().asLock(key).isLocked()).isTrue();
			assertThat(lease.release()).isEqualTo(ReleaseResult.RELEASED);
		}
		assertThat(this.fleet.isLocked(key)).isFalse();
	}

}
