package io.holdfast.autoconfigure;

import java.util.List;

import io.holdfast.LockMode;
import io.holdfast.annotation.DistributedLock;
import io.holdfast.annotation.Fairness;
import io.holdfast.annotation.OnLoss;
import io.holdfast.annotation.OnStoreFailure;
import io.holdfast.annotation.OnTimeout;
import io.holdfast.annotation.ReleaseAfter;
import io.holdfast.annotation.Semaphore;
import org.jspecify.annotations.Nullable;

import org.springframework.aot.hint.MemberCategory;
import org.springframework.aot.hint.RuntimeHints;
import org.springframework.aot.hint.RuntimeHintsRegistrar;

/**
 * Registers hints for native images: scripts, annotations with the types of their
 * attributes, and types that are looked up by name.
 */
final class HoldfastRuntimeHints implements RuntimeHintsRegistrar {

	/** Optional types, whose presence is checked by name. */
	private static final List<String> OPTIONAL = List.of("io.lettuce.core.RedisClient", "reactor.core.publisher.Flux",
			"org.springframework.transaction.support.TransactionSynchronizationManager",
			"kotlinx.coroutines.reactor.MonoKt");

	@Override
	public void registerHints(RuntimeHints hints, @Nullable ClassLoader classLoader) {
		hints.resources().registerPattern("io/holdfast/redis/*.lua");
		hints.resources().registerPattern("io/holdfast/jdbc/*.sql");
		hints.resources().registerPattern("META-INF/holdfast/console/*");
		List.of(DistributedLock.class, Semaphore.class)
			.forEach((type) -> hints.reflection().registerType(type, MemberCategory.INVOKE_PUBLIC_METHODS));
		List.of(LockMode.class, Fairness.class, OnTimeout.class, OnLoss.class, OnStoreFailure.class, ReleaseAfter.class)
			.forEach((type) -> hints.reflection().registerType(type, MemberCategory.ACCESS_PUBLIC_FIELDS));
		OPTIONAL.forEach((name) -> hints.reflection().registerTypeIfPresent(classLoader, name));
		hints.reflection()
			.registerTypeIfPresent(classLoader, "org.quartz.JobDetail", MemberCategory.INVOKE_PUBLIC_METHODS);
		List.of("org.springframework.orm.jpa.JpaTransactionManager",
				"org.springframework.orm.jpa.hibernate.HibernateTransactionManager")
			.forEach((name) -> hints.reflection()
				.registerTypeIfPresent(classLoader, name, MemberCategory.INVOKE_PUBLIC_METHODS));
		// The configuration of the factory is only in a private field.
		hints.reflection()
			.registerTypeIfPresent(classLoader,
					"org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory",
					MemberCategory.ACCESS_DECLARED_FIELDS);
	}

}
