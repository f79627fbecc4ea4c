package io.holdfast.autoconfigure;

import io.holdfast.LeaseLostEvent;
import io.holdfast.engine.LeaseEngine;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;

import org.springframework.beans.factory.config.BeanPostProcessor;
import org.springframework.context.ApplicationEventPublisher;
import org.springframework.context.ConfigurableApplicationContext;

/**
 * Has every engine of the context publish what it loses as events of the application.
 */
final class LeaseLostEventPublisher implements BeanPostProcessor {

	private static final Log logger = LogFactory.getLog(LeaseLostEventPublisher.class);

	private final ApplicationEventPublisher publisher;

	LeaseLostEventPublisher(ApplicationEventPublisher publisher) {
		this.publisher = publisher;
	}

	@Override
	public Object postProcessAfterInitialization(Object bean, String beanName) {
		if (bean instanceof LeaseEngine engine) {
			engine.onLost(this::publish);
		}
		return bean;
	}

	private void publish(LeaseLostEvent event) {
		try {
			this.publisher.publishEvent(event);
		}
		catch (IllegalStateException ex) {
			if (!(this.publisher instanceof ConfigurableApplicationContext context && context.isClosed())) {
				// That of a listener.
				throw ex;
			}
			// There is no listener any more.
			logger.debug("The loss of '" + event.key() + "' was not published", ex);
		}
	}

}
