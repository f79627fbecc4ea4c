package io.holdfast.redis.driver;

import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

import io.holdfast.async.DaemonThreads;
import io.holdfast.testing.HalfOpenProxy;
import io.holdfast.testing.RedisServer;
import io.holdfast.testing.RedisTestCase;
import io.lettuce.core.ClientOptions;
import io.lettuce.core.ReadFrom;
import io.lettuce.core.SocketOptions;
import io.lettuce.core.SslVerifyMode;
import io.lettuce.core.TimeoutOptions;
import io.lettuce.core.TimeoutOptions.TimeoutSource;
import io.lettuce.core.cluster.ClusterClientOptions;
import io.lettuce.core.cluster.ClusterTopologyRefreshOptions;
import io.lettuce.core.protocol.CommandType;
import io.lettuce.core.protocol.RedisCommand;
import io.lettuce.core.resource.ClientResources;
import javax.net.ssl.SSLSocketFactory;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

import org.springframework.aop.framework.ProxyFactory;
import org.springframework.core.InfrastructureProxy;
import org.springframework.data.redis.connection.RedisClusterConfiguration;
import org.springframework.data.redis.connection.RedisConfiguration;
import org.springframework.data.redis.connection.RedisConnection;
import org.springframework.data.redis.connection.RedisConnectionFactory;
import org.springframework.data.redis.connection.RedisSentinelConfiguration;
import org.springframework.data.redis.connection.RedisSocketConfiguration;
import org.springframework.data.redis.connection.RedisStandaloneConfiguration;
import org.springframework.data.redis.connection.RedisStaticMasterReplicaConfiguration;
import org.springframework.data.redis.connection.jedis.JedisClientConfiguration;
import org.springframework.data.redis.connection.jedis.JedisConnectionFactory;
import org.springframework.data.redis.connection.lettuce.LettuceClientConfiguration;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;
import org.springframework.data.redis.core.RedisCallback;
import org.springframework.data.redis.core.StringRedisTemplate;
import org.springframework.test.util.ReflectionTestUtils;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.awaitility.Awaitility.await;
import static org.mockito.BDDMockito.given;
import static org.mockito.Mockito.mock;
import static org.mockito.Mockito.withSettings;

/**
 * Servers and options of Holdfast's own connections, taken from the application's.
 */
class HoldfastConnectionFactoryTests extends RedisTestCase {

	private HoldfastConnectionFactory own(RedisConnectionFactory application) {
		HoldfastConnectionFactory own = HoldfastConnectionFactory.of(application, HoldfastConnectionFactory.MAX_SILENCE,
				new DaemonThreads());
		this.redis.closeAtEnd(own::destroy);
		return own;
	}

	private RedisConfiguration configurationOf(RedisConnectionFactory application) {
		HoldfastConnectionFactory own = own(application);
		return (RedisConfiguration) ReflectionTestUtils.getField(own, LettuceConnectionFactory.class, "configuration");
	}

	static Stream<RedisConfiguration> configurations() {
		RedisStandaloneConfiguration standalone = new RedisStandaloneConfiguration("redis.example", 6380);
		standalone.setDatabase(3);
		standalone.setUsername("app");
		standalone.setPassword("secret");
		return Stream.of(standalone, new RedisSocketConfiguration("/run/redis.sock"),
				new RedisSentinelConfiguration().master("main").sentinel("redis.example", 26379),
				new RedisClusterConfiguration().clusterNode("redis.example", 7000),
				new RedisStaticMasterReplicaConfiguration("redis.example", 6380));
	}

	@ParameterizedTest
	@MethodSource("configurations")
	@DisplayName("Each kind of Lettuce configuration is used")
	void lettuce(RedisConfiguration configuration) {
		assertThat(configurationOf(new LettuceConnectionFactory(configuration))).isSameAs(configuration);
	}

	@Test
	@DisplayName("Lettuce's client options are used, but with a connect timeout and always with reconnection")
	void clientOptions() {
		ClientOptions options = ClientOptions.builder()
			.autoReconnect(false)
			.suspendReconnectOnProtocolFailure(true)
			.requestQueueSize(17)
			.socketOptions(SocketOptions.builder().connectTimeout(Duration.ofSeconds(10)).keepAlive(true).build())
			.build();
		HoldfastConnectionFactory own = own(new LettuceConnectionFactory(new RedisStandaloneConfiguration(),
				LettuceClientConfiguration.builder()
					.clientOptions(options)
					.clientName("shop")
					.readFrom(ReadFrom.REPLICA_PREFERRED)
					.commandTimeout(Duration.ofSeconds(7))
					.useSsl()
					.verifyPeer(SslVerifyMode.CA)
					.startTls()
					.build()));
		LettuceClientConfiguration client = own.getClientConfiguration();
		assertThat(client.getClientOptions()).hasValueSatisfying((used) -> {
			assertThat(used.isAutoReconnect()).isTrue();
			assertThat(used.isSuspendReconnectOnProtocolFailure()).isFalse();
			assertThat(used.getRequestQueueSize()).isEqualTo(17);
			assertThat(used.getSocketOptions().isKeepAlive()).isTrue();
			assertThat(used.getSocketOptions().getConnectTimeout()).isEqualTo(Duration.ofSeconds(2));
		});
		assertThat(client.getClientName()).hasValue("shop");
		assertThat(client.getReadFrom()).hasValue(ReadFrom.REPLICA_PREFERRED);
		assertThat(HoldfastConnectionFactory.MAX_SILENCE).as("documented").hasSeconds(15);
		assertThat(client.getCommandTimeout()).as("for a handshake").isEqualTo(Duration.ofSeconds(5));
		assertThat(client.isUseSsl()).isTrue();
		assertThat(client.isStartTls()).isTrue();
		assertThat(client.getVerifyMode()).isEqualTo(SslVerifyMode.CA);
	}

	@Test
	@DisplayName("The view of a cluster is refreshed with any version of Lettuce, and as often as the application sets")
	void clusterRefresh() {
		ClusterTopologyRefreshOptions.Builder refresh = ClusterTopologyRefreshOptions.builder();
		for (ClientOptions options : List.of(ClientOptions.create(), options(refresh.build()))) {
			assertThat(refreshed(options)).satisfiesAnyOf(
					(used) -> assertThat(used.getAdaptiveRefreshTriggers()).isNotEmpty(),
					(used) -> assertThat(used.isPeriodicRefreshEnabled()).isTrue());
		}
		ClusterTopologyRefreshOptions periodic = refresh.enablePeriodicRefresh(Duration.ofMinutes(3)).build();
		assertThat(refreshed(options(periodic))).isSameAs(periodic);
	}

	private static ClientOptions options(ClusterTopologyRefreshOptions refresh) {
		return ClusterClientOptions.builder().topologyRefreshOptions(refresh).build();
	}

	private ClusterTopologyRefreshOptions refreshed(ClientOptions options) {
		HoldfastConnectionFactory own = own(
				new LettuceConnectionFactory(new RedisClusterConfiguration().clusterNode("redis.example", 7000),
						LettuceClientConfiguration.builder().clientOptions(options).build()));
		return ((ClusterClientOptions) own.getClientConfiguration().getClientOptions().orElseThrow())
			.getTopologyRefreshOptions();
	}

	static Stream<Arguments> timeouts() {
		TimeoutSource source = new TimeoutSource() {

			@Override
			public long getTimeout(RedisCommand<?, ?, ?> command) {
				return (command.getType() == CommandType.EVALSHA) ? 4 : 9;
			}

			@Override
			public TimeUnit getTimeUnit() {
				return TimeUnit.SECONDS;
			}

		};
		return Stream.of(Arguments.of(TimeoutOptions.enabled(), 7L, 7), Arguments.of(TimeoutOptions.create(), 7L, 7),
				Arguments.of(TimeoutOptions.enabled(), 0L, null),
				Arguments.of(TimeoutOptions.enabled(), Long.MAX_VALUE, null),
				Arguments.of(TimeoutOptions.enabled(Duration.ofSeconds(3)), 7L, 3),
				Arguments.of(TimeoutOptions.builder().timeoutSource(source).build(), 7L, 4));
	}

	@ParameterizedTest
	@MethodSource
	@DisplayName("The driver has no timer for commands, since the engine knows the command timeout")
	void timeouts(TimeoutOptions timeouts, long seconds, @Nullable Integer expected) {
		HoldfastConnectionFactory own = own(new LettuceConnectionFactory(new RedisStandaloneConfiguration(),
				LettuceClientConfiguration.builder()
					.clientOptions(ClientOptions.builder().timeoutOptions(timeouts).build())
					.commandTimeout(Duration.ofSeconds(seconds))
					.build()));
		assertThat(own.answerNanos())
			.isEqualTo((expected == null) ? Long.MAX_VALUE : TimeUnit.SECONDS.toNanos(expected));
		assertThat(own.getClientConfiguration().getClientOptions().orElseThrow().getTimeoutOptions()).returns(false,
				TimeoutOptions::isTimeoutCommands);
	}

	@Test
	@DisplayName("The application's threads are used, and go on after Holdfast's connections are destroyed")
	void resources() {
		ClientResources resources = ClientResources.create();
		try {
			LettuceConnectionFactory application = new LettuceConnectionFactory(
					new RedisStandaloneConfiguration(this.redis.host(), this.redis.port()),
					LettuceClientConfiguration.builder().clientResources(resources).build());
			application.afterPropertiesSet();
			HoldfastConnectionFactory own = own(application);
			assertThat(own.getClientConfiguration().getClientResources()).hasValueSatisfying(
					(used) -> assertThat(used.eventLoopGroupProvider()).isSameAs(resources.eventLoopGroupProvider()));
			assertThat(own.getConnection().ping()).isEqualTo("PONG");
			own.destroy();
			assertThat(application.getConnection().ping()).isEqualTo("PONG");
			application.destroy();
		}
		finally {
			resources.shutdown().awaitUninterruptibly();
		}
	}

	@Test
	@DisplayName("A silent connection is opened again, and unanswered commands are sent again")
	void halfOpen() throws IOException {
		try (HalfOpenProxy proxy = new HalfOpenProxy(this.redis.host(), this.redis.port())) {
			HoldfastConnectionFactory own = HoldfastConnectionFactory.of(
					this.redis.connectionFactory(this.redis.host(), proxy.port()), Duration.ofMillis(300),
					new DaemonThreads());
			try (RedisConnection connection = own.getConnection()) {
				assertThat(connection.ping()).isEqualTo("PONG");
				proxy.lose("PING");
				proxy.pass();
				assertThat(connection.ping()).isEqualTo("PONG");
			}
			finally {
				own.destroy();
			}
		}
	}

	@Test
	@DisplayName("A connection is opened at its first use, also after a stop")
	void lazy() {
		RedisServer server = this.redis.startServer();
		StringRedisTemplate observer = new StringRedisTemplate(
				this.redis.connectionFactory(server.host(), server.port()));
		long before = connections(observer);
		HoldfastConnectionFactory own = own(this.redis.connectionFactory(server.host(), server.port()));
		for (int i = 0; i < 2; i++) {
			assertThat(connections(observer)).isEqualTo(before);
			assertThat(own.getConnection().ping()).isEqualTo("PONG");
			assertThat(connections(observer)).isEqualTo(before + 1);
			own.stop();
			await().until(() -> connections(observer) == before);
		}
	}

	private static long connections(StringRedisTemplate observer) {
		return observer
			.execute((RedisCallback<Integer>) (connection) -> connection.serverCommands().getClientList().size());
	}

	@ParameterizedTest
	@ValueSource(longs = { 0, 1, 8, 9, 62, 63, 64, 1000, Long.MAX_VALUE })
	@DisplayName("After any number of failures the next attempt to connect follows within about half a second")
	void reconnectDelay(long attempt) {
		Duration delay = HoldfastConnectionFactory.RECONNECT_DELAY.createDelay(attempt);
		assertThat(delay).isBetween(Duration.ZERO, Duration.ofMillis(512));
	}

	@Test
	@DisplayName("A proxy of Spring's is unwrapped")
	void proxied() {
		RedisClusterConfiguration cluster = new RedisClusterConfiguration().clusterNode("redis.example", 7000);
		LettuceConnectionFactory factory = new LettuceConnectionFactory(cluster);
		ProxyFactory byInterface = new ProxyFactory(factory);
		byInterface.setInterfaces(RedisConnectionFactory.class);
		ProxyFactory byClass = new ProxyFactory(byInterface.getProxy());
		ProxyFactory ofClass = new ProxyFactory(factory);
		ofClass.setProxyTargetClass(true);
		Stream.of(byInterface, byClass, ofClass)
			.map((proxy) -> (RedisConnectionFactory) proxy.getProxy())
			.forEach((proxy) -> {
				assertThat(proxy).isNotSameAs(factory);
				assertThat(Drivers.isCluster(proxy)).isTrue();
				assertThat(configurationOf(proxy)).isSameAs(cluster);
			});
	}

	@Test
	@DisplayName("An InfrastructureProxy is unwrapped")
	void wrapped() {
		RedisConnectionFactory wrapper = mock(RedisConnectionFactory.class,
				withSettings().extraInterfaces(InfrastructureProxy.class));
		RedisClusterConfiguration cluster = new RedisClusterConfiguration().clusterNode("redis.example", 7000);
		given(((InfrastructureProxy) wrapper).getWrappedObject()).willReturn(new JedisConnectionFactory(cluster));
		assertThat(Drivers.isCluster(wrapper)).isTrue();
		assertThat(configurationOf(wrapper)).isSameAs(cluster);
	}

	@Test
	@DisplayName("A factory without a known server is refused with its name and the bean to define")
	void unknown() {
		RedisConnectionFactory unknown = mock(RedisConnectionFactory.class);
		assertThatIllegalStateException().isThrownBy(() -> own(unknown))
			.withMessageContaining(unknown.getClass().getName())
			.withMessageContaining("@Bean LeaseEngine")
			.withMessageContaining("holdfast.backend=memory");
	}

	static Stream<JedisConnectionFactory> jedis() {
		return configurations().flatMap((configuration) -> {
			if (configuration instanceof RedisStandaloneConfiguration standalone) {
				return Stream.of(new JedisConnectionFactory(standalone));
			}
			if (configuration instanceof RedisSentinelConfiguration sentinel) {
				return Stream.of(new JedisConnectionFactory(sentinel));
			}
			return (configuration instanceof RedisClusterConfiguration cluster)
					? Stream.of(new JedisConnectionFactory(cluster)) : Stream.empty();
		});
	}

	@ParameterizedTest
	@MethodSource("jedis")
	@DisplayName("Each kind of Jedis configuration is used")
	void jedisConfiguration(JedisConnectionFactory factory) {
		RedisConfiguration configuration = configurationOf(factory);
		assertThat(configuration).isIn(factory.getStandaloneConfiguration(), factory.getSentinelConfiguration(),
				factory.getClusterConfiguration());
		assertThat(RedisConfiguration.isClusterConfiguration(configuration)).isEqualTo(factory.isRedisClusterAware());
		assertThat(RedisConfiguration.isSentinelConfiguration(configuration)).isEqualTo(factory.isRedisSentinelAware());
	}

	@Test
	@DisplayName("Jedis's client name and timeouts are used, and in a cluster its nodes are looked up at intervals")
	void jedisClient() {
		JedisClientConfiguration client = JedisClientConfiguration.builder()
			.clientName("shop")
			.readTimeout(Duration.ofSeconds(7))
			.connectTimeout(Duration.ofMillis(700))
			.build();
		LettuceClientConfiguration converted = JedisToLettuceConverter
			.convert(new JedisConnectionFactory(new RedisClusterConfiguration().clusterNode("redis.example", 7000),
					client), null)
			.getClientConfiguration();
		assertThat(converted.getClientName()).hasValue("shop");
		assertThat(converted.getCommandTimeout()).isEqualTo(Duration.ofSeconds(7));
		assertThat(converted.isUseSsl()).isFalse();
		assertThat(converted.getClientOptions()).hasValueSatisfying((options) -> {
			assertThat(options.getSocketOptions().getConnectTimeout()).isEqualTo(Duration.ofMillis(700));
			assertThat(options.getTimeoutOptions().isTimeoutCommands()).isTrue();
			assertThat(((ClusterClientOptions) options).getTopologyRefreshOptions().isPeriodicRefreshEnabled())
				.isTrue();
		});
	}

	@Test
	@DisplayName("An encrypted Jedis trusts the JVM's certificates, and compares host names only if configured")
	void jedisEncryption() {
		JedisClientConfiguration client = JedisClientConfiguration.builder().useSsl().build();
		JedisClientConfiguration strict = JedisClientConfiguration.builder()
			.useSsl()
			.hostnameVerifier((name, session) -> false)
			.build();
		assertThat(converted(client).isUseSsl()).isTrue();
		assertThat(converted(client).getVerifyMode()).isEqualTo(SslVerifyMode.CA);
		assertThat(converted(strict).getVerifyMode()).isEqualTo(SslVerifyMode.FULL);
	}

	private static LettuceClientConfiguration converted(JedisClientConfiguration client) {
		return JedisToLettuceConverter
			.convert(new JedisConnectionFactory(new RedisStandaloneConfiguration(), client), null)
			.getClientConfiguration();
	}

	@Test
	@DisplayName("An encrypted Jedis with its own socket factory is refused, with the property to set")
	void jedisSocketFactory() {
		JedisClientConfiguration client = JedisClientConfiguration.builder()
			.useSsl()
			.sslSocketFactory((SSLSocketFactory) SSLSocketFactory.getDefault())
			.build();
		assertThatIllegalStateException().isThrownBy(() -> converted(client))
			.withMessageContaining("spring.data.redis.ssl.bundle")
			.withMessageContaining("@Bean LeaseEngine");
	}

}
