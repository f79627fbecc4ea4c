package io.holdfast.testing;

import org.junit.jupiter.api.BeforeEach;

/** Tests with a part of the Redis that all tests share. */
@WithRedis
public abstract class RedisTestCase {

	/** Part of this test. */
	protected TestRedis redis;

	@BeforeEach
	final void take(TestRedis redis) {
		this.redis = redis;
	}

}
