package io.holdfast.sample;

import io.holdfast.sample.Instances.Instance;
import org.junit.jupiter.api.AfterAll;

/**
 * Test of two instances of the shop.
 */
abstract class TwoInstancesTestCase {

	static Instance first;

	static Instance second;

	static Instances instances;

	static void startTwo(String... properties) {
		instances = new Instances();
		first = instances.start(properties);
		second = instances.start(properties);
	}

	@AfterAll
	static void stop() {
		instances.close();
	}

}
