package io.holdfast.fleet;

import io.holdfast.testing.TestRedis;
import io.holdfast.testing.WithRedis;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.TestInfo;

/**
 * Tests of instances that all tests of a class share. Each test must leave no holds and
 * no waiters.
 */
@WithRedis
abstract class FleetTestCase {

	/** The fleet of the running class. */
	static Fleet fleet;

	/** Key of the test: its name. */
	String key = "";

	@BeforeAll
	static void open(TestRedis redis) {
		fleet = new Fleet(redis);
	}

	@BeforeEach
	void nameKey(TestInfo test) {
		this.key = test.getTestMethod().orElseThrow().getName();
	}

	@AfterEach
	void nothingIsLeft() {
		fleet.awaitNothingLeft();
	}

}
