package io.holdfast.optimistic;

import java.util.stream.Stream;

import io.holdfast.testing.ForeignConnectionFactory;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

import org.springframework.aop.framework.ProxyFactory;
import org.springframework.data.redis.connection.RedisConnectionFactory;
import org.springframework.data.redis.connection.jedis.JedisConnectionFactory;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;

import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatNoException;

/**
 * Drivers for the watched keys of optimistic transactions.
 */
class OptimisticDriverTests {

	static Stream<RedisConnectionFactory> foreign() {
		return proxied(new ForeignConnectionFactory(new LettuceConnectionFactory()));
	}

	static Stream<RedisConnectionFactory> known() {
		return Stream.concat(proxied(new LettuceConnectionFactory()), proxied(new JedisConnectionFactory()));
	}

	/** The factory itself, and behind proxies by interface, by class and by both. */
	private static Stream<RedisConnectionFactory> proxied(RedisConnectionFactory factory) {
		ProxyFactory byInterface = new ProxyFactory();
		byInterface.setTarget(factory);
		byInterface.setInterfaces(RedisConnectionFactory.class);
		ProxyFactory byClass = new ProxyFactory(factory);
		byClass.setProxyTargetClass(true);
		ProxyFactory byBoth = new ProxyFactory(byInterface.getProxy());
		return Stream.concat(Stream.of(factory), Stream.of(byInterface, byClass, byBoth)
			.map((proxy) -> (RedisConnectionFactory) proxy.getProxy(OptimisticDriverTests.class.getClassLoader())));
	}

	@ParameterizedTest
	@MethodSource("foreign")
	@DisplayName("A connection factory of another library is refused, also behind a proxy, with the cure")
	void foreign(RedisConnectionFactory factory) {
		assertThatIllegalStateException().isThrownBy(() -> new OptimisticTransactions(factory))
			.withMessageContaining("OptimisticTransactions cannot watch keys on connections of "
					+ ForeignConnectionFactory.class.getName())
			.withMessageContaining("neither a LettuceConnectionFactory nor a JedisConnectionFactory")
			.withMessageContaining("Define a LettuceConnectionFactory");
	}

	@ParameterizedTest
	@MethodSource("known")
	@DisplayName("Factories of Lettuce and Jedis are accepted, also behind a proxy")
	void known(RedisConnectionFactory factory) {
		assertThatNoException().isThrownBy(() -> new OptimisticTransactions(factory));
	}

}
