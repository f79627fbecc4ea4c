package io.holdfast.redis.driver;

import java.util.function.Supplier;

import io.holdfast.async.DaemonThreads;
import io.holdfast.async.SetupException;
import io.lettuce.core.RedisCommandExecutionException;
import org.jspecify.annotations.Nullable;

import org.springframework.aop.framework.Advised;
import org.springframework.core.InfrastructureProxy;
import org.springframework.dao.InvalidDataAccessApiUsageException;
import org.springframework.data.redis.connection.RedisConnectionFactory;
import org.springframework.data.redis.connection.jedis.JedisConnectionFactory;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;
import org.springframework.util.ClassUtils;

/**
 * Driver of the application: Lettuce or Jedis. Neither has to be present: the connection
 * factories are classes of Spring, which the JVM does not link for a check of their type.
 */
public final class Drivers {

	/** Remedy if Holdfast cannot use the application's connection factory. */
	static final String CURE = "Define where Redis is by a bean of Holdfast's own:"
			+ " @Bean LeaseEngine leaseEngine(LeaseEngineFactory engines)"
			+ " { return engines.create(new LettuceConnectionFactory(host, port)); }"
			+ " (or, for tests without Redis, set holdfast.backend=memory)";

	private static final boolean LETTUCE = ClassUtils.isPresent("io.lettuce.core.RedisClient",
			Drivers.class.getClassLoader());

	private Drivers() {
	}

	/**
	 * Require Lettuce, which leases need.
	 * @throws SetupException if Lettuce is missing
	 */
	public static void requireLettuce() {
		if (!LETTUCE) {
			throw new SetupException("Lettuce is missing: Holdfast connects to Redis by it, also where the"
					+ " application itself uses Jedis", "Add io.lettuce:lettuce-core to the class path");
		}
	}

	/** Return the connection factory behind Spring's proxies. */
	static RedisConnectionFactory unwrap(RedisConnectionFactory factory) {
		Object target = target(factory);
		return (target instanceof RedisConnectionFactory inner && inner != factory) ? unwrap(inner) : factory;
	}

	private static @Nullable Object target(RedisConnectionFactory factory) {
		if (factory instanceof Advised advised) {
			try {
				return advised.getTargetSource().getTarget();
			}
			catch (Exception ex) {
				throw new IllegalStateException("The target of the connection factory " + factory + " is not known",
						ex);
			}
		}
		return (factory instanceof InfrastructureProxy proxy) ? proxy.getWrappedObject() : null;
	}

	/**
	 * Return whether Redis is a cluster, according to the configuration. Nothing is
	 * connected.
	 */
	public static boolean isCluster(RedisConnectionFactory factory) {
		RedisConnectionFactory unwrapped = unwrap(factory);
		return (unwrapped instanceof LettuceConnectionFactory lettuce) ? lettuce.isClusterAware()
				: unwrapped instanceof JedisConnectionFactory jedis && jedis.isRedisClusterAware();
	}

	/**
	 * Return the source of connections for sessions that watch keys, with new connections
	 * for each session.
	 * @throws SetupException if the factory is neither of Lettuce nor of Jedis: each
	 * command might use another connection, and {@code EXEC} would know no watched keys
	 */
	public static Supplier<SessionConnections> watching(RedisConnectionFactory factory, DaemonThreads threads) {
		RedisConnectionFactory unwrapped = unwrap(factory);
		if (unwrapped instanceof LettuceConnectionFactory lettuce) {
			return new LettuceWatchConnections(lettuce, threads)::session;
		}
		if (unwrapped instanceof JedisConnectionFactory) {
			return () -> new SessionConnections(factory);
		}
		throw foreign("OptimisticTransactions cannot watch keys on connections of", unwrapped,
				"Define a LettuceConnectionFactory as a bean: in place of that one, or beside it with"
						+ " @Bean(defaultCandidate = false) and a bean new OptimisticTransactions(lettuce)");
	}

	/** Return the exception for a connection factory of another library. */
	static SetupException foreign(String problem, Object factory, String cure) {
		return new SetupException(problem + " " + factory.getClass().getName()
				+ ", which is neither a LettuceConnectionFactory nor a JedisConnectionFactory, nor a Spring proxy of one",
				cure);
	}

	/**
	 * Return whether Redis answered with an error. Spring has a type for such errors with
	 * Jedis, but not with Lettuce.
	 */
	public static boolean isAnswer(Throwable error) {
		return error instanceof InvalidDataAccessApiUsageException
				|| LETTUCE && (error instanceof RedisCommandExecutionException
						|| error.getCause() instanceof RedisCommandExecutionException);
	}

}
