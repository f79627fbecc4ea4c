package io.holdfast.faults;

import io.holdfast.testing.RedisTestCase;
import org.junit.jupiter.api.BeforeEach;

/**
 * Tests with applications on the shared Redis.
 */
abstract class FaultTestCase extends RedisTestCase {

	Fleet fleet;

	@BeforeEach
	final void open() {
		this.fleet = Fleet.on(this.redis);
	}

}
