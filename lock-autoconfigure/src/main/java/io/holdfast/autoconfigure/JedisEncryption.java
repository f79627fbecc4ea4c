package io.holdfast.autoconfigure;

import io.holdfast.redis.driver.JedisToLettuceConverter;
import io.lettuce.core.SslOptions;
import org.jspecify.annotations.Nullable;

import org.springframework.beans.factory.BeanFactory;
import org.springframework.boot.data.redis.autoconfigure.DataRedisConnectionDetails;
import org.springframework.boot.ssl.SslBundle;
import org.springframework.data.redis.connection.RedisConnectionFactory;
import org.springframework.data.redis.connection.jedis.JedisConnectionFactory;
import org.springframework.util.ClassUtils;

/**
 * Applies the SSL bundle of Spring Boot's Jedis connections to Lettuce. The socket
 * factory of Jedis does not reveal its keys and certificates.
 */
final class JedisEncryption {

	private static final boolean POSSIBLE = ClassUtils.isPresent("io.lettuce.core.RedisClient",
			JedisEncryption.class.getClassLoader())
			&& ClassUtils.isPresent("redis.clients.jedis.Jedis", JedisEncryption.class.getClassLoader())
			&& ClassUtils.isPresent("org.springframework.boot.data.redis.autoconfigure.DataRedisConnectionDetails",
					JedisEncryption.class.getClassLoader());

	private JedisEncryption() {
	}

	/**
	 * Convert Jedis connections with an SSL bundle to Lettuce connections.
	 * @param application the application's connection factory
	 * @param beans the bean factory with the bundle
	 * @return a connection factory of Lettuce for the same Redis, or the given factory if
	 * there is no bundle to apply
	 */
	static RedisConnectionFactory applied(RedisConnectionFactory application, BeanFactory beans) {
		return POSSIBLE ? Bundle.applied(application, beans) : application;
	}

	private static final class Bundle {

		static RedisConnectionFactory applied(RedisConnectionFactory application, BeanFactory beans) {
			SslBundle bundle = (application instanceof JedisConnectionFactory) ? bundle(beans) : null;
			return (bundle != null)
					? JedisToLettuceConverter.convert((JedisConnectionFactory) application, options(bundle))
					: application;
		}

		private static @Nullable SslBundle bundle(BeanFactory beans) {
			DataRedisConnectionDetails details = beans.getBeanProvider(DataRedisConnectionDetails.class)
				.getIfAvailable();
			return (details != null) ? details.getSslBundle() : null;
		}

		private static SslOptions options(SslBundle bundle) {
			SslOptions.Builder options = SslOptions.builder()
				.keyManager(bundle.getManagers().getKeyManagerFactory())
				.trustManager(bundle.getManagers().getTrustManagerFactory());
			String[] ciphers = bundle.getOptions().getCiphers();
			String[] protocols = bundle.getOptions().getEnabledProtocols();
			if (ciphers != null) {
				options.cipherSuites(ciphers);
			}
			if (protocols != null) {
				options.protocols(protocols);
			}
			return options.build();
		}

	}

}
