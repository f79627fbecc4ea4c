package io.holdfast.autoconfigure;

import io.holdfast.engine.LeaseEngine;
import io.holdfast.engine.observe.EngineObserver;

import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.config.BeanPostProcessor;

/**
 * Has every engine of the context tell all observers that are beans.
 */
final class EngineObservers implements BeanPostProcessor {

	private final ObjectProvider<EngineObserver> observers;

	EngineObservers(ObjectProvider<EngineObserver> observers) {
		this.observers = observers;
	}

	@Override
	public Object postProcessAfterInitialization(Object bean, String beanName) {
		if (bean instanceof LeaseEngine engine) {
			this.observers.orderedStream().forEach(engine::observe);
		}
		return bean;
	}

}
