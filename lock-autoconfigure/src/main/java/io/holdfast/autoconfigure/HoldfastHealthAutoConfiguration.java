package io.holdfast.autoconfigure;

import io.holdfast.actuate.HoldfastHealthIndicator;
import io.holdfast.engine.LeaseEngine;

import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.boot.health.autoconfigure.contributor.CompositeHealthContributorConfiguration;
import org.springframework.boot.health.autoconfigure.contributor.ConditionalOnEnabledHealthIndicator;
import org.springframework.boot.health.contributor.HealthContributor;
import org.springframework.boot.health.contributor.HealthIndicator;
import org.springframework.context.annotation.Bean;

/**
 * {@link AutoConfiguration Auto-configuration} of the health of all engines of a context.
 * The contributor is {@code holdfast}; several engines are parts of it, by bean name.
 */
@AutoConfiguration(after = HoldfastAutoConfiguration.class)
@ConditionalOnClass({ HealthIndicator.class, ConditionalOnEnabledHealthIndicator.class })
@ConditionalOnBean(LeaseEngine.class)
@ConditionalOnEnabledHealthIndicator("holdfast")
@EnableConfigurationProperties(HoldfastProperties.class)
public final class HoldfastHealthAutoConfiguration
		extends CompositeHealthContributorConfiguration<HoldfastHealthIndicator, LeaseEngine> {

	HoldfastHealthAutoConfiguration(HoldfastProperties properties) {
		super((engine) -> properties.redis().checks()
				? new HoldfastHealthIndicator(engine, properties.redis().commandTimeout())
				: new HoldfastHealthIndicator(engine));
	}

	@Bean
	@ConditionalOnMissingBean(name = { "holdfastHealthIndicator", "holdfastHealthContributor" })
	HealthContributor holdfastHealthContributor(ConfigurableListableBeanFactory beanFactory) {
		return createContributor(beanFactory, LeaseEngine.class);
	}

}
