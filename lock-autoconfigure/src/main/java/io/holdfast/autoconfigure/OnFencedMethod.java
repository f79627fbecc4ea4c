package io.holdfast.autoconfigure;

import java.lang.reflect.Method;

import io.holdfast.annotation.DistributedLock;
import org.jspecify.annotations.Nullable;

import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.boot.autoconfigure.condition.ConditionMessage;
import org.springframework.boot.autoconfigure.condition.ConditionOutcome;
import org.springframework.boot.autoconfigure.condition.SpringBootCondition;
import org.springframework.context.annotation.ConditionContext;
import org.springframework.context.annotation.ConfigurationCondition;
import org.springframework.core.annotation.AnnotationUtils;
import org.springframework.core.annotation.MergedAnnotations;
import org.springframework.core.annotation.MergedAnnotations.SearchStrategy;
import org.springframework.core.type.AnnotatedTypeMetadata;
import org.springframework.util.ClassUtils;
import org.springframework.util.ReflectionUtils;

/**
 * Matches if the application has a bean with a fenced method, or says by
 * {@code holdfast.fence.jdbc.enabled} that it uses fences otherwise.
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
		String found = find(context.getBeanFactory());
		return (found != null) ? ConditionOutcome.match(message.found("bean").items(found))
				: ConditionOutcome.noMatch(message.because("no bean has one"));
	}

	/** Creates no bean. */
	private static @Nullable String find(@Nullable ConfigurableListableBeanFactory beans) {
		if (beans != null) {
			for (String name : beans.getBeanDefinitionNames()) {
				if (isFenced(type(beans, name))) {
					return name;
				}
			}
		}
		return null;
	}

	private static @Nullable Class<?> type(ConfigurableListableBeanFactory beans, String name) {
		try {
			return beans.getType(name, false);
		}
		catch (RuntimeException | LinkageError ex) {
			// Perhaps of a library that is not there.
			return null;
		}
	}

	private static boolean isFenced(@Nullable Class<?> type) {
		if (type == null || type.getName().startsWith("org.springframework.")
				|| !AnnotationUtils.isCandidateClass(type, DistributedLock.class)) {
			return false;
		}
		Class<?> userClass = ClassUtils.getUserClass(type);
		if (isFenced(MergedAnnotations.from(userClass, SearchStrategy.TYPE_HIERARCHY))) {
			return true;
		}
		for (Method method : ReflectionUtils.getUniqueDeclaredMethods(userClass)) {
			if (isFenced(MergedAnnotations.from(method, SearchStrategy.TYPE_HIERARCHY))) {
				return true;
			}
		}
		return false;
	}

	private static boolean isFenced(MergedAnnotations annotations) {
		return annotations.stream(DistributedLock.class).anyMatch((found) -> found.getBoolean("fenced"));
	}

}
