package io.holdfast.fleet;

import io.holdfast.testing.TestRedis;
import io.holdfast.testing.WithRedis;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.TestInfo;

/**
 * Tests of instances that all of a class share. Each test must leave nothing of what it
 * held and waited for.
 */
@WithRedis
abstract class FleetTestCase {

	/** Of the class whose tests run. */
	static Fleet fleet;

	/** The test's name, for what it locks. */
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
