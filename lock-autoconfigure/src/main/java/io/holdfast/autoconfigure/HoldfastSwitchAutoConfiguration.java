package io.holdfast.autoconfigure;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;

import org.springframework.aot.AotDetector;
import org.springframework.beans.factory.BeanFactory;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.context.properties.source.InvalidConfigurationPropertyValueException;
import org.springframework.context.annotation.Lazy;
import org.springframework.core.env.Environment;

/**
 * {@link AutoConfiguration Auto-configuration} that checks the switches. Warns if
 * Holdfast is switched off, and refuses values other than true and false, which other
 * conditions silently treat as false. Also refuses removed properties, and warns of
 * unknown ones.
 */
@AutoConfiguration
@Lazy(false)
public final class HoldfastSwitchAutoConfiguration {

	private static final Log logger = LogFactory.getLog(HoldfastSwitchAutoConfiguration.class);

	private static final String SWITCH = "holdfast.enabled";

	private static final String AOP_SWITCH = "holdfast.aop.enabled";

	private static final String CONSOLE_SWITCH = "holdfast.console.enabled";

	HoldfastSwitchAutoConfiguration(Environment environment, BeanFactory context) {
		PropertyNames.check(environment);
		boolean on = isOn(environment, SWITCH);
		boolean aop = isOn(environment, AOP_SWITCH) && on;
		// Off by default; only the value is checked.
		isOn(environment, CONSOLE_SWITCH);
		if (AotDetector.useGeneratedArtifacts()) {
			checkBuilt(SWITCH, on, context.getBeanProvider(HoldfastAutoConfiguration.class));
			checkBuilt(AOP_SWITCH, aop, context.getBeanProvider(HoldfastAopAutoConfiguration.class));
		}
		if (!on) {
			logger.warn("Holdfast is switched off (" + SWITCH + "=false): annotated methods run without locks and "
					+ "permits, and there are no services");
		}
		else if (!aop) {
			logger.warn("Annotations are switched off (" + AOP_SWITCH + "=false): annotated methods run without locks "
					+ "and permits");
		}
	}

	/** Return the value of a switch, by default on, and refuse other values. */
	private static boolean isOn(Environment environment, String name) {
		String value = environment.getProperty(name, "true");
		if (!value.equalsIgnoreCase("true") && !value.equalsIgnoreCase("false")) {
			throw new InvalidConfigurationPropertyValueException(name, value, "it must be true or false");
		}
		return value.equalsIgnoreCase("true");
	}

	/**
	 * Compare a switch with the build, at which ahead-of-time processing has evaluated
	 * the conditions.
	 */
	private static void checkBuilt(String name, boolean on, ObjectProvider<?> configuration) {
		boolean built = configuration.getIfAvailable() != null;
		if (built && !on) {
			throw new InvalidConfigurationPropertyValueException(name, false,
					"the application was processed ahead of time with true: build it with the value that it runs with");
		}
		if (on && !built) {
			// Not an error: the auto-configuration may have been excluded intentionally.
			logger.warn(name + " has no effect: it was false, or its auto-configuration was left out, when the "
					+ "application was processed ahead of time. Annotated methods run without locks and permits");
		}
	}

}
