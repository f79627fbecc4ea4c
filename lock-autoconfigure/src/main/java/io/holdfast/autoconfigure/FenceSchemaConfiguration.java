package io.holdfast.autoconfigure;

import java.time.Duration;
import java.util.List;

import javax.sql.DataSource;

import io.holdfast.LockService;
import io.holdfast.jdbc.FenceCleanUp;
import io.holdfast.jdbc.FenceTableCheck;
import io.holdfast.jdbc.TransactionFences;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

import org.springframework.beans.factory.BeanFactory;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnSingleCandidate;
import org.springframework.boot.jdbc.init.DataSourceScriptDatabaseInitializer;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Conditional;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Lazy;
import org.springframework.core.env.Environment;
import org.springframework.core.io.ResourceLoader;

/**
 * Configuration of fence tables: their schema, their check at the start, and their
 * clean-up.
 */
@Configuration(proxyBeanMethods = false)
@ConditionalOnClass(DataSourceScriptDatabaseInitializer.class)
@Conditional(OnFencedMethod.class)
class FenceSchemaConfiguration {

	private static final Log logger = LogFactory.getLog(FenceSchemaConfiguration.class);

	private static final String TOKENS = "holdfast.lock.fence-retention";

	private static final String ROWS = "holdfast.fence.jdbc.retention";

	/**
	 * Create the initializer. Depends on {@code DataSource} beans only, as transaction
	 * managers may need the schema themselves. Not lazy, because the check at the start
	 * is not.
	 */
	@Bean
	@Lazy(false)
	@ConditionalOnBean(DataSource.class)
	@ConditionalOnMissingBean
	@Nullable FenceSchemaInitializer holdfastFenceSchemaInitializer(HoldfastProperties properties,
			ObjectProvider<DataSource> primary, BeanFactory beans) {
		DataSource only = primary.getIfUnique();
		List<DataSource> fenced = properties.fence()
			.jdbc()
			.dataSources()
			.stream()
			.map((name) -> dataSource(beans, name))
			.toList();
		if (fenced.isEmpty() && only != null) {
			fenced = List.of(only);
		}
		return fenced.isEmpty() ? null : new FenceSchemaInitializer(fenced, properties.fence().jdbc());
	}

	private static DataSource dataSource(BeanFactory beans, String name) {
		PropertyBounds.check(beans.containsBean(name), "fence.jdbc.data-sources", name,
				"it must be the name of the bean of a DataSource");
		return beans.getBean(name, DataSource.class);
	}

	@Bean
	FenceTableCheck holdfastFenceTableCheck(TransactionFences fences, HoldfastProperties properties,
			Environment environment, ResourceLoader resources) {
		properties.checkFences();
		warnOfShortMemory(properties, environment);
		return new FenceTableCheck(fences,
				(dataSource) -> FenceSchemaInitializer.script(dataSource, properties.fence().jdbc(), resources));
	}

	@Bean
	@ConditionalOnSingleCandidate(LockService.class)
	@ConditionalOnMissingBean
	FenceCleanUp holdfastFenceCleanUp(TransactionFences fences, LockService locks, HoldfastProperties properties) {
		return new FenceCleanUp(fences, locks, properties.fence().jdbc().retention());
	}

	/**
	 * Warn if Redis forgets tokens sooner than the tables. Only if a property is set, as
	 * this is the default.
	 */
	private static void warnOfShortMemory(HoldfastProperties properties, Environment environment) {
		Duration tokens = properties.lock().fenceRetention();
		Duration rows = properties.fence().jdbc().retention();
		if (tokens.compareTo(rows) < 0
				&& (environment.containsProperty(TOKENS) || environment.containsProperty(ROWS))) {
			logger.warn(TOKENS + " (" + tokens.toHours() + "h) is shorter than " + ROWS + " (" + rows.toHours()
					+ "h): if the clock of Redis goes back, tables may refuse new "
					+ "holders whose last token Redis has forgotten. Raise the first, or lower the second");
		}
	}

}
