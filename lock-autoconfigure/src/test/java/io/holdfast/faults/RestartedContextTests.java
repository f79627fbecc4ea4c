package io.holdfast.faults;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.IntSupplier;
import java.util.stream.IntStream;

import io.holdfast.LockLease;
import io.holdfast.LockRequest;
import io.holdfast.testing.FaultProxy;
import io.holdfast.testing.RedisServer;
import io.holdfast.testing.TestApplication;
import io.holdfast.testing.TestRedis;
import io.holdfast.testing.WithRedis;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import org.springframework.context.SmartLifecycle;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

import static io.holdfast.faults.Fleet.SOON;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * A context that is stopped and started again, as around a checkpoint of the JVM.
 */
@WithRedis
class RestartedContextTests {

	private static final String KEY = "restarted";

	private static volatile IntSupplier connections = () -> 0;

	private static final AtomicInteger atStart = new AtomicInteger();

	private final Fleet fleet;

	RestartedContextTests(TestRedis redis) {
		RedisServer server = redis.startServer();
		this.fleet = Fleet.on(redis, server);
	}

	@AfterEach
	void close() {
		connections = () -> 0;
		this.fleet.close();
	}

	@Test
	@DisplayName("A stop waits for releases that their callers did not await")
	void releasesUnderWay() {
		int before = this.fleet.connections();
		FaultProxy proxy = this.fleet.proxy();
		Instance instance = this.fleet.start(proxy);
		this.fleet.awaitListening(1);
		List<LockLease> leases = IntStream.range(0, 20).mapToObj((i) -> instance.acquire(KEY + i)).toList();
		LockLease kept = instance.acquire(LockRequest.of(KEY).minHold(Duration.ofMinutes(1)));
		proxy.delay(Duration.ofMillis(300));
		leases.forEach(LockLease::close);
		kept.close();
		instance.context().stop();
		assertThat(this.fleet.keysBesidesFences()).containsExactly(this.fleet.lockKey(KEY));
		assertThat(this.fleet.timeToLive(KEY)).isGreaterThan(Duration.ofSeconds(31));
		await("no connection").atMost(SOON).until(() -> this.fleet.connections() == before);
		proxy.pass();
		instance.context().start();
		instance.acquire(KEY + 1).release();
	}

	@Test
	@DisplayName("All connections are opened after the start of the lifecycle")
	void noConnectionBeforeTheStart() {
		int before = this.fleet.connections();
		connections = this.fleet::connections;
		Instance instance = this.fleet.start(Application.class);
		assertThat(atStart).hasValue(before);
		await("connections").atMost(SOON).until(() -> this.fleet.connections() > before);
		instance.acquire(KEY).release();
	}

	@Configuration(proxyBeanMethods = false)
	static class Application extends TestApplication {

		@Bean
		SmartLifecycle first() {
			return new SmartLifecycle() {

				private volatile boolean running;

				@Override
				public void start() {
					atStart.set(connections.getAsInt());
					this.running = true;
				}

				@Override
				public void stop() {
					this.running = false;
				}

				@Override
				public boolean isRunning() {
					return this.running;
				}

				@Override
				public int getPhase() {
					return Integer.MIN_VALUE;
				}

			};
		}

	}

}
