package io.holdfast.aop.method;

import java.lang.reflect.Method;
import java.util.Arrays;

import org.jspecify.annotations.Nullable;

import org.springframework.beans.factory.DisposableBean;
import org.springframework.beans.factory.InitializingBean;
import org.springframework.beans.factory.support.AbstractBeanDefinition;
import org.springframework.core.annotation.MergedAnnotations;
import org.springframework.core.annotation.MergedAnnotations.SearchStrategy;
import org.springframework.util.ClassUtils;

/**
 * The methods that the container calls on a bean itself, past its proxy, when it creates
 * or destroys the bean.
 *
 * @since 0.1.0
 */
public final class ContainerCallbacks {

	private static final String POST_CONSTRUCT = "jakarta.annotation.PostConstruct";

	private static final String PRE_DESTROY = "jakarta.annotation.PreDestroy";

	private ContainerCallbacks() {
	}

	/**
	 * Return whether a method is called when its bean is created.
	 * @param definition what the bean was made from, or {@code null} if that is not known
	 */
	public static boolean isInit(Method method, Class<?> type, @Nullable AbstractBeanDefinition definition) {
		return isAnnotated(method, POST_CONSTRUCT) || is(method, "afterPropertiesSet", InitializingBean.class, type)
				|| (definition != null && isNamed(method, definition.getInitMethodNames()));
	}

	/**
	 * Return whether a method is called when its bean is destroyed.
	 * @param definition what the bean was made from, or {@code null} if that is not known
	 */
	public static boolean isDestroy(Method method, Class<?> type, @Nullable AbstractBeanDefinition definition) {
		if (isAnnotated(method, PRE_DESTROY) || is(method, "destroy", DisposableBean.class, type)) {
			return true;
		}
		String[] names = (definition != null) ? definition.getDestroyMethodNames() : null;
		boolean closeable = names == null && AutoCloseable.class.isAssignableFrom(type)
				&& !DisposableBean.class.isAssignableFrom(type);
		if (closeable || (names != null && Arrays.asList(names).contains(AbstractBeanDefinition.INFER_METHOD))) {
			String inferred = (closeable || ClassUtils.hasMethod(type, "close")) ? "close" : "shutdown";
			return isNamed(method, inferred);
		}
		return isNamed(method, names);
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
