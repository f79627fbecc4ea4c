package io.holdfast.aop;

import io.holdfast.annotation.DistributedLock;
import org.aopalliance.intercept.MethodInterceptor;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import org.springframework.aop.framework.AopProxyUtils;
import org.springframework.aop.framework.ProxyFactory;
import org.springframework.aop.support.AopUtils;
import org.springframework.beans.factory.config.BeanPostProcessor;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.Ordered;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Places in which fallbacks are found, and the objects on which they run.
 */
class FallbackPlaceTests {

	@Test
	@DisplayName("A generic method of a base class has its fallback in that class or in the class that binds its types")
	void generics() {
		try (LockedContext context = LockedContext.withClassProxies(Stock.class)) {
			context.locks().busy();
			Stock stock = context.bean(Stock.class);
			assertThat(stock.find("a")).isEqualTo("no a");
			Finder<String, String> finder = stock;
			assertThat(finder.find("b")).isEqualTo("no b");
			assertThat(stock.count("a")).isEqualTo("base a");
			assertThat(stock.describe()).isEqualTo("no stock");
		}
	}

	@Test
	@DisplayName("The fallback runs on the object behind all proxies, with its private methods and fields")
	void doublyProxied() {
		try (LockedContext context = LockedContext.of(Proxying.class, Service.class)) {
			context.locks().busy();
			Named service = context.bean(Named.class);
			assertThat(AopProxyUtils.getSingletonTarget(service))
				.satisfies((target) -> assertThat(AopUtils.isAopProxy(target)).isTrue());
			assertThat(service.name("a")).isEqualTo("a of the service");
		}
	}

	@Test
	@DisplayName("An interface without an implementation has its fallback in itself")
	void withoutTarget() {
		try (LockedContext context = LockedContext.of(Clients.class)) {
			context.locks().busy();
			assertThat(context.bean(Remote.class).call("a")).isEqualTo("intercepted other");
			assertThat(context.bean(Repository.class).load("a")).isEqualTo("intercepted cached");
		}
	}

	abstract static class Finder<K, V> {

		@DistributedLock(fallback = "findNone")
		@Nullable V find(K key) {
			return null;
		}

		@Nullable V findNone(K key) {
			return null;
		}

		@DistributedLock(fallback = "countNone")
		String count(K key) {
			return "counted";
		}

		CharSequence describeNone() {
			return "none";
		}

		private String countNone(K key) {
			return "base " + key;
		}

	}

	static class Stock extends Finder<String, String> {

		@Override
		String findNone(String key) {
			return "no " + key;
		}

		@DistributedLock(fallback = "describeNone")
		String describe() {
			return "stock";
		}

		@Override
		String describeNone() {
			return "no stock";
		}

	}

	interface Named {

		String name(String text);

	}

	static class Service implements Named {

		private final StringBuilder suffix = new StringBuilder(" of the service");

		@Override
		@DistributedLock(fallback = "other")
		public String name(String text) {
			return "locked";
		}

		private String other(String text) {
			return text + this.suffix;
		}

	}

	/** Wraps the service into a proxy that takes no more advice. */
	static class Proxying implements BeanPostProcessor, Ordered {

		@Override
		public Object postProcessAfterInitialization(Object bean, String beanName) {
			if (!(bean instanceof Service)) {
				return bean;
			}
			ProxyFactory factory = new ProxyFactory(bean);
			factory.setProxyTargetClass(true);
			factory.setFrozen(true);
			return factory.getProxy();
		}

		@Override
		public int getOrder() {
			return Ordered.HIGHEST_PRECEDENCE;
		}

	}

	interface Remote {

		@DistributedLock(fallback = "other")
		String call(String argument);

		String other(String argument);

	}

	interface Repository {

		@DistributedLock(fallback = "cached")
		String load(String argument);

		String cached(String argument);

	}

	@Configuration(proxyBeanMethods = false)
	static class Clients {

		private static final MethodInterceptor ANSWER = (invocation) -> "intercepted "
				+ invocation.getMethod().getName();

		/** A client without a target, as clients of HTTP interfaces. */
		@Bean
		Remote remote() {
			return ProxyFactory.getProxy(Remote.class, ANSWER);
		}

		/** A proxy with an interface that its target lacks. */
		@Bean
		Repository repository() {
			ProxyFactory factory = new ProxyFactory(new Object());
			factory.setInterfaces(Repository.class);
			factory.addAdvice(ANSWER);
			return (Repository) factory.getProxy();
		}

	}

}
