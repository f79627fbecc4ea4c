package io.holdfast.autoconfigure;

import io.holdfast.redis.driver.JedisToLettuceConverter;
import io.lettuce.core.SslOptions;

import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.data.redis.autoconfigure.DataRedisConnectionDetails;
import org.springframework.boot.ssl.SslBundle;
import org.springframework.context.annotation.Configuration;
import org.springframework.data.redis.connection.RedisConnectionFactory;
import org.springframework.data.redis.connection.jedis.JedisConnectionFactory;

/**
 * Configuration of the SSL bundle of Spring Boot's Jedis connections, which also applies
 * to Lettuce. The socket factory of Jedis does not reveal its keys and certificates.
 */
@Configuration(proxyBeanMethods = false)
@ConditionalOnClass(name = { "io.lettuce.core.RedisClient", "redis.clients.jedis.Jedis",
		"org.springframework.boot.data.redis.autoconfigure.DataRedisConnectionDetails" })
class JedisEncryption {

	private final ObjectProvider<DataRedisConnectionDetails> details;

	JedisEncryption(ObjectProvider<DataRedisConnectionDetails> details) {
		this.details = details;
	}

	/**
	 * Convert Jedis connections with an SSL bundle to Lettuce connections.
	 * @param application the application's connection factory
	 * @return a connection factory of Lettuce for the same Redis, or the given factory if
	 * there is no bundle to apply
	 */
	RedisConnectionFactory applied(RedisConnectionFactory application) {
		DataRedisConnectionDetails known = this.details.getIfAvailable();
		SslBundle bundle = (known != null) ? known.getSslBundle() : null;
		return (bundle != null && application instanceof JedisConnectionFactory jedis)
				? JedisToLettuceConverter.convert(jedis, options(bundle)) : application;
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
