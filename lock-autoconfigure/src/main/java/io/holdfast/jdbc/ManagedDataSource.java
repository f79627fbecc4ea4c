package io.holdfast.jdbc;

import java.lang.reflect.Method;

import javax.sql.DataSource;

import org.jspecify.annotations.Nullable;

import org.springframework.jdbc.datasource.DataSourceTransactionManager;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.util.ReflectionUtils;

/**
 * Finds the {@link DataSource} of a transaction manager. A JPA transaction manager has
 * one after its initialization. spring-orm may be absent.
 */
final class ManagedDataSource {

	private ManagedDataSource() {
	}

	/** Return whether the manager's type may have a {@code DataSource}. */
	static boolean isPossible(PlatformTransactionManager manager) {
		Method getter = getter(manager);
		return manager instanceof DataSourceTransactionManager
				|| getter != null && DataSource.class.isAssignableFrom(getter.getReturnType());
	}

	/** Return the manager's {@code DataSource}, or {@code null} if it has none. */
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
