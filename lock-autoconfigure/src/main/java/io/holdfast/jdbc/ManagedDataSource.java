package io.holdfast.jdbc;

import java.lang.reflect.Method;

import javax.sql.DataSource;

import org.jspecify.annotations.Nullable;

import org.springframework.jdbc.datasource.DataSourceTransactionManager;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.util.ReflectionUtils;

/**
 * The {@link DataSource} of a transaction manager. That of JPA has one from its
 * initialization on, and spring-orm need not be there. Thread-safe.
 */
final class ManagedDataSource {

	private final PlatformTransactionManager manager;

	private final @Nullable Method getter;

	private volatile @Nullable DataSource known;

	ManagedDataSource(PlatformTransactionManager manager) {
		this.manager = manager;
		this.getter = (manager instanceof DataSourceTransactionManager) ? null
				: ReflectionUtils.findMethod(manager.getClass(), "getDataSource");
	}

	/** Return whether the manager is of a kind that has one. */
	boolean isPossible() {
		return this.manager instanceof DataSourceTransactionManager
				|| this.getter != null && DataSource.class.isAssignableFrom(this.getter.getReturnType());
	}

	/** Return {@code null} if the manager has none, or does not know it. */
	@Nullable DataSource get() {
		DataSource found = this.known;
		if (found == null) {
			found = find();
			this.known = found;
		}
		return found;
	}

	private @Nullable DataSource find() {
		if (this.manager instanceof DataSourceTransactionManager jdbc) {
			return jdbc.getDataSource();
		}
		return (this.getter != null
				&& ReflectionUtils.invokeMethod(this.getter, this.manager) instanceof DataSource own) ? own : null;
	}

}
