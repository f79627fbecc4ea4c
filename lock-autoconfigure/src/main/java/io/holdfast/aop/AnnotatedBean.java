package io.holdfast.aop;

import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.List;

import org.jspecify.annotations.Nullable;

import org.springframework.aop.Advisor;
import org.springframework.beans.factory.Aware;
import org.springframework.beans.factory.BeanFactory;
import org.springframework.beans.factory.DisposableBean;
import org.springframework.beans.factory.InitializingBean;
import org.springframework.beans.factory.support.AbstractBeanDefinition;
import org.springframework.core.annotation.MergedAnnotations.SearchStrategy;
import org.springframework.core.annotation.MergedAnnotations;
import org.springframework.util.ClassUtils;

/**
 * An annotated bean, for its checks.
 *
 * @param name its name
 * @param definition its definition, or {@code null} if it has none
 * @param factory its factory, or {@code null}
 * @param called whether the container calls methods of the bean itself, past its proxy,
 * when it creates or destroys the bean
 * @param classProxy whether the proxy is a subclass of its type
 * @param inside the advice inside of the leases
 */
record AnnotatedBean(String name, @Nullable AbstractBeanDefinition definition, @Nullable BeanFactory factory,
		boolean called, boolean classProxy, List<Advisor> inside) {

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
		String[] names = (this.definition != null) ? this.definition.getInitMethodNames() : null;
		return this.called && (isAnnotated(method, POST_CONSTRUCT)
				|| is(method, "afterPropertiesSet", InitializingBean.class, type) || isInjection(method)
				|| isAware(method, type) || isNamed(method, names));
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
		if (!this.called || isPrototype()) {
			return false;
		}
		if (isAnnotated(method, PRE_DESTROY) || is(method, "destroy", DisposableBean.class, type)) {
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
		return this.called && names != null && !isPrototype() && !DisposableBean.class.isAssignableFrom(type)
				&& !AutoCloseable.class.isAssignableFrom(type) && isInferred(names)
				&& isNamed(method, ClassUtils.hasMethod(type, "close") ? "close" : "shutdown");
	}

	private boolean isPrototype() {
		return this.definition != null && this.definition.isPrototype();
	}

	private String @Nullable [] destroyMethodNames() {
		return (this.definition != null) ? this.definition.getDestroyMethodNames() : null;
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
