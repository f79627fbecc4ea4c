package io.holdfast.faults;

import java.util.concurrent.CompletableFuture;

import io.holdfast.LeaseStoreException;
import io.holdfast.LockLease;
import io.holdfast.LockRequest;
import io.holdfast.annotation.DistributedLock;
import io.holdfast.annotation.OnTimeout;
import io.holdfast.testing.TestApplication;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import org.springframework.context.annotation.Import;

import static io.holdfast.faults.Fleet.SOON;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.awaitility.Awaitility.await;

/**
 * Requests of an instance before the comparison of its version with the fleet's.
 */
class AdmissionTests extends ProxiedTestCase {

	private static final String KEY = "admission";

	private static final LockRequest REQUEST = LockRequest.of(KEY).waitTime(SOON);

	private Instance start() {
		return this.fleet.start(this.proxy, Application.class, "holdfast.redis.command-timeout=500ms",
				"holdfast.redis.outage-patience=10s");
	}

	private static CompletableFuture<LockLease> acquireInBackground(Instance instance) {
		CompletableFuture<LockLease> lease = instance.acquireInBackground(REQUEST);
		await("the request").atMost(SOON).until(() -> instance.engine().status().waiting() == 1);
		return lease;
	}

	private void assertGranted(CompletableFuture<LockLease> lease) {
		assertThat(lease).succeedsWithin(SOON).satisfies(LockLease::release);
		this.fleet.awaitNothingLeft();
	}

	@ParameterizedTest(name = "F9 F10 Redis is {0} at the start: a waiting request is granted when Redis answers")
	@ValueSource(strings = { "silent", "down" })
	void withoutRedis(String trouble) {
		if (trouble.equals("silent")) {
			this.proxy.blackHole();
		}
		else {
			this.proxy.down();
		}
		CompletableFuture<LockLease> lease = acquireInBackground(start());
		assertThat(lease).isNotDone();
		this.proxy.pass();
		this.proxy.up();
		assertGranted(lease);
	}

	@Test
	@DisplayName("F11 The connection is cut during the comparison: the request is granted after the next comparison")
	void cut() {
		this.proxy.swallowRepliesThenReset(TestApplication.fleetKey(this.redis.keyPrefix()));
		Instance instance = start();
		assertGranted(instance.acquireInBackground(REQUEST));
		assertThat(this.proxy.cuts()).isOne();
	}

	@Test
	@DisplayName("F9 F10 Without a comparison, a method that may skip does not skip, but fails by the store")
	void doesNotSkip() {
		this.proxy.blackHole();
		Shop shop = start().context().getBean(Shop.class);
		assertNotCompared(shop);
		this.proxy.down();
		assertNotCompared(shop);
		this.proxy.up();
		this.proxy.pass();
		await("a call").atMost(SOON).ignoreExceptions().until(() -> {
			shop.sell();
			return true;
		});
	}

	private static void assertNotCompared(Shop shop) {
		assertThatExceptionOfType(LeaseStoreException.class).isThrownBy(shop::sell)
			.withMessageContaining("; nothing is granted before it has answered once");
	}

	static class Shop {

		@DistributedLock(name = KEY, waitTime = "0", onTimeout = OnTimeout.SKIP)
		void sell() {
		}

	}

	@Import({ TestApplication.class, Shop.class })
	static class Application {

	}

}
