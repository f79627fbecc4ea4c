package io.holdfast.autoconfigure.start;

import java.lang.annotation.Annotation;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

import io.holdfast.annotation.DistributedLock;
import io.holdfast.annotation.Semaphore;
import io.holdfast.aop.LeaseBeanPostProcessor;
import io.holdfast.aop.MethodObserver;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.context.ApplicationListener;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.event.ContextRefreshedEvent;
import org.springframework.core.MethodIntrospector;
import org.springframework.core.MethodIntrospector.MetadataLookup;
import org.springframework.core.annotation.AnnotationUtils;
import org.springframework.core.annotation.MergedAnnotations;
import org.springframework.core.annotation.MergedAnnotations.SearchStrategy;
import org.springframework.core.env.Environment;
import org.springframework.util.ClassUtils;

/**
 * Warns once of beans whose annotated methods run without locks and permits, because the
 * auto-configuration of the annotations is no part of their context: as in tests of
 * slices, or where it is excluded.
 */
final class UnguardedMethodsListener implements ApplicationListener<ContextRefreshedEvent> {

	private static final Log logger = LogFactory.getLog(UnguardedMethodsListener.class);

	private static final List<Class<? extends Annotation>> ANNOTATIONS = List.of(DistributedLock.class,
			Semaphore.class);

	private final ConfigurableApplicationContext context;

	UnguardedMethodsListener(ConfigurableApplicationContext context) {
		this.context = context;
	}

	@Override
	public void onApplicationEvent(ContextRefreshedEvent event) {
		// Not that of a child. Where a switch says so, that is warned of already.
		if (event.getApplicationContext() != this.context || isSwitchedOff(this.context.getEnvironment())
				|| this.context.getBeanNamesForType(LeaseBeanPostProcessor.class, false, false).length > 0) {
			return;
		}
		List<String> unguarded = unguardedMethods(this.context.getBeanFactory());
		if (!unguarded.isEmpty()) {
			logger.warn("Annotated methods run without locks and permits, as Holdfast's auto-configuration is not part "
					+ "of this context: " + unguarded.get(0)
					+ ((unguarded.size() > 1) ? " and " + (unguarded.size() - 1) + " more" : "")
					+ ". In the test of a slice, add @AutoConfigureHoldfast of lock-starter-test; otherwise, do not "
					+ "exclude it");
		}
	}

	private static boolean isSwitchedOff(Environment environment) {
		return !environment.getProperty("holdfast.enabled", Boolean.class, true)
				|| !environment.getProperty("holdfast.aop.enabled", Boolean.class, true);
	}

	/** Creates no bean. */
	private static List<String> unguardedMethods(ConfigurableListableBeanFactory beans) {
		List<String> found = new ArrayList<>();
		for (String name : beans.getBeanDefinitionNames()) {
			try {
				found.addAll(unguardedMethods(beans.getType(name, false)));
			}
			catch (RuntimeException | LinkageError ex) {
				// Perhaps of a library that is not there: no reason not to start.
				logger.debug("Bean '" + name + "' was not searched for annotated methods", ex);
			}
		}
		return found;
	}

	/** Return the annotated methods of a type. */
	static List<String> unguardedMethods(@Nullable Class<?> type) {
		Class<?> userClass = (type != null) ? ClassUtils.getUserClass(type) : Object.class;
		if (userClass.getName().startsWith("org.springframework.")
				|| !AnnotationUtils.isCandidateClass(userClass, ANNOTATIONS)) {
			return List.of();
		}
		return methods(userClass).map((method) -> userClass.getName() + "." + MethodObserver.sourceName(method))
			.toList();
	}

	private static Stream<Method> methods(Class<?> type) {
		MetadataLookup<Boolean> lookup = (
				method) -> isAnnotated(MergedAnnotations.from(method, SearchStrategy.TYPE_HIERARCHY)) ? Boolean.TRUE
						: null;
		List<Method> methods = new ArrayList<>(MethodIntrospector.selectMethods(type, lookup).keySet());
		if (methods.isEmpty() && isAnnotated(MergedAnnotations.from(type, SearchStrategy.TYPE_HIERARCHY))) {
			methods.addAll(List.of(type.getDeclaredMethods()));
		}
		return methods.stream();
	}

	private static boolean isAnnotated(MergedAnnotations annotations) {
		return ANNOTATIONS.stream().anyMatch(annotations::isPresent);
	}

}
