package io.holdfast.autoconfigure;

import java.lang.annotation.Annotation;
import java.lang.reflect.Method;
import java.util.List;
import java.util.Set;
import java.util.function.Predicate;
import java.util.stream.Stream;

import io.holdfast.annotation.DistributedLock;
import io.holdfast.annotation.Semaphore;
import io.holdfast.aop.MethodObserver;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.core.MethodIntrospector;
import org.springframework.core.MethodIntrospector.MetadataLookup;
import org.springframework.core.annotation.AnnotationUtils;
import org.springframework.core.annotation.MergedAnnotations;
import org.springframework.core.annotation.MergedAnnotations.SearchStrategy;
import org.springframework.util.ClassUtils;
import org.springframework.util.ReflectionUtils.MethodFilter;

/**
 * Finds annotated methods of beans, without creating beans.
 */
final class AnnotatedBeanMethods {

	private static final Log logger = LogFactory.getLog(AnnotatedBeanMethods.class);

	private static final List<Class<? extends Annotation>> ANNOTATIONS = List.of(DistributedLock.class,
			Semaphore.class);

	private AnnotatedBeanMethods() {
	}

	/**
	 * Find methods of all beans.
	 * @param beans the bean factory
	 * @param condition the condition on the annotations of a method or its class
	 * @return the names of the methods, with their classes
	 */
	static Stream<String> find(ConfigurableListableBeanFactory beans, Predicate<MergedAnnotations> condition) {
		return Stream.of(beans.getBeanDefinitionNames()).flatMap((name) -> {
			try {
				return find(beans.getType(name, false), condition).stream();
			}
			catch (RuntimeException | LinkageError ex) {
				// The class may need a missing library, which must not fail the start.
				logger.debug("Bean '" + name + "' was not searched for annotated methods", ex);
				return Stream.empty();
			}
		});
	}

	/** Return whether one of Holdfast's annotations is present. */
	static boolean isGuarded(MergedAnnotations annotations) {
		return ANNOTATIONS.stream().anyMatch(annotations::isPresent);
	}

	/** Find methods of a type. */
	static List<String> find(@Nullable Class<?> type, Predicate<MergedAnnotations> condition) {
		Class<?> userClass = (type != null) ? ClassUtils.getUserClass(type) : Object.class;
		if (userClass.getName().startsWith("org.springframework.")
				|| !AnnotationUtils.isCandidateClass(userClass, ANNOTATIONS)) {
			return List.of();
		}
		MetadataLookup<Boolean> lookup = (
				method) -> condition.test(MergedAnnotations.from(method, SearchStrategy.TYPE_HIERARCHY)) ? Boolean.TRUE
						: null;
		Set<Method> methods = MethodIntrospector.selectMethods(userClass, lookup).keySet();
		if (methods.isEmpty() && condition.test(MergedAnnotations.from(userClass, SearchStrategy.TYPE_HIERARCHY))) {
			methods = MethodIntrospector.selectMethods(userClass, (MethodFilter) (method) -> true);
		}
		return methods.stream().map((method) -> userClass.getName() + "." + MethodObserver.sourceName(method)).toList();
	}

}
