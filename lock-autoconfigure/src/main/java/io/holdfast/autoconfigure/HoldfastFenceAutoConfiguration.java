package io.holdfast.autoconfigure;

import java.time.Duration;
import java.util.List;

import io.holdfast.autoconfigure.HoldfastProperties.Fence.Jdbc;
import io.holdfast.engine.LeaseEngine;
import io.holdfast.jdbc.FenceSettings;
import io.holdfast.jdbc.Fences;
import io.holdfast.jdbc.TransactionFences;
import io.micrometer.observation.ObservationRegistry;

import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.config.BeanPostProcessor;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.beans.factory.support.AbstractBeanDefinition;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBooleanProperty;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.SearchStrategy;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Import;
import org.springframework.core.env.Environment;
import org.springframework.jdbc.datasource.DataSourceUtils;
import org.springframework.transaction.support.AbstractPlatformTransactionManager;

/**
 * {@link AutoConfiguration Auto-configuration} of {@link Fences}, with which databases
 * refuse the transactions of late holders of fenced locks. Has no effect without fenced
 * locks.
 */
@AutoConfiguration(after = HoldfastAutoConfiguration.class,
		afterName = "org.springframework.boot.jdbc.autoconfigure.DataSourceAutoConfiguration")
@ConditionalOnClass({ DataSourceUtils.class, AbstractPlatformTransactionManager.class })
@ConditionalOnBooleanProperty(name = "holdfast.enabled", matchIfMissing = true)
@EnableConfigurationProperties(HoldfastProperties.class)
@Import(FenceSchemaConfiguration.class)
public final class HoldfastFenceAutoConfiguration {

	@Bean
	@ConditionalOnMissingBean(search = SearchStrategy.CURRENT)
	static TransactionFences holdfastTransactionFences(ConfigurableListableBeanFactory context, Environment environment,
			ObjectProvider<ObservationRegistry> observations) {
		return new TransactionFences(context, () -> settings(environment),
				() -> observations.getIfAvailable(() -> ObservationRegistry.NOOP));
	}

	@Bean
	static FencedEngines holdfastFencedEngines(ConfigurableListableBeanFactory context,
			ObjectProvider<HoldfastProperties> properties, ObjectProvider<TransactionFences> fences) {
		return new FencedEngines(context, properties, fences);
	}

	@Bean
	@ConditionalOnMissingBean
	Fences holdfastFences(TransactionFences fences, ObjectProvider<HoldfastProperties> properties) {
		return new Fences(fences, (key) -> properties.getObject().lock().keyPrefix() + key);
	}

	private static FenceSettings settings(Environment environment) {
		Jdbc jdbc = HoldfastProperties.of(environment).fence().jdbc();
		PropertyBounds.checkBounds(Duration.ofSeconds(1), "fence.jdbc.timeout", jdbc.timeout());
		return new FenceSettings(jdbc.tableName(), jdbc.timeout(), jdbc.dataSources());
	}

	/**
	 * Sets the fence of each engine of the context.
	 *
	 * @param context the context of the engines
	 * @param properties the prefix of the keys of locks
	 * @param fences supplies the fences when the first lease is granted
	 */
	record FencedEngines(ConfigurableListableBeanFactory context, ObjectProvider<HoldfastProperties> properties,
			ObjectProvider<TransactionFences> fences) implements BeanPostProcessor {

		@Override
		public Object postProcessBeforeInitialization(Object bean, String beanName) {
			if (bean instanceof LeaseEngine engine) {
				String keyPrefix = this.properties.getObject().lock().keyPrefix();
				engine.setFence(isDefault(beanName) ? keyPrefix : beanName + ":" + keyPrefix,
						(lease, request) -> this.fences.getObject().granted(lease, request));
			}
			return bean;
		}

		/**
		 * Return whether an engine has the plain key prefix. Other engines need other
		 * names in fence tables, as tokens of different engines are not comparable.
		 */
		private boolean isDefault(String beanName) {
			List<String> engines = List.of(this.context.getBeanNamesForType(LeaseEngine.class, true, false));
			return engines.size() == 1 || engines.stream().filter(this::isCandidate).toList().equals(List.of(beanName))
					|| this.context.containsBeanDefinition(beanName)
							&& this.context.getMergedBeanDefinition(beanName).isPrimary();
		}

		private boolean isCandidate(String engine) {
			return !(this.context.containsBeanDefinition(engine)
					&& this.context.getMergedBeanDefinition(engine) instanceof AbstractBeanDefinition definition
					&& !definition.isDefaultCandidate());
		}

	}

}
