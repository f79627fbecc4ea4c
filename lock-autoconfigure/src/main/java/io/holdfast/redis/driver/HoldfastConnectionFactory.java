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
 * Lettuce connections of Holdfast's own, to the Redis of the application. They are no
 * bean: the application neither sees nor pauses them, and no transaction binds them to a
 * thread. They connect when they are first used, and again after they were stopped.
 */
public final class HoldfastConnectionFactory extends LettuceConnectionFactory {

	private static final Duration LONGEST_CONNECT = Duration.ofSeconds(2);

	/**
	 * Time for a server to answer the first words on a connection. Lettuce would wait for
	 * as long as for a command, a minute by default, before it tries another.
	 */
	private static final Duration LONGEST_HANDSHAKE = Duration.ofSeconds(5);

	/**
	 * How long a server may say nothing on a connection while it is asked for something:
	 * short enough for the renewal of a lease of 30 seconds to come in time.
	 */
	public static final Duration LONGEST_SILENCE = Duration.ofSeconds(15);

	/**
	 * Maximum number of commands per system call. With more, such as 16, all commands of
	 * eight callers leave together, and Redis idles while the client works, and the other
	 * way round. With fewer, 64 callers pay for more system calls.
	 */
	private static final int MAX_FLUSHES = 6;

	/** The event loop of the current thread, if it serves connections of Holdfast's. */
	private static final FastThreadLocal<EventLoop> EVENT_LOOP = new FastThreadLocal<>();

	/**
	 * Random, so that instances do not come all at once, and never long: Lettuce's
	 * default grows to half a minute, in which Redis is back and every call fails.
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
	 * @param application the connection factory of the application, of which only the
	 * configuration is used
	 * @param longestSilence how long a server may say nothing on a connection while it is
	 * asked for something, as {@link #LONGEST_SILENCE}
	 * @param threads makes the threads of the driver, unless the application has some
	 * @return the connections, to be destroyed by the caller
	 * @throws IllegalStateException if Lettuce is missing, or the factory does not tell
	 * where Redis is
	 */
	public static HoldfastConnectionFactory of(RedisConnectionFactory application, Duration longestSilence,
			DaemonThreads threads) {
		LettuceConnectionFactory configured = lettuce(Drivers.unwrap(application));
		LettuceClientConfiguration client = configured.getClientConfiguration();
		return new HoldfastConnectionFactory(configuration(configured), client,
				resources(client, longestSilence, threads));
	}

	/** Return the event loop that the calling thread is, or {@code null}. */
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
		throw RedisDriverException.foreign("Holdfast cannot tell where Redis is from", factory, Drivers.CURE);
	}

	/** Return where Redis is, by a field: no method tells it in all cases. */
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

	/** Return resources with the threads and metrics that the application has chosen. */
	private static ClientResources resources(LettuceClientConfiguration client, Duration longestSilence,
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
				// Encryption counts, too.
				channel.pipeline()
					.addFirst(new SilenceHandler(longestSilence), new FlushConsolidationHandler(MAX_FLUSHES, true));
				EVENT_LOOP.set(channel.eventLoop());
			}

		}).build();
	}

	/** Return a builder of resources with the threads that Lettuce would have. */
	private static ClientResources.Builder own(DaemonThreads threads) {
		return ClientResources.builder().threadFactoryProvider((pool) -> {
			ThreadFactory inheriting = new DefaultThreadFactory(pool, true);
			return (task) -> threads.create(task, inheriting);
		});
	}

	/**
	 * Return a builder that shares resources, which are not shut down with its clients.
	 */
	private static ClientResources.Builder sharing(ClientResources application) {
		return application.mutate()
			// Holdfast has spans of its own. A slow handler of the application would hold
			// up all commands, as Lettuce calls it on the event loop.
			.tracing(Tracing.disabled())
			.eventLoopGroupProvider(application.eventLoopGroupProvider())
			.eventExecutorGroup(application.eventExecutorGroup())
			.timer(application.timer())
			.commandLatencyRecorder(application.commandLatencyRecorder())
			// The application publishes the measurements of both.
			.commandLatencyPublisherOptions(DefaultEventPublisherOptions.disabled());
	}

	private static LettuceClientConfiguration configure(RedisConfiguration configuration,
			LettuceClientConfiguration client, ClientResources resources) {
		LettuceClientConfigurationBuilder builder = LettuceClientConfiguration.builder()
			.clientResources(resources)
			.clientOptions(options(configuration, client))
			.commandTimeout(shorter(client.getCommandTimeout(), LONGEST_HANDSHAKE))
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
			// Lettuce would make the same of it later.
			options = ClusterClientOptions.builder(options).build();
		}
		SocketOptions socket = options.getSocketOptions();
		ClientOptions.Builder changed = options.mutate()
			// The engine has a deadline for each answer. Timers of the driver would take
			// a twelfth of the memory of a call.
			.timeoutOptions(TimeoutOptions.create())
			// Holdfast does not open broken connections again itself.
			.autoReconnect(true)
			.socketOptions(
					socket.mutate().connectTimeout(shorter(socket.getConnectTimeout(), LONGEST_CONNECT)).build());
		if (changed instanceof ClusterClientOptions.Builder cluster
				&& !isRefreshed(((ClusterClientOptions) options).getTopologyRefreshOptions())) {
			// By default Lettuce before 7.0 never looks at a cluster again.
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
				: client.getCommandTimeout().toNanos();
		return (nanos > 0) ? nanos : Long.MAX_VALUE;
	}

	private static boolean isRefreshed(@Nullable ClusterTopologyRefreshOptions refresh) {
		return refresh != null
				&& (refresh.isPeriodicRefreshEnabled() || !refresh.getAdaptiveRefreshTriggers().isEmpty());
	}

	private static Duration shorter(Duration one, Duration other) {
		return (one.compareTo(other) < 0) ? one : other;
	}

	/**
	 * Return where Redis is, for messages.
	 * @return host and port, or their like; without user and password
	 */
	public String address() {
		return this.address;
	}

	/**
	 * Return how long the application waits for the answer to a command, in nanoseconds.
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
	 * Open a connection for a subscription, which Lettuce opens again when it breaks.
	 * Blocks.
	 */
	@SuppressWarnings("unchecked")
	public StatefulRedisPubSubConnection<byte[], byte[]> connectPubSub() {
		return doCreateConnectionProvider(getRequiredNativeClient(), ByteArrayCodec.INSTANCE)
			.getConnection(StatefulRedisPubSubConnection.class);
	}

	/** Start again, guarded: other threads would find it half started. */
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
