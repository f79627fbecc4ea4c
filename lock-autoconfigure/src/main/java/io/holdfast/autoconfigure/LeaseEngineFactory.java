package io.holdfast.autoconfigure;

import io.holdfast.engine.DefaultLockService;
import io.holdfast.engine.DefaultSemaphoreService;
import io.holdfast.engine.LeaseEngine;
import io.holdfast.engine.store.LeaseStore;
import io.holdfast.memory.MemoryLeaseStore;
import io.holdfast.redis.RedisLeaseStore;
import io.holdfast.redis.key.RedisStoreOptions;
import org.jspecify.annotations.Nullable;

import org.springframework.beans.factory.BeanClassLoaderAware;
import org.springframework.boot.context.properties.source.InvalidConfigurationPropertyValueException;
import org.springframework.data.redis.connection.RedisConnectionFactory;

/**
 * Makes {@link LeaseEngine engines} by the {@code holdfast} properties, for applications
 * that use more than one Redis. Have one bean for the engine of each further Redis, which
 * is then shut down and closed with the context, and on it the services that are needed,
 * {@link DefaultLockService} and {@link DefaultSemaphoreService}. With
 * {@code defaultCandidate = false} these beans are in no other bean's way:
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

	/** Engines need not be beans. */
	private @Nullable ClassLoader classLoader;

	LeaseEngineFactory(HoldfastProperties properties) {
		this.properties = properties;
	}

	/**
	 * Create an engine. It connects in the background, when its context starts or when it
	 * is used before that. With {@code holdfast.backend=memory} it uses no Redis but
	 * memory of its own, so that engines of two connections do not exclude each other
	 * there either.
	 * @param connectionFactory where its Redis is: only its configuration is used,
	 * Lettuce's or Jedis's. It need not be a bean, and is not closed with the engine
	 * @return a new engine, to be closed by the caller: as a bean, by its context
	 * @throws InvalidConfigurationPropertyValueException if a property makes no sense, or
	 * these connections do not allow it
	 */
	public LeaseEngine create(RedisConnectionFactory connectionFactory) {
		this.properties.check();
		LeaseEngine engine = new LeaseEngine(store(connectionFactory), this.properties.engineSettings());
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
		String obstacle = (options.replicas() != null) ? RedisLeaseStore.obstacleToReplicas(connectionFactory) : null;
		if (obstacle != null) {
			throw new InvalidConfigurationPropertyValueException("holdfast.redis.min-replicas",
					this.properties.redis().minReplicas(), obstacle);
		}
		return new RedisLeaseStore(connectionFactory, options, this.classLoader);
	}

}
