package io.holdfast.autoconfigure;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

import io.holdfast.aop.InvalidDeclarationException;
import io.holdfast.aop.LeaseBeanPostProcessor;

import org.springframework.beans.factory.config.BeanPostProcessor;
import org.springframework.beans.factory.support.DefaultListableBeanFactory;

/**
 * Refuses annotated beans that are created before the {@link LeaseBeanPostProcessor} of
 * their context, because another post-processor needs them.
 */
final class EarlyBeans implements BeanPostProcessor {

	private final DefaultListableBeanFactory beans;

	private final Map<String, Class<?>> early = new LinkedHashMap<>();

	private volatile boolean over;

	EarlyBeans(DefaultListableBeanFactory beans) {
		this.beans = beans;
	}

	@Override
	public Object postProcessAfterInitialization(Object bean, String beanName) {
		if (!this.over) {
			this.over = this.beans.isConfigurationFrozen();
			if (this.beans.getBeanPostProcessors().stream().anyMatch(LeaseBeanPostProcessor.class::isInstance)) {
				this.over = true;
				this.early.forEach(this::check);
			}
			this.early.put(beanName, bean.getClass());
		}
		return bean;
	}

	private void check(String beanName, Class<?> type) {
		List<String> unguarded = AnnotatedBeanMethods.find(type, AnnotatedBeanMethods::isGuarded);
		if (!unguarded.isEmpty()) {
			throw new InvalidDeclarationException("Annotated methods of bean '" + beanName
					+ "' would run without locks and permits, as it is created before they can be added: "
					+ unguarded.get(0) + ". It is needed early by " + List.of(this.beans.getDependentBeans(beanName)),
					"Inject an ObjectProvider of it into the bean post-processor or factory post-processor that needs it,"
							+ " or make the @Bean method of that static");
		}
	}

}
