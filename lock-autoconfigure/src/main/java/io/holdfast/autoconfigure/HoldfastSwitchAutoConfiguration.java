package io.holdfast.autoconfigure;

import java.util.List;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;

import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.context.properties.source.InvalidConfigurationPropertyValueException;
import org.springframework.context.annotation.Lazy;
import org.springframework.core.env.Environment;

/**
 * {@link AutoConfiguration Auto-configuration} that looks at the switches themselves:
 * warns if Holdfast is off, and refuses values other than true and false, which all the
 * others would take for false without a word.
 */
@AutoConfiguration
@Lazy(false)
public final class HoldfastSwitchAutoConfiguration {

	private static final Log logger = LogFactory.getLog(HoldfastSwitchAutoConfiguration.class);

	private static final String SWITCH = "holdfast.enabled";

	HoldfastSwitchAutoConfiguration(Environment environment) {
		List.of(SWITCH, "holdfast.aop.enabled").forEach((name) -> check(name, environment.getProperty(name, "true")));
		if (environment.getProperty(SWITCH, "true").equalsIgnoreCase("false")) {
			logger.warn("Holdfast is switched off (" + SWITCH + "=false): annotated methods run without locks and "
					+ "permits, and there are no services");
		}
	}

	private static void check(String name, String value) {
		if (!value.equalsIgnoreCase("true") && !value.equalsIgnoreCase("false")) {
			throw new InvalidConfigurationPropertyValueException(name, value, "it must be true or false");
		}
	}

}
