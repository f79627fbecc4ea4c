package io.holdfast.autoconfigure;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

import io.holdfast.autoconfigure.HoldfastProperties.Backend;

import org.springframework.boot.autoconfigure.condition.ConditionOutcome;
import org.springframework.boot.autoconfigure.condition.SpringBootCondition;
import org.springframework.boot.context.properties.bind.BindException;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.context.annotation.ConditionContext;
import org.springframework.context.annotation.Conditional;
import org.springframework.core.type.AnnotatedTypeMetadata;

/**
 * {@link Conditional} that matches a configured backend of leases.
 */
@Documented
@Retention(RetentionPolicy.RUNTIME)
@Target({ ElementType.TYPE, ElementType.METHOD })
@Conditional(ConditionalOnBackend.OnBackend.class)
@interface ConditionalOnBackend {

	Backend value();

	/**
	 * Condition that binds the property, so that an invalid value fails the start with a
	 * {@link BindException} for this property instead of a missing bean.
	 */
	final class OnBackend extends SpringBootCondition {

		@Override
		public ConditionOutcome getMatchOutcome(ConditionContext context, AnnotatedTypeMetadata metadata) {
			Backend wanted = metadata.getAnnotations().get(ConditionalOnBackend.class).getEnum("value", Backend.class);
			Backend configured = Binder.get(context.getEnvironment())
				.bind("holdfast.backend", Backend.class)
				.orElse(Backend.REDIS);
			return new ConditionOutcome(configured == wanted, "holdfast.backend is " + configured);
		}

	}

}
