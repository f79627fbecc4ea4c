package io.holdfast.faults;

import java.util.Map;

import io.holdfast.LeaseStoreException;
import io.holdfast.actuate.LocksEndpoint;
import io.holdfast.actuate.ResourceDescriptor.Holder;
import io.holdfast.engine.LeaseEngine;
import io.holdfast.testing.TestRedis;
import io.holdfast.testing.WithRedis;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.tuple;

/**
 * Keys with a value of another type in Redis.
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

}
