package io.holdfast.faults;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

import io.holdfast.LeaseStoreException;
import io.holdfast.LockLease;
import io.holdfast.LockRequest;
import io.holdfast.ReleaseResult;
import io.holdfast.actuate.LocksEndpoint;
import io.holdfast.actuate.ResourceDescriptor.Holder;
import io.holdfast.engine.LeaseEngine;
import io.holdfast.testing.TestApplication;
import io.holdfast.testing.TestRedis;
import io.holdfast.testing.TestTransactions;
import io.holdfast.testing.WithRedis;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.env.Environment;
import org.springframework.data.redis.connection.RedisConnection;
import org.springframework.data.redis.connection.RedisConnectionFactory;
import org.springframework.data.redis.connection.RedisStandaloneConfiguration;
import org.springframework.data.redis.connection.jedis.JedisConnectionFactory;
import org.springframework.data.redis.core.StringRedisTemplate;
import org.springframework.data.redis.listener.ChannelTopic;
import org.springframework.data.redis.listener.RedisMessageListenerContainer;
import org.springframework.scheduling.TaskScheduler;
import org.springframework.scheduling.annotation.EnableAsync;
import org.springframework.scheduling.annotation.EnableScheduling;
import org.springframework.transaction.support.TransactionTemplate;

import static io.holdfast.faults.Fleet.SOON;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.tuple;

/**
 * Other uses of Redis by an application neither disturb Holdfast nor are disturbed by
 * Holdfast.
 */
@WithRedis
class CoexistenceTests {

	private static final String KEY = "coexistence";

	private final Fleet fleet;

	private final String valueKey;

	CoexistenceTests(TestRedis redis) {
		this.fleet = Fleet.on(redis);
		this.valueKey = redis.keyPrefix() + "value";
	}

	/**
	 * Check that commands run at once: on the thread's own connection they would be
	 * queued.
	 */
	private void assertLocksAtOnce(Instance instance) {
		LockLease lease = instance.acquire(LockRequest.of(KEY).waitTime(SOON));
		assertThat(this.fleet.isLocked(KEY)).as("locked before the commit").isTrue();
		assertThat(lease.fencingToken()).isEqualTo(this.fleet.fence(KEY));
		assertThat(instance.locks().status(KEY).isLocked()).isTrue();
		lease.extend(Duration.ofSeconds(60));
		assertThat(lease.release()).isEqualTo(ReleaseResult.RELEASED);
		assertThat(this.fleet.isLocked(KEY)).as("locked after the release").isFalse();
	}

	private @Nullable String value() {
		return this.fleet.observer().opsForValue().get(this.valueKey);
	}

	@ParameterizedTest(
			name = "Inside of a transaction that Redis takes part in ({0}), a lock is taken and released at once")
	@ValueSource(strings = { "lettuce", "jedis" })
	void transaction(String driver) {
		Instance instance = this.fleet.start(TransactionalTemplate.class, "spring.data.redis.client-type=" + driver);
		StringRedisTemplate template = instance.context().getBean(StringRedisTemplate.class);
		new TransactionTemplate(new TestTransactions()).executeWithoutResult((status) -> {
			template.opsForValue().set(this.valueKey, "written");
			assertLocksAtOnce(instance);
			assertThat(value()).as("value before the commit").isNull();
		});
		assertThat(value()).isEqualTo("written");
		new TransactionTemplate(new TestTransactions()).executeWithoutResult((status) -> {
			template.opsForValue().set(this.valueKey, "rolled back");
			assertLocksAtOnce(instance);
			status.setRollbackOnly();
		});
		assertThat(value()).isEqualTo("written");
	}

	@Test
	@DisplayName("Holdfast adds beans of its own types only, and no bean of Spring Boot backs off because of Holdfast")
	void beans() {
		ConfigurableApplicationContext without = this.fleet.start(Busy.class, "holdfast.enabled=false").context();
		ConfigurableApplicationContext with = this.fleet.start(Busy.class).context();
		List<String> names = Arrays.asList(without.getBeanDefinitionNames());
		assertThat(names).as("of an application with a scheduler").contains("taskScheduler", "applicationTaskExecutor");
		assertThat(with.getBeanDefinitionNames()).containsAll(names);
		List<String> added = new ArrayList<>(Arrays.asList(with.getBeanDefinitionNames()));
		added.removeAll(names);
		assertThat(added).isNotEmpty()
			.allSatisfy((name) -> assertThat(Objects.requireNonNull(with.getType(name)).getName())
				.startsWith("io.holdfast."));
		assertThat(with.getBeansOfType(TaskScheduler.class)).hasSize(1);
		assertThat(with.getBeansOfType(StringRedisTemplate.class)).hasSize(1);
	}

	@Test
	@DisplayName("The application's own subscriptions go on while Holdfast's subscriptions pass locks on")
	void ownSubscriptions() throws InterruptedException {
		Instance instance = this.fleet.start(Subscriber.class, "test.channel=" + this.valueKey,
				"holdfast.wake-up.handoff-timeout=60s");
		Instance other = this.fleet.start("holdfast.wake-up.handoff-timeout=60s");
		this.fleet.awaitListening(2);
		Subscriber.Received received = instance.context().getBean(Subscriber.Received.class);
		this.fleet.observer().convertAndSend(this.valueKey, "first");
		assertThat(received.next()).isEqualTo("first");
		LockRequest request = LockRequest.of(KEY).waitForever().leaseTime(Duration.ofMinutes(5));
		LockLease held = other.acquire(request);
		CompletableFuture<LockLease> waiting = instance.acquireInBackground(request);
		this.fleet.awaitQueued(KEY);
		held.close();
		assertThat(waiting).succeedsWithin(SOON).satisfies(LockLease::release);
		this.fleet.observer().convertAndSend(this.valueKey, "second");
		assertThat(received.next()).isEqualTo("second");
		other.close();
		this.fleet.observer().convertAndSend(this.valueKey, "third");
		assertThat(received.next()).isEqualTo("third");
		assertThat(received.messages).as("nothing of Holdfast's").isEmpty();
	}

	@Test
	@DisplayName("Jedis: the application's connections are used for nothing")
	void connectionsOfTheApplication() {
		Instance instance = this.fleet.start(UnusableApplication.class, "holdfast.wake-up.handoff-timeout=60s");
		Instance other = this.fleet.start(UnusableApplication.class, "holdfast.wake-up.handoff-timeout=60s");
		this.fleet.awaitListening(2);
		instance.assertHandsOverTo(other);
		LeaseEngine engine = instance.engine();
		assertThat(engine.examine()).succeedsWithin(SOON);
		instance.close();
		other.close();
		this.fleet.awaitNothingLeft();
	}

	static class UnusableApplication extends TestApplication {

		@Bean
		JedisConnectionFactory unusable(@Value("${spring.data.redis.host}") String host,
				@Value("${spring.data.redis.port}") int port) {
			return new JedisConnectionFactory(new RedisStandaloneConfiguration(host, port)) {

				@Override
				public RedisConnection getConnection() {
					throw new AssertionError("used");
				}

			};
		}

	}

	@Test
	@DisplayName("A hash at the lock's key: an error that names the key and the cure, and the hash is untouched")
	void hashAtTheLockKey() {
		Instance instance = this.fleet.start();
		String lockKey = this.fleet.lockKey("settings");
		this.fleet.observer().opsForHash().put(lockKey, "field", "value");
		assertThatExceptionOfType(LeaseStoreException.class).isThrownBy(() -> instance.acquire("settings"))
			.withMessageContaining("'" + lockKey + "'")
			.withMessageContaining("holds something else")
			.withMessageContaining("use another key")
			.withMessageContaining("holdfast.lock.key-prefix")
			.satisfies((ex) -> assertThat(ex.getKey()).isEqualTo("settings"));
		assertThatExceptionOfType(LeaseStoreException.class).isThrownBy(() -> instance.tryAcquire("settings"));
		assertThatExceptionOfType(LeaseStoreException.class).isThrownBy(() -> instance.locks().status("settings"));
		LeaseEngine engine = instance.engine();
		assertThat(new LocksEndpoint(engine).lock("settings")).isNotNull().satisfies((seen) -> {
			assertThat(seen.holders()).extracting(Holder::foreign, Holder::ttlMillis).containsExactly(tuple(true, -1L));
			assertThat(seen.fencingToken()).isNull();
		});
		assertThat(new LocksEndpoint(engine).lock("free")).isNull();
		assertThat(new LocksEndpoint(engine).locks(null, null).fleet().locks()).isEmpty();
		assertThatExceptionOfType(LeaseStoreException.class)
			.isThrownBy(() -> instance.locks().admin().forceRelease("settings"))
			.withMessageContaining("holds something else");
		assertThat(this.fleet.observer().opsForHash().entries(lockKey)).containsOnly(Map.entry("field", "value"));
		assertThat(this.fleet.observer().getExpire(lockKey)).as("no expiry").isEqualTo(-1);
		assertThat(this.fleet.queued("settings")).isZero();
		assertThat(this.fleet.fence("settings")).isZero();
	}

	@Configuration(proxyBeanMethods = false)
	@EnableAutoConfiguration
	@EnableScheduling
	@EnableAsync
	static class Busy {

	}

	@Configuration(proxyBeanMethods = false)
	@EnableAutoConfiguration
	static class TransactionalTemplate {

		@Bean
		StringRedisTemplate stringRedisTemplate(RedisConnectionFactory connectionFactory) {
			StringRedisTemplate template = new StringRedisTemplate(connectionFactory);
			template.setEnableTransactionSupport(true);
			return template;
		}

	}

	@Configuration(proxyBeanMethods = false)
	@EnableAutoConfiguration
	static class Subscriber {

		@Bean
		Received received() {
			return new Received();
		}

		@Bean
		RedisMessageListenerContainer container(RedisConnectionFactory connectionFactory, Received received,
				Environment environment) {
			RedisMessageListenerContainer container = new RedisMessageListenerContainer();
			container.setConnectionFactory(connectionFactory);
			container.addMessageListener(
					(message, pattern) -> received.messages.add(new String(message.getBody(), StandardCharsets.UTF_8)),
					new ChannelTopic(environment.getRequiredProperty("test.channel")));
			return container;
		}

		static class Received {

			private final BlockingQueue<String> messages = new LinkedBlockingQueue<>();

			@Nullable String next() throws InterruptedException {
				return this.messages.poll(SOON.toMillis(), TimeUnit.MILLISECONDS);
			}

		}

	}

}
