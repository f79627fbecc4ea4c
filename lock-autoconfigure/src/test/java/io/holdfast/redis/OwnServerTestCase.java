package io.holdfast.redis;

import io.holdfast.redis.key.RedisKeys;
import io.holdfast.redis.key.RedisStoreOptions;
import io.holdfast.redis.key.TestOptions;
import io.holdfast.testing.FaultProxy;
import io.holdfast.testing.RedisServer;
import io.holdfast.testing.RedisTestCase;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeEach;

import org.springframework.data.redis.connection.RedisConnectionFactory;
import org.springframework.data.redis.connection.RedisStandaloneConfiguration;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;
import org.springframework.data.redis.core.RedisCallback;
import org.springframework.data.redis.core.StringRedisTemplate;
import org.springframework.util.StringUtils;

abstract class OwnServerTestCase extends RedisTestCase {

	static final String INSTANCE = "0123456789abcdef0123456789abcdef";

	static final String OTHER = "fedcba9876543210fedcba9876543210";

	RedisServer server;

	@BeforeEach
	final void startServer() {
		this.server = this.redis.startServer();
	}

	final LettuceConnectionFactory factory(int port) {
		return this.redis.connectionFactory("127.0.0.1", port);
	}

	/** Connect as the user {@code app}. */
	final LettuceConnectionFactory login() {
		RedisStandaloneConfiguration configuration = new RedisStandaloneConfiguration("127.0.0.1", this.server.port());
		configuration.setUsername("app");
		configuration.setPassword("secret");
		return this.redis.connectionFactory(configuration);
	}

	/** Set a user's rights: its name, and the rules of {@code ACL SETUSER}. */
	final void setUser(String... words) {
		byte[][] rule = RedisKeys.bytes(StringUtils.concatenateStringArrays(new String[] { "SETUSER" }, words));
		template().execute((RedisCallback<@Nullable Object>) (connection) -> connection.execute("ACL", rule));
	}

	final StringRedisTemplate template() {
		return new StringRedisTemplate(factory(this.server.port()));
	}

	final void configure(String parameter, String value) {
		template().getRequiredConnectionFactory().getConnection().serverCommands().setConfig(parameter, value);
	}

	final FaultProxy proxy() {
		FaultProxy proxy = FaultProxy.to(this.server.host(), this.server.port());
		this.redis.closeAtEnd(proxy::close);
		return proxy;
	}

	/** Open a store on the test's server. */
	final RedisLeaseStore store() {
		return store(factory(this.server.port()));
	}

	final RedisLeaseStore store(RedisConnectionFactory factory) {
		return store(new StringRedisTemplate(factory), TestOptions.defaults());
	}

	final RedisLeaseStore store(StringRedisTemplate template, RedisStoreOptions options) {
		RedisLeaseStore store = new RedisLeaseStore(template.getRequiredConnectionFactory(), options);
		this.redis.closeAtEnd(store::close);
		return store;
	}

}
