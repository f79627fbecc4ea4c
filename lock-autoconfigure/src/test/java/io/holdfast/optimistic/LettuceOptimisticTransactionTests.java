package io.holdfast.optimistic;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;

import io.holdfast.HoldfastException;
import io.holdfast.LeaseStoreException;
import io.holdfast.OptimisticTransactionException;
import io.holdfast.optimistic.OptimisticTransactions.Options;
import io.holdfast.testing.FaultProxy;
import io.holdfast.testing.RedisServer;
import io.holdfast.testing.TestRedis;
import io.holdfast.testing.WithRedis;
import io.lettuce.core.ReadFrom;
import io.lettuce.core.api.StatefulConnection;
import org.apache.commons.pool2.impl.GenericObjectPoolConfig;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import org.springframework.dao.DataAccessException;
import org.springframework.data.redis.connection.RedisClusterConfiguration;
import org.springframework.data.redis.connection.RedisConfiguration;
import org.springframework.data.redis.connection.RedisConnectionFactory;
import org.springframework.data.redis.connection.RedisServerCommands;
import org.springframework.data.redis.connection.RedisStandaloneConfiguration;
import org.springframework.data.redis.connection.RedisStaticMasterReplicaConfiguration;
import org.springframework.data.redis.connection.lettuce.LettuceClientConfiguration;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;
import org.springframework.data.redis.connection.lettuce.LettucePoolingClientConfiguration;
import org.springframework.data.redis.core.RedisCallback;
import org.springframework.data.redis.core.StringRedisTemplate;
import org.springframework.data.redis.core.types.RedisClientInfo;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatException;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.awaitility.Awaitility.await;

/**
 * Optimistic transactions over Lettuce, and their connections.
 */
@WithRedis
class LettuceOptimisticTransactionTests extends OptimisticTransactionContract {

	/** Number of idle connections for further transactions. */
	private static final int IDLE = 8;

	/** Flag in the answer of {@code CLIENT LIST}. */
	private static final String CHANGED_WATCHED_KEY = "d";

	private final List<LettuceConnectionFactory> factories = new ArrayList<>();

	LettuceOptimisticTransactionTests(TestRedis redis) {
		super(redis);
	}

	@Override
	RedisConnectionFactory connect(String host, int port) {
		return this.redis.connectionFactory(host, port);
	}

	@Override
	@SuppressWarnings("unchecked")
	RedisConnectionFactory connect(GenericObjectPoolConfig<?> pool) {
		LettuceConnectionFactory connections = new LettuceConnectionFactory(
				new RedisStandaloneConfiguration(this.redis.host(), this.redis.port()),
				LettucePoolingClientConfiguration.builder()
					.poolConfig((GenericObjectPoolConfig<StatefulConnection<?, ?>>) pool)
					.build());
		connections.setShareNativeConnection(false);
		return start(connections);
	}

	@Override
	RedisConnectionFactory cluster(RedisClusterConfiguration configuration) {
		return new LettuceConnectionFactory(configuration);
	}

	@AfterEach
	void closeFactories() {
		this.factories.forEach(LettuceConnectionFactory::destroy);
	}

	private LettuceConnectionFactory connect(RedisConfiguration server, LettuceClientConfiguration client) {
		return start(new LettuceConnectionFactory(server, client));
	}

	private LettuceConnectionFactory start(LettuceConnectionFactory connections) {
		this.factories.add(connections);
		connections.afterPropertiesSet();
		connections.start();
		return connections;
	}

	private static long info(StringRedisTemplate observer, String section, String figure) {
		Properties info = observer
			.execute((RedisCallback<Properties>) (connection) -> connection.serverCommands().info(section));
		return Long.parseLong(info.getProperty(figure));
	}

	private static long connectionsMade(StringRedisTemplate observer) {
		return info(observer, "stats", "total_connections_received");
	}

	private static long connections(StringRedisTemplate observer) {
		return info(observer, "clients", "connected_clients");
	}

	@Test
	@DisplayName("S8 keys are watched and read on one connection, beside the shared connection of the factory")
	void watchesBesideSharedConnection() {
		RedisServer server = this.redis.startServer();
		RedisConnectionFactory connections = connect(server.host(), server.port());
		StringRedisTemplate shared = new StringRedisTemplate(connections);
		List<RedisClientInfo> clients = new OptimisticTransactions(connections).execute(List.of(this.a), (tx) -> {
			tx.read().opsForValue().get(this.a);
			shared.opsForValue().append(this.a, "+");
			return shared.execute(RedisServerCommands::getClientList);
		});
		assertThat(clients).filteredOn((client) -> client.getFlags().contains(CHANGED_WATCHED_KEY))
			.extracting(RedisClientInfo::getLastCommand)
			.containsExactly("get");
	}

	@Test
	@DisplayName("S8 thousands of transactions in sequence use one connection")
	void reusesConnection() {
		RedisServer server = this.redis.startServer();
		StringRedisTemplate observer = new StringRedisTemplate(connect(server.host(), server.port()));
		OptimisticTransactions through = new OptimisticTransactions(connect(server.host(), server.port()));
		long before = connectionsMade(observer);
		for (int i = 0; i < 3000; i++) {
			increment(through, this.a);
		}
		assertThat(observer.opsForValue().get(this.a)).isEqualTo("3000");
		assertThat(connectionsMade(observer) - before).isEqualTo(1);
	}

	@Test
	@DisplayName("F16 thousands of interrupts at any moment: no write is partial or left queued, and no connection leaks")
	void interrupts() {
		RedisServer server = this.redis.startServer();
		StringRedisTemplate observer = new StringRedisTemplate(connect(server.host(), server.port()));
		OptimisticTransactions through = new OptimisticTransactions(connect(server.host(), server.port()));
		long before = connections(observer);
		AtomicBoolean enough = new AtomicBoolean();
		AtomicInteger written = new AtomicInteger();
		AtomicInteger unknown = new AtomicInteger();
		List<Thread> workers = new ArrayList<>();
		List<CompletableFuture<Void>> ends = new ArrayList<>();
		// More than idle connections.
		for (int i = 0; i < IDLE + 4; i++) {
			ends.add(CompletableFuture.runAsync(() -> {
				while (!enough.get()) {
					countInterrupted(through, written, unknown);
				}
			}, (task) -> {
				Thread worker = new Thread(task, "worker");
				workers.add(worker);
				worker.start();
			}));
		}
		for (int i = 0; i < 3000; i++) {
			LockSupport.parkNanos(ThreadLocalRandom.current().nextInt(2_000_000));
			workers.get(i % workers.size()).interrupt();
		}
		// On a busy machine, no transaction may succeed between two interrupts.
		await("something written").atMost(SOON).until(() -> written.get() > 0);
		enough.set(true);
		assertThat(CompletableFuture.allOf(ends.toArray(CompletableFuture[]::new))).succeedsWithin(SOON);
		assertThat(written).hasPositiveValue();
		assertThat(Integer.parseInt(observer.opsForValue().get(this.a))).isBetween(written.get(),
				written.get() + unknown.get());
		assertThat(observer.opsForValue().get(this.b)).isEqualTo(observer.opsForValue().get(this.a));
		await("few connections").atMost(SOON).until(() -> connections(observer) - before <= IDLE);
	}

	private void countInterrupted(OptimisticTransactions through, AtomicInteger written, AtomicInteger unknown) {
		try {
			through.execute(List.of(this.a, this.b), (tx) -> {
				List<String> read = tx.read().opsForValue().multiGet(List.of(this.a, this.b));
				assertThat(read.get(0)).isEqualTo(read.get(1));
				String next = String.valueOf((read.get(0) != null) ? Integer.parseInt(read.get(0)) + 1 : 1);
				tx.write((writer) -> writer.opsForValue().set(this.a, next));
				tx.write((writer) -> writer.opsForValue().set(this.b, next));
				return null;
			});
			written.incrementAndGet();
		}
		catch (HoldfastException | DataAccessException ex) {
			assertThat(Thread.currentThread().isInterrupted()).as("interrupt flag").isTrue();
			if (ex.getMessage().contains("it is not known whether it was run")) {
				unknown.incrementAndGet();
			}
		}
		Thread.interrupted();
	}

	@Test
	@DisplayName("F9 with a silent Redis, a transaction ends after the driver's command timeout")
	void redisIsSilent() {
		try (FaultProxy proxy = FaultProxy.to(this.redis.host(), this.redis.port())) {
			OptimisticTransactions through = new OptimisticTransactions(
					connect(new RedisStandaloneConfiguration(proxy.host(), proxy.port()),
							LettuceClientConfiguration.builder().commandTimeout(Duration.ofSeconds(3)).build()));
			increment(through, this.a);
			long start = System.nanoTime();
			assertThatExceptionOfType(LeaseStoreException.class)
				.isThrownBy(() -> through.execute(List.of(this.a), (tx) -> {
					proxy.blackHole();
					tx.write((writer) -> writer.opsForValue().set(this.a, "lost"));
					return null;
				}))
				.withMessageContaining("was not run, and nothing written")
				.withMessageContaining("ommand timed out after 3 second(s)");
			assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(Duration.ofMillis(5900));
			proxy.pass();
			increment(through, this.a);
			assertThat(this.values.get(this.a)).isEqualTo("2");
		}
	}

	@Test
	@DisplayName("A connection to a former master that does not answer is not used again, although it stays open")
	void formerMaster() {
		RedisServer old = this.redis.startServer("--replica-serve-stale-data", "no");
		RedisServer next = this.redis.startServer();
		try (FaultProxy address = FaultProxy.to(old.host(), old.port())) {
			OptimisticTransactions through = new OptimisticTransactions(
					connect(new RedisStandaloneConfiguration(address.host(), address.port()),
							LettuceClientConfiguration.defaultConfiguration()));
			increment(through, this.a);
			address.redirect(next.host(), next.port());
			new StringRedisTemplate(connect(old.host(), old.port()))
				.execute((RedisCallback<?>) (connection) -> connection.execute("REPLICAOF", "127.0.0.1".getBytes(),
						"1".getBytes()));
			assertThatException().isThrownBy(() -> increment(through, this.a)).withStackTraceContaining("MASTERDOWN");
			increment(through, this.a);
			assertThat(new StringRedisTemplate(connect(next.host(), next.port())).opsForValue().get(this.a))
				.isEqualTo("1");
		}
	}

	@Test
	@DisplayName("A factory is used anew after a stop and a start")
	void survivesRestartedFactory() {
		increment(this.transactions, this.a);
		((LettuceConnectionFactory) this.factory).stop();
		assertThatExceptionOfType(LeaseStoreException.class).isThrownBy(() -> increment(this.transactions, this.a))
			.withMessageContaining("was not begun");
		((LettuceConnectionFactory) this.factory).start();
		increment(this.transactions, this.a);
		assertThat(this.values.get(this.a)).isEqualTo("2");
	}

	@Test
	@DisplayName("S8 a transaction reads from the master, for any configured read preference")
	void readsFromMaster() {
		RedisServer master = this.redis.startServer();
		RedisServer replica = this.redis.startServer("--replicaof", master.host(), Integer.toString(master.port()));
		StringRedisTemplate observer = new StringRedisTemplate(connect(replica.host(), replica.port()));
		await("replication").atMost(SOON)
			.until(() -> observer
				.execute((RedisCallback<Properties>) (connection) -> connection.serverCommands().info("replication"))
				.getProperty("master_link_status")
				.equals("up"));
		OptimisticTransactions through = new OptimisticTransactions(
				connect(new RedisStandaloneConfiguration(master.host(), master.port()),
						LettuceClientConfiguration.builder().readFrom(ReadFrom.REPLICA).build()));
		replica.freeze();
		increment(through, this.a);
		increment(through, this.a);
		assertThat(new StringRedisTemplate(connect(master.host(), master.port())).opsForValue().get(this.a))
			.isEqualTo("2");
	}

	@Test
	@DisplayName("A static configuration of master and replicas is refused")
	void refusesStaticMasterReplica() {
		OptimisticTransactions through = new OptimisticTransactions(
				connect(new RedisStaticMasterReplicaConfiguration(this.redis.host(), this.redis.port()),
						LettuceClientConfiguration.defaultConfiguration()));
		assertThatExceptionOfType(LeaseStoreException.class).isThrownBy(() -> increment(through, this.a))
			.withMessageContaining("was not begun: Lettuce has no address of the master");
	}

	@Test
	@DisplayName("A transaction works in the configured database, with the rights of the guide; a missing right is an error")
	void databaseAndRights() {
		RedisServer server = this.redis.startServer();
		StringRedisTemplate admin = new StringRedisTemplate(connect(server.host(), server.port()));
		acl(admin, "SETUSER", "app", "on", ">secret", "~*", "+select", "+get", "+set", "+append", "+watch", "+unwatch",
				"+multi", "+exec", "+discard", "+exists");
		RedisStandaloneConfiguration configuration = new RedisStandaloneConfiguration(server.host(), server.port());
		configuration.setDatabase(3);
		configuration.setUsername("app");
		configuration.setPassword("secret");
		LettuceConnectionFactory connections = connect(configuration,
				LettuceClientConfiguration.defaultConfiguration());
		OptimisticTransactions through = new OptimisticTransactions(connections,
				new Options(2, Duration.ofMinutes(1), Duration.ofMillis(1)));
		StringRedisTemplate template = new StringRedisTemplate(connections);
		increment(through, this.a);
		assertThat(template.opsForValue().get(this.a)).isEqualTo("1");
		assertThat(admin.hasKey(this.a)).as("value in the default database").isFalse();
		assertThatExceptionOfType(OptimisticTransactionException.class)
			.isThrownBy(() -> through.execute(List.of(this.a, this.b), (tx) -> {
				template.opsForValue().append(this.a, "0");
				tx.write((writer) -> writer.opsForValue().set(this.a, "lost"));
				return null;
			}));
		IllegalStateException failure = new IllegalStateException("in vain");
		assertThatExceptionOfType(IllegalStateException.class)
			.isThrownBy(() -> through.execute(List.of(this.a), (tx) -> {
				tx.write((writer) -> {
					throw failure;
				});
				return null;
			}))
			.isSameAs(failure);
		acl(admin, "SETUSER", "app", "-watch");
		assertThatExceptionOfType(LeaseStoreException.class).isThrownBy(() -> increment(through, this.a))
			.withMessageContainingAll("was not begun", "NOPERM", "watch");
	}

	@Test
	@DisplayName("A connection on which Redis refuses to end a transaction is not used again")
	void mayNotDiscard() {
		RedisServer server = this.redis.startServer();
		RedisConnectionFactory connections = connect(server.host(), server.port());
		StringRedisTemplate admin = new StringRedisTemplate(connections);
		acl(admin, "SETUSER", "default", "-discard", "-unwatch");
		OptimisticTransactions through = new OptimisticTransactions(connections);
		IllegalStateException failure = new IllegalStateException("in vain");
		for (int i = 0; i < 3; i++) {
			assertThatExceptionOfType(IllegalStateException.class)
				.isThrownBy(() -> through.execute(List.of(this.a), (tx) -> {
					tx.write((writer) -> {
						throw failure;
					});
					return null;
				}))
				.isSameAs(failure);
			assertThat(through.<String>execute(List.of(this.b), (tx) -> "read")).isEqualTo("read");
			increment(through, this.a);
		}
		assertThat(admin.opsForValue().get(this.a)).isEqualTo("3");
	}

	private static void acl(StringRedisTemplate admin, String... words) {
		byte[][] arguments = List.of(words)
			.stream()
			.map((word) -> word.getBytes(StandardCharsets.UTF_8))
			.toArray(byte[][]::new);
		admin.execute((RedisCallback<Object>) (connection) -> connection.execute("ACL", arguments));
	}

}
