package io.holdfast.redis.driver;

import java.time.Duration;
import java.util.Objects;
import java.util.Optional;

import javax.net.ssl.SSLParameters;

import io.holdfast.async.SetupException;
import io.lettuce.core.ClientOptions;
import io.lettuce.core.RedisURI;
import io.lettuce.core.SocketOptions;
import io.lettuce.core.SslOptions;
import io.lettuce.core.SslVerifyMode;
import io.lettuce.core.TimeoutOptions;
import io.lettuce.core.cluster.ClusterClientOptions;
import io.lettuce.core.cluster.ClusterTopologyRefreshOptions;
import org.jspecify.annotations.Nullable;

import org.springframework.data.redis.connection.RedisConfiguration;
import org.springframework.data.redis.connection.jedis.JedisClientConfiguration;
import org.springframework.data.redis.connection.jedis.JedisConnectionFactory;
import org.springframework.data.redis.connection.lettuce.LettuceClientConfiguration;
import org.springframework.data.redis.connection.lettuce.LettuceClientConfiguration.LettuceClientConfigurationBuilder;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;
import org.springframework.util.StringUtils;

/**
 * Converter of the configuration of Jedis connections to Lettuce connections to the same
 * Redis.
 */
public final class JedisToLettuceConverter {

	/** Default interval at which the view of a cluster is refreshed. */
	static final Duration REFRESH = Duration.ofSeconds(10);

	private JedisToLettuceConverter() {
	}

	/**
	 * Convert the configuration: servers, user and password, database, client name,
	 * timeouts and encryption. Changes that a customizer makes to Jedis itself are not
	 * known.
	 * @param jedis the Jedis connections
	 * @param ssl the keys and certificates, or {@code null} for the defaults of the JVM
	 * @return connections that are not started
	 * @throws IllegalStateException if the Jedis connections have their own socket
	 * factory for encryption, and {@code ssl} is {@code null}
	 */
	public static LettuceConnectionFactory convert(JedisConnectionFactory jedis, @Nullable SslOptions ssl) {
		JedisClientConfiguration client = jedis.getClientConfiguration();
		LettuceClientConfigurationBuilder builder = LettuceClientConfiguration.builder()
			.clientOptions(options(jedis, ssl));
		client.getClientName().filter(StringUtils::hasText).ifPresent(builder::clientName);
		if (client.getReadTimeout().toMillis() > 0) {
			builder.commandTimeout(client.getReadTimeout());
		}
		if (jedis.isUseSsl()) {
			if (ssl == null && client.getSslSocketFactory().isPresent()) {
				throw new SetupException(
						"Holdfast connects to Redis by Lettuce, and cannot use the"
								+ " SSLSocketFactory of the JedisConnectionFactory",
						"Set spring.data.redis.ssl.bundle. Or: " + Drivers.CURE);
			}
			builder.useSsl().verifyPeer(verification(client));
		}
		return new LettuceConnectionFactory(configuration(jedis), builder.build());
	}

	private static RedisConfiguration configuration(JedisConnectionFactory jedis) {
		RedisConfiguration configuration = jedis.getClusterConfiguration();
		configuration = (configuration != null) ? configuration : jedis.getSentinelConfiguration();
		return (configuration != null) ? configuration : Objects.requireNonNull(jedis.getStandaloneConfiguration());
	}

	private static ClientOptions options(JedisConnectionFactory jedis, @Nullable SslOptions ssl) {
		JedisClientConfiguration client = jedis.getClientConfiguration();
		ClientOptions.Builder options = ClientOptions.builder();
		if (jedis.isRedisClusterAware()) {
			options = ClusterClientOptions.builder()
				.topologyRefreshOptions(ClusterTopologyRefreshOptions.builder().enablePeriodicRefresh(REFRESH).build());
		}
		// The timeout of Jedis applies to connecting. Abandoned commands are dropped by
		// Holdfast, but a release has to be sent as soon as there is a connection again.
		options.timeoutOptions(TimeoutOptions.enabled(RedisURI.DEFAULT_TIMEOUT_DURATION));
		if (client.getConnectTimeout().toMillis() > 0) {
			options.socketOptions(SocketOptions.builder().connectTimeout(client.getConnectTimeout()).build());
		}
		SslOptions.Builder encryption = ((ssl != null) ? ssl : SslOptions.create()).mutate();
		client.getSslParameters().ifPresent((parameters) -> encryption.sslParameters(() -> parameters));
		return options.sslOptions(encryption.build()).build();
	}

	/**
	 * Return the verification of the server. Jedis verifies the server's name only if
	 * configured to do so.
	 */
	private static SslVerifyMode verification(JedisClientConfiguration client) {
		Optional<String> algorithm = client.getSslParameters().map(SSLParameters::getEndpointIdentificationAlgorithm);
		boolean named = client.getHostnameVerifier().isPresent() || algorithm.filter(StringUtils::hasText).isPresent();
		return named ? SslVerifyMode.FULL : SslVerifyMode.CA;
	}

}
