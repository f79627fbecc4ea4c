package io.holdfast.autoconfigure;

import io.holdfast.engine.DefaultLockService;
import io.holdfast.engine.DefaultSemaphoreService;
import io.holdfast.engine.EngineSettings;
import io.holdfast.engine.LeaseEngine;
import io.holdfast.engine.store.LeaseStore;
import io.holdfast.memory.MemoryLeaseStore;
import io.holdfast.redis.RedisLeaseStore;
import io.holdfast.redis.driver.Drivers;
import io.holdfast.redis.key.RedisStoreOptions;
import org.jspecify.annotations.Nullable;

import org.springframework.beans.factory.BeanClassLoaderAware;
import org.springframework.boot.context.properties.source.InvalidConfigurationPropertyValueException;
import org.springframework.data.redis.connection.RedisConnectionFactory;

/**
 * Creates {@link LeaseEngine engines} from the {@code holdfast} properties, for
 * applications that use several Redis servers. Define a bean for the engine of each
 * further Redis, which is shut down and closed with the context, and beans for its
 * services, {@link DefaultLockService} and {@link DefaultSemaphoreService}. With
 * {@code defaultCandidate = false}, these beans do not interfere with the default beans:
 * <pre class="code">
 * &#064;Bean(defaultCandidate = false)
 * LeaseEngine ordersEngine(LeaseEngineFactory engines, &#064;Qualifier("ordersRedis") RedisConnectionFactory redis) {
 *     return engines.create(redis);
 * }
 *
 * &#064;Bean(defaultCandidate = false)
 * LockService ordersLocks(&#064;Qualifier("ordersEngine") LeaseEngine engine) {
 *     return new DefaultLockService(engine);
 * }</pre> Thread-safe.
 *
 * @since 0.1.0
 */
public final class LeaseEngineFactory implements BeanClassLoaderAware {

	private final HoldfastProperties properties;

	/** Class loader for engines, which may be no beans. */
	private @Nullable ClassLoader classLoader;

	LeaseEngineFactory(HoldfastProperties properties) {
		this.properties = properties;
	}

	/**
	 * Create an engine. It connects in the background at the start of its context, or at
	 * its first use. With {@code holdfast.backend=memory}, the engine has memory of its
	 * own, so that engines do not exclude each other, as with different Redis servers.
	 * @param connectionFactory the connection factory of Lettuce or Jedis, of which only
	 * the configuration is used. It need not be a bean, and is not closed with the engine
	 * @return a new engine, which the caller must close; a bean is closed by its context
	 * @throws InvalidConfigurationPropertyValueException if a property has an invalid
	 * value, or is not possible with the connections
	 * @throws IllegalStateException if the connection factory is of another library or
	 * does not show its configuration, or if Lettuce is missing
	 */
	public LeaseEngine create(RedisConnectionFactory connectionFactory) {
		EngineSettings settings = this.properties.engineSettings();
		LeaseEngine engine = new LeaseEngine(store(connectionFactory), settings);
		engine.setClassLoader(this.classLoader);
		return engine;
	}

	@Override
	public void setBeanClassLoader(ClassLoader classLoader) {
		this.classLoader = classLoader;
	}

	private LeaseStore store(RedisConnectionFactory connectionFactory) {
		return switch (this.properties.backend()) {
			case REDIS -> redis(connectionFactory);
			case MEMORY -> new MemoryLeaseStore(this.properties.newMemory());
		};
	}

	private LeaseStore redis(RedisConnectionFactory connectionFactory) {
		RedisStoreOptions options = this.properties.storeOptions();
		boolean cluster = Drivers.isCluster(connectionFactory);
		PropertyBounds.check(!cluster || options.replicas() == null, "redis.min-replicas",
				this.properties.redis().minReplicas(), "waiting for replicas is not possible in a cluster: set 0");
		PropertyBounds.check(!cluster || options.longestLease() == null, "redis.fail-over-grace", true,
				"there is no grace in a cluster, where scripts cannot read the key that remembers their server: set"
						+ " false");
		return new RedisLeaseStore(connectionFactory, options, this.classLoader);
	}

}
