package io.holdfast.autoconfigure;

import java.net.InetAddress;
import java.net.UnknownHostException;

import io.holdfast.engine.LeaseEngine;
import io.holdfast.engine.store.InstanceInfo;

import org.springframework.beans.factory.config.BeanPostProcessor;
import org.springframework.core.env.Environment;

/**
 * Has every engine of the context known to those who watch the fleet.
 */
final class InstanceRegistrar implements BeanPostProcessor {

	private static final String UNKNOWN = "unknown";

	private final Environment environment;

	InstanceRegistrar(Environment environment) {
		this.environment = environment;
	}

	@Override
	public Object postProcessAfterInitialization(Object bean, String beanName) {
		if (bean instanceof LeaseEngine engine) {
			engine.fleet().introduce(this::info);
		}
		return bean;
	}

	private InstanceInfo info() {
		return new InstanceInfo(this.environment.getProperty("spring.application.name", UNKNOWN), host(),
				ProcessHandle.current().pid());
	}

	/** Blocks for as long as name services take. */
	private static String host() {
		try {
			return InetAddress.getLocalHost().getHostName();
		}
		catch (UnknownHostException ex) {
			return UNKNOWN;
		}
	}

}
