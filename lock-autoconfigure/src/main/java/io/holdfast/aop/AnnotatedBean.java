package io.holdfast.aop;

import java.lang.reflect.Method;
import java.util.List;

import org.springframework.aop.Advisor;
import org.springframework.beans.factory.DisposableBean;
import org.springframework.beans.factory.InitializingBean;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;

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

	/** Return whether the container calls a method past the proxy. */
	boolean isCallback(Method method, Class<?> type) {
		return isInit(method, type) || isDestroy(method, type);
	}

	/** Return whether a method is called when the bean is created. */
	boolean isInit(Method method, Class<?> type) {
		return this.called && (AnnotatedMethod.isAnnotated(method, POST_CONSTRUCT)
				|| is(method, "afterPropertiesSet", InitializingBean.class, type));
	}

	private boolean isDestroy(Method method, Class<?> type) {
		boolean prototype = this.factory.containsBeanDefinition(this.name)
				&& this.factory.getMergedBeanDefinition(this.name).isPrototype();
		return this.called && !prototype && (AnnotatedMethod.isAnnotated(method, PRE_DESTROY)
				|| is(method, "destroy", DisposableBean.class, type));
	}

	private static boolean is(Method method, String name, Class<?> callback, Class<?> type) {
		return callback.isAssignableFrom(type) && method.getParameterCount() == 0 && method.getName().equals(name);
	}

}
