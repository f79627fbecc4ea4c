package io.holdfast.autoconfigure;

import java.util.Map;

import org.springframework.boot.context.properties.source.ConfigurationProperty;
import org.springframework.boot.context.properties.source.ConfigurationPropertyName;
import org.springframework.boot.context.properties.source.ConfigurationPropertySource;
import org.springframework.boot.context.properties.source.ConfigurationPropertySources;
import org.springframework.boot.context.properties.source.InvalidConfigurationPropertyValueException;
import org.springframework.core.env.Environment;

/**
 * Properties of earlier builds. Spring Boot ignores unknown properties, and an
 * application would lose their effect without a word.
 */
final class RemovedProperties {

	/** The removed properties by name, with the advice to users. */
	private static final Map<String, String> ADVICE = Map.ofEntries( //
			Map.entry("holdfast.lock.fair",
					"Delete it: locks are always served in order, and local hand-over makes up for the speed"),
			Map.entry("holdfast.lock.keep-warm",
					"Delete it: as close() does not wait for Redis, a lock costs one round trip without it"));

	private RemovedProperties() {
	}

	/**
	 * Refuse removed properties, written in any way that Spring Boot can bind.
	 * @param environment properties of the application
	 * @throws InvalidConfigurationPropertyValueException if one is set
	 */
	static void refuse(Environment environment) {
		ADVICE.forEach((name, advice) -> {
			for (ConfigurationPropertySource source : ConfigurationPropertySources.get(environment)) {
				ConfigurationProperty property = source.getConfigurationProperty(ConfigurationPropertyName.of(name));
				if (property != null) {
					throw new InvalidConfigurationPropertyValueException(name, property.getValue(),
							"this property was removed. " + advice);
				}
			}
		});
	}

}
