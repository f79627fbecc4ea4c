package io.holdfast.redis.driver;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;

import io.holdfast.async.DaemonThreads;
import io.holdfast.redis.key.RedisKeys;
import io.holdfast.redis.script.Script;
import io.holdfast.testing.RedisTestCase;
import io.lettuce.core.resource.ClientResources;
import io.lettuce.core.tracing.MicrometerTracing;
import io.micrometer.observation.Observation;
import io.micrometer.observation.ObservationHandler;
import io.micrometer.observation.ObservationRegistry;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import org.springframework.data.redis.connection.RedisStandaloneConfiguration;
import org.springframework.data.redis.connection.lettuce.LettuceClientConfiguration;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Parents of the spans of commands that are sent together.
 */
class ScriptTracesTests extends RedisTestCase {

	private static final int THREADS = 40;

	private static final int EACH = 50;

	private final Map<String, Integer> children = new ConcurrentHashMap<>();

	@Test
	@DisplayName("a command is part of the span of the thread that asked for it")
	void spansOfCommands() throws Exception {
		ObservationRegistry registry = ObservationRegistry.create();
		registry.observationConfig().observationHandler(new Counting());
		ClientResources resources = ClientResources.builder().tracing(new MicrometerTracing(registry, "redis")).build();
		LettuceConnectionFactory factory = new LettuceConnectionFactory(
				new RedisStandaloneConfiguration(this.redis.host(), this.redis.port()),
				LettuceClientConfiguration.builder().clientResources(resources).build());
		factory.start();
		try (ScriptExecutor executor = new ScriptExecutor(factory, () -> {
		}, new DaemonThreads())) {
			ping(executor);
			this.children.clear();
			CountDownLatch over = new CountDownLatch(THREADS);
			for (int i = 0; i < THREADS; i++) {
				Observation caller = Observation.createNotStarted("caller " + i, registry);
				new Thread(() -> caller.observe(() -> {
					for (int times = 0; times < EACH; times++) {
						ping(executor);
					}
					over.countDown();
				})).start();
			}
			over.await();
			for (int i = 0; i < THREADS; i++) {
				assertThat(this.children).containsEntry("caller " + i, EACH);
			}
			assertThat(this.children).hasSize(THREADS);
		}
		finally {
			factory.destroy();
			resources.shutdown().get();
		}
	}

	private static void ping(ScriptExecutor executor) {
		executor.execute(Script.PING, new byte[0][], RedisKeys.bytes("no", "listener"), "ping", (reply) -> reply)
			.join();
	}

	/** Counts what is part of each observation. */
	private final class Counting implements ObservationHandler<Observation.Context> {

		@Override
		public void onStart(Observation.Context context) {
			if (context.getParentObservation() != null) {
				ScriptTracesTests.this.children.merge(context.getParentObservation().getContextView().getName(), 1,
						Integer::sum);
			}
		}

		@Override
		public boolean supportsContext(Observation.Context context) {
			return true;
		}

	}

}
