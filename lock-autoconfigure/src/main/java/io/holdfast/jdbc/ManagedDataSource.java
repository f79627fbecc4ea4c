package io.holdfast.jdbc;

import java.lang.reflect.Method;

import javax.sql.DataSource;

import org.jspecify.annotations.Nullable;

import org.springframework.jdbc.datasource.DataSourceTransactionManager;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.util.ReflectionUtils;

/**
 * The {@link DataSource} of a transaction manager. That of JPA has one from its
 * initialization on, and spring-orm need not be there.
 */
final class ManagedDataSource {

	private ManagedDataSource() {
	}

	/** Return whether the manager is of a kind that has one. */
	static boolean isPossible(PlatformTransactionManager manager) {
		Method getter = getter(manager);
		return manager instanceof DataSourceTransactionManager
				|| getter != null && DataSource.class.isAssignableFrom(getter.getReturnType());
	}

	/** Return {@code null} if the manager has none, or does not know it. */
	static @Nullable DataSource of(PlatformTransactionManager manager) {
		if (manager instanceof DataSourceTransactionManager jdbc) {
			return jdbc.getDataSource();
		}
		Method getter = getter(manager);
		return (getter != null && ReflectionUtils.invokeMethod(getter, manager) instanceof DataSource own) ? own : null;
	}

	private static @Nullable Method getter(PlatformTransactionManager manager) {
		return ReflectionUtils.findMethod(manager.getClass(), "getDataSource");
	}

}
