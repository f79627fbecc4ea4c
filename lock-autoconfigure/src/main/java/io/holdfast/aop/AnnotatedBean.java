package io.holdfast.aop;

import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.List;

import org.jspecify.annotations.Nullable;

import org.springframework.aop.Advisor;
import org.springframework.beans.factory.Aware;
import org.springframework.beans.factory.DisposableBean;
import org.springframework.beans.factory.InitializingBean;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.beans.factory.support.AbstractBeanDefinition;
import org.springframework.core.annotation.MergedAnnotations;
import org.springframework.util.ClassUtils;

/**
 * An annotated bean, for its checks.
 *
 * @param name its name
 * @param factory its factory
 * @param called whether the container calls methods of the bean itself, past its proxy,
 * when it creates or destroys the bean
 * @param classProxy whether the proxy is a subclass of its type
 * @param inside the advice inside of the leases
 */
record AnnotatedBean(String name, ConfigurableListableBeanFactory factory, boolean called, boolean classProxy,
		List<Advisor> inside) {

	private static final String POST_CONSTRUCT = "jakarta.annotation.PostConstruct";

	private static final String PRE_DESTROY = "jakarta.annotation.PreDestroy";

	/** The annotations of methods for injection. */
	private static final List<String> INJECTION = List.of("org.springframework.beans.factory.annotation.Autowired",
			"org.springframework.beans.factory.annotation.Value", "jakarta.inject.Inject",
			"jakarta.annotation.Resource", "jakarta.ejb.EJB", "jakarta.persistence.PersistenceContext",
			"jakarta.persistence.PersistenceUnit");

	/** Return whether the container calls a method past the proxy. */
	boolean isCallback(Method method, Class<?> type) {
		return isInit(method, type) || isDestroy(method, type);
	}

	/** Return whether a method is called when the bean is created. */
	boolean isInit(Method method, Class<?> type) {
		AbstractBeanDefinition definition = definition();
		return this.called && (AnnotatedMethod.isAnnotated(method, POST_CONSTRUCT)
				|| is(method, "afterPropertiesSet", InitializingBean.class, type) || isInjection(method)
				|| isAware(method, type) || (definition != null && isNamed(method, definition.getInitMethodNames())));
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
	 * Return whether a method is called when the bean is destroyed, by its annotation, an
	 * interface of the bean or its definition.
	 */
	boolean isDestroy(Method method, Class<?> type) {
		if (!isDestroyed()) {
			return false;
		}
		if (AnnotatedMethod.isAnnotated(method, PRE_DESTROY) || is(method, "destroy", DisposableBean.class, type)) {
			return true;
		}
		String[] names = destroyMethodNames();
		return (names == null || isInferred(names))
				? !DisposableBean.class.isAssignableFrom(type) && is(method, "close", AutoCloseable.class, type)
				: isNamed(method, names);
	}

	/**
	 * Return whether a method is called when the bean is destroyed for its name alone,
	 * which may mean something else.
	 */
	boolean isDestroyByName(Method method, Class<?> type) {
		String[] names = destroyMethodNames();
		return isDestroyed() && names != null && !DisposableBean.class.isAssignableFrom(type)
				&& !AutoCloseable.class.isAssignableFrom(type) && isInferred(names)
				&& isNamed(method, ClassUtils.hasMethod(type, "close") ? "close" : "shutdown");
	}

	private boolean isDestroyed() {
		AbstractBeanDefinition definition = definition();
		return this.called && (definition == null || !definition.isPrototype());
	}

	private String @Nullable [] destroyMethodNames() {
		AbstractBeanDefinition definition = definition();
		return (definition != null) ? definition.getDestroyMethodNames() : null;
	}

	private @Nullable AbstractBeanDefinition definition() {
		return (this.factory.containsBeanDefinition(this.name)
				&& this.factory.getMergedBeanDefinition(this.name) instanceof AbstractBeanDefinition known) ? known
						: null;
	}

	private static boolean isInferred(String[] names) {
		return Arrays.asList(names).contains(AbstractBeanDefinition.INFER_METHOD);
	}

	private static boolean is(Method method, String name, Class<?> callback, Class<?> type) {
		return callback.isAssignableFrom(type) && isNamed(method, name);
	}

	private static boolean isNamed(Method method, String @Nullable ... names) {
		return names != null && method.getParameterCount() == 0 && Arrays.asList(names).contains(method.getName());
	}

}
