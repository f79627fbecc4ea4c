package io.holdfast.autoconfigure;

import java.util.Optional;

import io.holdfast.annotation.DistributedLock;

import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.boot.autoconfigure.condition.ConditionMessage;
import org.springframework.boot.autoconfigure.condition.ConditionOutcome;
import org.springframework.boot.autoconfigure.condition.SpringBootCondition;
import org.springframework.context.annotation.ConditionContext;
import org.springframework.context.annotation.ConfigurationCondition;
import org.springframework.core.annotation.MergedAnnotations;
import org.springframework.core.type.AnnotatedTypeMetadata;

/**
 * Condition that matches if a bean has a fenced method, or
 * {@code holdfast.fence.jdbc.enabled} is true.
 */
class OnFencedMethod extends SpringBootCondition implements ConfigurationCondition {

	@Override
	public ConfigurationPhase getConfigurationPhase() {
		return ConfigurationPhase.REGISTER_BEAN;
	}

	@Override
	public ConditionOutcome getMatchOutcome(ConditionContext context, AnnotatedTypeMetadata metadata) {
		ConditionMessage.Builder message = ConditionMessage.forCondition("Fenced method");
		Boolean enabled = context.getEnvironment().getProperty("holdfast.fence.jdbc.enabled", Boolean.class);
		if (enabled != null) {
			return new ConditionOutcome(enabled, message.because("holdfast.fence.jdbc.enabled is " + enabled));
		}
		if ("always".equalsIgnoreCase(context.getEnvironment().getProperty("holdfast.fence.jdbc.initialize-schema"))) {
			return ConditionOutcome.match(message.because("holdfast.fence.jdbc.initialize-schema is always"));
		}
		ConfigurableListableBeanFactory beans = context.getBeanFactory();
		Optional<String> found = (beans != null)
				? AnnotatedBeanMethods.find(beans, OnFencedMethod::isFenced).findFirst() : Optional.empty();
		return found.map((method) -> ConditionOutcome.match(message.found("method").items(method)))
			.orElseGet(() -> ConditionOutcome.noMatch(message.because("no bean has one")));
	}

	private static boolean isFenced(MergedAnnotations annotations) {
		return annotations.stream(DistributedLock.class).anyMatch((found) -> found.getBoolean("fenced"));
	}

}
