package io.holdfast.autoconfigure;

import java.util.List;

import io.holdfast.aop.LeaseBeanPostProcessor;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;

import org.springframework.context.ApplicationListener;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.event.ContextRefreshedEvent;
import org.springframework.context.support.AbstractApplicationContext;
import org.springframework.core.env.Environment;

/**
 * Warns once of beans whose annotated methods run without locks and permits, because
 * their context lacks the auto-configuration of the annotations: in test slices, in child
 * contexts, or if it is excluded.
 *
 * @param context the context of the listener
 */
record UnguardedMethodsListener(
		ConfigurableApplicationContext context) implements ApplicationListener<ContextRefreshedEvent> {

	private static final Log logger = LogFactory.getLog(UnguardedMethodsListener.class);

	@Override
	public void onApplicationEvent(ContextRefreshedEvent event) {
		// Ignore switches, of which another class warns.
		if (!(event.getApplicationContext() instanceof AbstractApplicationContext refreshed) || !isChecked(refreshed)
				|| isSwitchedOff(refreshed.getEnvironment())
				|| refreshed.getBeanNamesForType(LeaseBeanPostProcessor.class, false, false).length > 0) {
			return;
		}
		List<String> unguarded = AnnotatedBeanMethods.find(refreshed.getBeanFactory(), AnnotatedBeanMethods::isGuarded)
			.toList();
		if (!unguarded.isEmpty()) {
			logger.warn("Annotated methods run without locks and permits, as Holdfast's auto-configuration is not part "
					+ "of this context: " + unguarded.get(0)
					+ ((unguarded.size() > 1) ? " and " + (unguarded.size() - 1) + " more" : "")
					+ ". In the test of a slice, add @AutoConfigureHoldfast of lock-starter-test; in a child context, import "
					+ "HoldfastAopAutoConfiguration; otherwise, do not exclude it");
		}
	}

	/**
	 * Return whether this listener checks a context: its own, or a child context that no
	 * application has started, and that has no such listener.
	 */
	private boolean isChecked(AbstractApplicationContext refreshed) {
		return refreshed == this.context
				|| refreshed.getApplicationListeners().stream().noneMatch(UnguardedMethodsListener.class::isInstance);
	}

	private static boolean isSwitchedOff(Environment environment) {
		return !environment.getProperty("holdfast.enabled", Boolean.class, true)
				|| !environment.getProperty("holdfast.aop.enabled", Boolean.class, true);
	}

}
