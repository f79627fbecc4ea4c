package io.holdfast.autoconfigure;

import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;

import org.springframework.boot.context.properties.bind.DataObjectPropertyName;
import org.springframework.boot.context.properties.source.ConfigurationProperty;
import org.springframework.boot.context.properties.source.ConfigurationPropertyName;
import org.springframework.boot.context.properties.source.ConfigurationPropertySource;
import org.springframework.boot.context.properties.source.ConfigurationPropertySources;
import org.springframework.boot.context.properties.source.InvalidConfigurationPropertyValueException;
import org.springframework.boot.context.properties.source.IterableConfigurationPropertySource;
import org.springframework.boot.context.properties.source.UnboundElementsSourceFilter;
import org.springframework.boot.origin.Origin;
import org.springframework.core.NativeDetector;
import org.springframework.core.env.Environment;

/**
 * Checks the names of properties, because Spring Boot silently ignores unknown
 * properties.
 */
final class PropertyNames {

	private static final Log logger = LogFactory.getLog(PropertyNames.class);

	private static final ConfigurationPropertyName PREFIX = ConfigurationPropertyName.of("holdfast");

	/** Removed properties by name, with advice for users. */
	private static final Map<String, String> REMOVED = Map.ofEntries( //
			Map.entry("holdfast.lock.fair",
					"Delete it: locks are always served in order, and local hand-over makes up for the speed"),
			Map.entry("holdfast.lock.keep-warm",
					"Delete it: as close() does not wait for Redis, a lock costs one round trip without it"));

	private PropertyNames() {
	}

	/**
	 * Refuse removed properties, in any notation that Spring Boot binds, and warn of
	 * unknown properties.
	 * @param environment the environment of the application
	 * @throws InvalidConfigurationPropertyValueException if a removed property is set
	 */
	static void check(Environment environment) {
		for (ConfigurationPropertySource source : ConfigurationPropertySources.get(environment)) {
			REMOVED.forEach((name, advice) -> {
				ConfigurationProperty property = source.getConfigurationProperty(ConfigurationPropertyName.of(name));
				if (property != null) {
					throw new InvalidConfigurationPropertyValueException(name, property.getValue(),
							"this property was removed. " + advice);
				}
			});
		}
		if (!NativeDetector.inNativeImage()) {
			warnOfUnknown(environment);
		}
	}

	/**
	 * Warn of unknown properties, except environment variables and system properties,
	 * which may belong to other software.
	 */
	private static void warnOfUnknown(Environment environment) {
		List<ConfigurationPropertyName> known = names(PREFIX, HoldfastProperties.class).toList();
		UnboundElementsSourceFilter files = new UnboundElementsSourceFilter();
		for (ConfigurationPropertySource source : ConfigurationPropertySources.get(environment)) {
			if (source instanceof IterableConfigurationPropertySource names && files.apply(source)) {
				names.stream()
					.filter((name) -> PREFIX.isAncestorOf(name)
							&& known.stream().noneMatch((each) -> each.equals(name) || each.isAncestorOf(name)))
					.forEach((name) -> logger.warn("There is no property " + name + ", which is set here: "
							+ Origin.from(source.getConfigurationProperty(name))
							+ ". It has no effect: correct its name, or delete it"));
			}
		}
	}

	private static Stream<ConfigurationPropertyName> names(ConfigurationPropertyName prefix, Class<?> type) {
		return !type.isRecord() ? Stream.of(prefix)
				: Stream.of(type.getRecordComponents())
					.flatMap((component) -> names(
							prefix.append(DataObjectPropertyName.toDashedForm(component.getName())),
							component.getType()));
	}

}
