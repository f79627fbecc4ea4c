package io.holdfast.faults;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;
import java.util.stream.Stream;

import io.holdfast.Lease;
import io.holdfast.LockRequest;
import io.holdfast.testing.TestApplication;
import io.holdfast.testing.TestRedis;
import io.holdfast.testing.WithRedis;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Named;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

import org.springframework.beans.factory.annotation.Value;
import org.springframework.context.annotation.Bean;
import org.springframework.data.redis.connection.RedisConnection;
import org.springframework.data.redis.connection.RedisScriptingCommands;
import org.springframework.data.redis.connection.RedisStandaloneConfiguration;
import org.springframework.data.redis.connection.jedis.JedisConnectionFactory;

import static io.holdfast.faults.Fleet.SOON;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * A driver that goes on with a command for long after that was given up, as Jedis does in
 * a cluster a node of which is dead.
 */
@WithRedis
class StragglerTests {

	private static final String KEY = "straggler";

	private final Fleet fleet;

	StragglerTests(TestRedis redis) {
		this.fleet = Fleet.on(redis);
	}

	@AfterEach
	void close() {
		this.fleet.close();
	}

	static Stream<Named<Function<Instance, CompletableFuture<? extends Lease>>>> requests() {
		Duration time = Duration.ofMinutes(1);
		LockRequest lock = LockRequest.of(KEY).waitTime(time).leaseTime(time);
		return Stream.concat(Stream.of(Named.of("LOCK", (instance) -> instance.locks().acquireAsync(lock))),
				Stream.of(Pool.values())
					.map((pool) -> Named.of(pool.name(),
							(instance) -> new PoolRequest(pool, KEY).waitTime(time).acquireAsync(instance))));
	}

	@ParameterizedTest(
			name = "A request that was given up, and that the driver sends when its token was released twice, leaves nothing ({0})")
	@MethodSource("requests")
	void releasedOnceMore(Function<Instance, CompletableFuture<? extends Lease>> request) {
		Instance instance = this.fleet.start(Application.class, "holdfast.wake-up.handoff-timeout=1s");
		PatientJedis driver = instance.context().getBean(PatientJedis.class);
		instance.warmUp();
		Stream.of(Pool.values()).forEach((pool) -> new PoolRequest(pool, "warm-up").warmUp(instance));
		CompletableFuture<? extends Lease> given = request.apply(instance);
		await("the driver has it").atMost(SOON).untilTrue(driver.begun);
		given.cancel(false);
		await("released twice").atMost(SOON).until(driver.afterFirst::get, (calls) -> calls == 2);
		driver.goOn.complete(true);
		assertThat(driver.first).succeedsWithin(SOON)
			.satisfies((reply) -> assertThat((List<?>) reply).first().as("granted").isEqualTo(1L));
		this.fleet.awaitNothingLeft();
	}

	static class Application extends TestApplication {

		@Bean
		PatientJedis patientJedis(@Value("${spring.data.redis.host}") String host,
				@Value("${spring.data.redis.port}") int port) {
			return new PatientJedis(new RedisStandaloneConfiguration(host, port));
		}

	}

	/** Jedis, which holds the first call back that is about the key. */
	static class PatientJedis extends JedisConnectionFactory {

		/** What the first one came to. */
		final CompletableFuture<Object> first = new CompletableFuture<>();

		final CompletableFuture<Boolean> goOn = new CompletableFuture<>();

		/** How many others have ended. */
		final AtomicInteger afterFirst = new AtomicInteger();

		final AtomicBoolean begun = new AtomicBoolean();

		PatientJedis(RedisStandaloneConfiguration configuration) {
			super(configuration);
		}

		@Override
		public RedisConnection getConnection() {
			RedisConnection connection = super.getConnection();
			return proxy(RedisConnection.class, (method, args) -> {
				Object result = method.invoke(connection, args);
				return (method.getName().equals("scriptingCommands")) ? patient((RedisScriptingCommands) result)
						: result;
			});
		}

		private RedisScriptingCommands patient(RedisScriptingCommands commands) {
			return proxy(RedisScriptingCommands.class, (method, args) -> {
				if (Stream.of((byte[][]) args[3]).noneMatch((arg) -> new String(arg, UTF_8).contains(KEY))) {
					return method.invoke(commands, args);
				}
				if (this.begun.getAndSet(true)) {
					Object reply = method.invoke(commands, args);
					this.afterFirst.incrementAndGet();
					return reply;
				}
				this.goOn.join();
				try {
					this.first.complete(method.invoke(commands, args));
				}
				catch (InvocationTargetException ex) {
					this.first.completeExceptionally(ex.getCause());
				}
				return this.first.join();
			});
		}

		private static <T> T proxy(Class<T> type, Call call) {
			return type
				.cast(Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] { type }, (proxy, method, args) -> {
					try {
						return call.to(method, args);
					}
					catch (InvocationTargetException ex) {
						throw ex.getCause();
					}
				}));
		}

		@FunctionalInterface
		private interface Call {

			Object to(Method method, Object[] args) throws ReflectiveOperationException;

		}

	}

}
