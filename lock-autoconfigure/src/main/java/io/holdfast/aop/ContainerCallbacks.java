package io.holdfast.aop;

import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.List;

import org.jspecify.annotations.Nullable;

import org.springframework.beans.factory.Aware;
import org.springframework.beans.factory.DisposableBean;
import org.springframework.beans.factory.InitializingBean;
import org.springframework.beans.factory.support.AbstractBeanDefinition;
import org.springframework.core.annotation.MergedAnnotations;
import org.springframework.core.annotation.MergedAnnotations.SearchStrategy;
import org.springframework.util.ClassUtils;

/**
 * The methods that the container calls on a bean itself, past its proxy, when it creates
 * or destroys the bean.
 */
final class ContainerCallbacks {

	private static final String POST_CONSTRUCT = "jakarta.annotation.PostConstruct";

	private static final String PRE_DESTROY = "jakarta.annotation.PreDestroy";

	/** The annotations of methods for injection. */
	private static final List<String> INJECTION = List.of("org.springframework.beans.factory.annotation.Autowired",
			"org.springframework.beans.factory.annotation.Value", "jakarta.inject.Inject",
			"jakarta.annotation.Resource", "jakarta.ejb.EJB", "jakarta.persistence.PersistenceContext",
			"jakarta.persistence.PersistenceUnit");

	private ContainerCallbacks() {
	}

	/**
	 * Return whether a method is called when its bean is created.
	 * @param definition the bean's definition, or {@code null} if that is not known
	 */
	static boolean isInit(Method method, Class<?> type, @Nullable AbstractBeanDefinition definition) {
		return isAnnotated(method, POST_CONSTRUCT) || is(method, "afterPropertiesSet", InitializingBean.class, type)
				|| isInjection(method) || isAware(method, type)
				|| (definition != null && isNamed(method, definition.getInitMethodNames()));
	}

	/** An overriding method that is not annotated is not called. */
	private static boolean isInjection(Method method) {
		MergedAnnotations annotations = MergedAnnotations.from(method);
		return INJECTION.stream().anyMatch(annotations::isPresent);
	}

	private static boolean isAware(Method method, Class<?> type) {
		return method.getName().startsWith("set") && ClassUtils.getAllInterfacesForClassAsSet(type)
			.stream()
			.anyMatch((each) -> Aware.class.isAssignableFrom(each)
					&& ClassUtils.hasMethod(each, method.getName(), method.getParameterTypes()));
	}

	/**
	 * Return whether a method is called when its bean is destroyed, by its annotation, an
	 * interface of the bean or its definition.
	 * @param definition the bean's definition, or {@code null} if that is not known
	 */
	static boolean isDestroy(Method method, Class<?> type, @Nullable AbstractBeanDefinition definition) {
		if (definition != null && definition.isPrototype()) {
			return false;
		}
		if (isAnnotated(method, PRE_DESTROY) || is(method, "destroy", DisposableBean.class, type)) {
			return true;
		}
		String[] names = (definition != null) ? definition.getDestroyMethodNames() : null;
		return (names == null || isInferred(names))
				? !DisposableBean.class.isAssignableFrom(type) && is(method, "close", AutoCloseable.class, type)
				: isNamed(method, names);
	}

	/**
	 * Return whether a method is called when its bean is destroyed for its name alone,
	 * which may mean something else.
	 * @param definition the bean's definition, or {@code null} if that is not known
	 */
	static boolean isDestroyByName(Method method, Class<?> type, @Nullable AbstractBeanDefinition definition) {
		if (definition == null || definition.isPrototype() || DisposableBean.class.isAssignableFrom(type)
				|| AutoCloseable.class.isAssignableFrom(type)) {
			return false;
		}
		String[] names = definition.getDestroyMethodNames();
		return names != null && isInferred(names)
				&& isNamed(method, ClassUtils.hasMethod(type, "close") ? "close" : "shutdown");
	}

	private static boolean isInferred(String[] names) {
		return Arrays.asList(names).contains(AbstractBeanDefinition.INFER_METHOD);
	}

	private static boolean isAnnotated(Method method, String annotation) {
		return MergedAnnotations.from(method, SearchStrategy.TYPE_HIERARCHY).isPresent(annotation);
	}

	private static boolean is(Method method, String name, Class<?> callback, Class<?> type) {
		return callback.isAssignableFrom(type) && isNamed(method, name);
	}

	private static boolean isNamed(Method method, String @Nullable ... names) {
		return names != null && method.getParameterCount() == 0 && Arrays.asList(names).contains(method.getName());
	}

}
