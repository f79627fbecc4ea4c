package io.holdfast.redis.driver;

import java.lang.reflect.Field;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;

import io.holdfast.async.DaemonThreads;
import io.lettuce.core.AbstractRedisClient;
import io.lettuce.core.ClientOptions;
import io.lettuce.core.SocketOptions;
import io.lettuce.core.TimeoutOptions;
import io.lettuce.core.TimeoutOptions.TimeoutSource;
import io.lettuce.core.cluster.ClusterClientOptions;
import io.lettuce.core.cluster.ClusterTopologyRefreshOptions;
import io.lettuce.core.codec.ByteArrayCodec;
import io.lettuce.core.event.DefaultEventPublisherOptions;
import io.lettuce.core.protocol.Command;
import io.lettuce.core.protocol.CommandType;
import io.lettuce.core.pubsub.StatefulRedisPubSubConnection;
import io.lettuce.core.resource.ClientResources;
import io.lettuce.core.resource.DefaultClientResources;
import io.lettuce.core.resource.Delay;
import io.lettuce.core.resource.NettyCustomizer;
import io.lettuce.core.tracing.Tracing;
import io.netty.bootstrap.Bootstrap;
import io.netty.channel.Channel;
import io.netty.channel.EventLoop;
import io.netty.handler.flush.FlushConsolidationHandler;
import io.netty.util.concurrent.DefaultThreadFactory;
import io.netty.util.concurrent.FastThreadLocal;
import org.jspecify.annotations.Nullable;

import org.springframework.data.redis.connection.RedisConfiguration;
import org.springframework.data.redis.connection.RedisConnection;
import org.springframework.data.redis.connection.RedisConnectionFactory;
import org.springframework.data.redis.connection.jedis.JedisConnectionFactory;
import org.springframework.data.redis.connection.lettuce.LettuceClientConfiguration;
import org.springframework.data.redis.connection.lettuce.LettuceClientConfiguration.LettuceClientConfigurationBuilder;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;
import org.springframework.util.ReflectionUtils;

/**
 * Holdfast's own Lettuce connections to the Redis of the application. This factory is no
 * bean: the application neither sees nor pauses the connections, and no transaction binds
 * the connections to a thread. The connections open at their first use, and at the next
 * use after a stop.
 */
public final class HoldfastConnectionFactory extends LettuceConnectionFactory {

	private static final Duration MAX_CONNECT_TIME = Duration.ofSeconds(2);

	/**
	 * Timeout of the first answer on a connection. Lettuce would wait as long as for a
	 * command, a minute by default, before its next attempt.
	 */
	private static final Duration MAX_HANDSHAKE_TIME = Duration.ofSeconds(5);

	/**
	 * Maximum silence of a server with unanswered commands: short enough to renew a lease
	 * of 30 seconds in time.
	 */
	public static final Duration MAX_SILENCE = Duration.ofSeconds(15);

	/**
	 * Maximum number of commands per system call. With more, such as 16, all commands of
	 * eight callers leave together, and Redis idles while the client works, and vice
	 * versa. With fewer, 64 callers pay for more system calls.
	 */
	private static final int MAX_FLUSHES = 6;

	/** Event loop of the current thread, if the thread serves connections of Holdfast. */
	private static final FastThreadLocal<EventLoop> EVENT_LOOP = new FastThreadLocal<>();

	/**
	 * Delay before a reconnect. Random, so that instances do not reconnect all at once,
	 * and always short: Lettuce's default grows to half a minute, during which every call
	 * fails although Redis is back.
	 */
	static final Delay RECONNECT_DELAY = Delay.fullJitter(0, 512, 2, TimeUnit.MILLISECONDS);

	private final ClientResources resources;

	private final String address;

	private final long answerNanos;

	private HoldfastConnectionFactory(RedisConfiguration configuration, LettuceClientConfiguration client,
			ClientResources resources) {
		super(configuration, configure(configuration, client, resources));
		this.resources = resources;
		this.address = RedisAddress.describe(configuration);
		this.answerNanos = answerNanos(client);
		afterPropertiesSet();
	}

	/**
	 * Create connections to the Redis of an application. Nothing is connected.
	 * @param application the connection factory of the application. Only its
	 * configuration is used
	 * @param maxSilence the maximum silence of a server with unanswered commands, such as
	 * {@link #MAX_SILENCE}
	 * @param threads the factory of the driver's threads, unless the application has
	 * configured resources for the driver
	 * @return the connections, which the caller has to destroy
	 * @throws IllegalStateException if Lettuce is missing, or the factory does not tell
	 * the address of Redis
	 */
	public static HoldfastConnectionFactory of(RedisConnectionFactory application, Duration maxSilence,
			DaemonThreads threads) {
		LettuceConnectionFactory configured = lettuce(Drivers.unwrap(application));
		LettuceClientConfiguration client = configured.getClientConfiguration();
		return new HoldfastConnectionFactory(configuration(configured), client, resources(client, maxSilence, threads));
	}

	/**
	 * Return the event loop of the calling thread, or {@code null} for other threads.
	 */
	static @Nullable EventLoop eventLoop() {
		return EVENT_LOOP.getIfExists();
	}

	private static LettuceConnectionFactory lettuce(RedisConnectionFactory factory) {
		if (factory instanceof LettuceConnectionFactory lettuce) {
			return lettuce;
		}
		if (factory instanceof JedisConnectionFactory jedis) {
			return JedisToLettuceConverter.convert(jedis, null);
		}
		throw Drivers.foreign("Holdfast cannot tell where Redis is from", factory, Drivers.CURE);
	}

	/**
	 * Return the address of Redis and further configuration. Read from a field, because
	 * no method returns the configuration in all cases.
	 */
	private static RedisConfiguration configuration(LettuceConnectionFactory factory) {
		Field field = ReflectionUtils.findField(LettuceConnectionFactory.class, "configuration",
				RedisConfiguration.class);
		if (field == null) {
			throw new IllegalStateException("Holdfast does not know this version of Spring Data Redis: its"
					+ " LettuceConnectionFactory does not tell where Redis is");
		}
		ReflectionUtils.makeAccessible(field);
		return (RedisConfiguration) Objects.requireNonNull(ReflectionUtils.getField(field, factory));
	}

	/**
	 * Return resources with the threads and metrics of the application, if configured.
	 */
	private static ClientResources resources(LettuceClientConfiguration client, Duration maxSilence,
			DaemonThreads threads) {
		ClientResources.Builder builder = client.getClientResources()
			.map((application) -> sharing(application))
			.orElseGet(() -> own(threads));
		NettyCustomizer application = client.getClientResources()
			.map(ClientResources::nettyCustomizer)
			.orElse(DefaultClientResources.DEFAULT_NETTY_CUSTOMIZER);
		return builder.reconnectDelay(RECONNECT_DELAY).nettyCustomizer(new NettyCustomizer() {

			@Override
			public void afterBootstrapInitialized(Bootstrap bootstrap) {
				application.afterBootstrapInitialized(bootstrap);
			}

			@Override
			public void afterChannelInitialized(Channel channel) {
				application.afterChannelInitialized(channel);
				// First, so that encrypted messages count, too, as during the handshake.
				channel.pipeline()
					.addFirst(new SilenceHandler(maxSilence), new FlushConsolidationHandler(MAX_FLUSHES, true));
				EVENT_LOOP.set(channel.eventLoop());
			}

		}).build();
	}

	/** Return a builder of resources with the same threads as by default. */
	private static ClientResources.Builder own(DaemonThreads threads) {
		return ClientResources.builder().threadFactoryProvider((pool) -> {
			ThreadFactory inheriting = new DefaultThreadFactory(pool, true);
			return (task) -> threads.create(task, inheriting);
		});
	}

	/**
	 * Return a builder that shares the application's resources. The resources outlive the
	 * clients of Holdfast.
	 */
	private static ClientResources.Builder sharing(ClientResources application) {
		return application.mutate()
			// Holdfast has its own spans. A slow handler of the application would delay
			// all commands, because Lettuce calls the handler on the event loop.
			.tracing(Tracing.disabled())
			.eventLoopGroupProvider(application.eventLoopGroupProvider())
			.eventExecutorGroup(application.eventExecutorGroup())
			.timer(application.timer())
			.commandLatencyRecorder(application.commandLatencyRecorder())
			// The application publishes the shared measurements.
			.commandLatencyPublisherOptions(DefaultEventPublisherOptions.disabled());
	}

	private static LettuceClientConfiguration configure(RedisConfiguration configuration,
			LettuceClientConfiguration client, ClientResources resources) {
		LettuceClientConfigurationBuilder builder = LettuceClientConfiguration.builder()
			.clientResources(resources)
			.clientOptions(options(configuration, client))
			.commandTimeout(min(client.getCommandTimeout(), MAX_HANDSHAKE_TIME))
			.shutdownTimeout(client.getShutdownTimeout())
			.shutdownQuietPeriod(client.getShutdownQuietPeriod());
		client.getClientName().ifPresent(builder::clientName);
		client.getReadFrom().ifPresent(builder::readFrom);
		client.getRedisCredentialsProviderFactory().ifPresent(builder::redisCredentialsProviderFactory);
		if (client.isUseSsl()) {
			builder.useSsl().verifyPeer(client.getVerifyMode());
			if (client.isStartTls()) {
				builder.useSsl().startTls();
			}
		}
		return builder.build();
	}

	private static ClientOptions options(RedisConfiguration configuration, LettuceClientConfiguration client) {
		ClientOptions options = client.getClientOptions().orElseGet(ClientOptions::create);
		if (RedisConfiguration.isClusterConfiguration(configuration) && !(options instanceof ClusterClientOptions)) {
			// Lettuce would convert the options in the same way later.
			options = ClusterClientOptions.builder(options).build();
		}
		SocketOptions socket = options.getSocketOptions();
		ClientOptions.Builder changed = options.mutate()
			// The engine has a timeout for each answer. Timers of the driver would take a
			// twelfth of the memory of a call.
			.timeoutOptions(TimeoutOptions.create())
			// Holdfast itself does not reopen broken connections.
			.autoReconnect(true)
			.suspendReconnectOnProtocolFailure(false)
			.socketOptions(socket.mutate().connectTimeout(min(socket.getConnectTimeout(), MAX_CONNECT_TIME)).build());
		if (changed instanceof ClusterClientOptions.Builder cluster
				&& !isRefreshed(((ClusterClientOptions) options).getTopologyRefreshOptions())) {
			// By default, Lettuce before 7.0 never refreshes its view of a cluster.
			cluster.topologyRefreshOptions(ClusterTopologyRefreshOptions.builder()
				.enablePeriodicRefresh(JedisToLettuceConverter.REFRESH)
				.build());
		}
		return changed.build();
	}

	private static long answerNanos(LettuceClientConfiguration client) {
		TimeoutOptions timeouts = client.getClientOptions()
			.map(ClientOptions::getTimeoutOptions)
			.orElseGet(TimeoutOptions::enabled);
		TimeoutSource source = timeouts.getSource();
		long nanos = (timeouts.isTimeoutCommands() && !timeouts.isApplyConnectionTimeout())
				? source.getTimeUnit().toNanos(source.getTimeout(new Command<>(CommandType.EVALSHA, null)))
				: TimeUnit.NANOSECONDS.convert(client.getCommandTimeout());
		return (nanos > 0) ? nanos : Long.MAX_VALUE;
	}

	private static boolean isRefreshed(@Nullable ClusterTopologyRefreshOptions refresh) {
		return refresh != null
				&& (refresh.isPeriodicRefreshEnabled() || !refresh.getAdaptiveRefreshTriggers().isEmpty());
	}

	private static Duration min(Duration one, Duration other) {
		return (one.compareTo(other) < 0) ? one : other;
	}

	/**
	 * Return the address of Redis for messages.
	 * @return host and port, or an equivalent, without user and password
	 */
	public String address() {
		return this.address;
	}

	/**
	 * Return the application's command timeout, in nanoseconds; {@link Long#MAX_VALUE}
	 * for none.
	 */
	public long answerNanos() {
		return this.answerNanos;
	}

	@Override
	public RedisConnection getConnection() {
		startAgain();
		return super.getConnection();
	}

	@Override
	public AbstractRedisClient getRequiredNativeClient() {
		startAgain();
		return super.getRequiredNativeClient();
	}

	/**
	 * Open a connection for a subscription. Lettuce reopens a broken connection. Blocks.
	 */
	@SuppressWarnings("unchecked")
	public StatefulRedisPubSubConnection<byte[], byte[]> connectPubSub() {
		return doCreateConnectionProvider(getRequiredNativeClient(), ByteArrayCodec.INSTANCE)
			.getConnection(StatefulRedisPubSubConnection.class);
	}

	/**
	 * Start, also after a stop. Synchronized, because other threads would find the
	 * factory half started.
	 */
	private synchronized void startAgain() {
		start();
	}

	@Override
	public void destroy() {
		super.destroy();
		this.resources.shutdown(getClientConfiguration().getShutdownQuietPeriod().toMillis(),
				getClientConfiguration().getShutdownTimeout().toMillis(), TimeUnit.MILLISECONDS);
	}

}
