package io.holdfast.faults;

import java.time.Duration;

import io.holdfast.LeaseStoreException;
import io.holdfast.testing.FaultProxy;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/**
 * Tests with a proxy before Redis, for some of the applications.
 */
abstract class ProxiedTestCase extends FaultTestCase {

	static final Duration HALF_A_SECOND = Duration.ofMillis(500);

	/**
	 * Far above the promised times, for busy machines; far below the driver's timeouts.
	 */
	static final Duration SLACK = Duration.ofSeconds(3);

	FaultProxy proxy;

	@BeforeEach
	final void openProxy() {
		this.proxy = this.fleet.proxy();
	}

	@AfterEach
	final void answerAgain() {
		// A reset ends the waits of the driver.
		this.proxy.pass();
	}

	static void assertStoreTroubleWithin(String key, Duration time, ThrowingCallable call) {
		long start = System.nanoTime();
		assertThatExceptionOfType(LeaseStoreException.class).isThrownBy(call)
			.satisfies((ex) -> assertThat(ex.getKey()).isEqualTo(key));
		assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(time.plus(SLACK));
	}

}
