package io.holdfast.aop;

import io.holdfast.annotation.DistributedLock;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import org.springframework.aop.framework.AopProxyUtils;
import org.springframework.aop.framework.ProxyFactory;
import org.springframework.aop.support.AopUtils;
import org.springframework.beans.factory.config.BeanPostProcessor;
import org.springframework.core.Ordered;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Places in which fallbacks are found, and the objects on which they run.
 */
class FallbackPlaceTests extends LockedTestCase {

	@Test
	@DisplayName("A generic method of a base class has its fallback in that class or in the class that binds its types")
	void generics() {
		Stock stock = start(Stock.class);
		this.locks.busy();
		assertThat(stock.find("a")).isEqualTo("no a");
		Finder<String, String> finder = stock;
		assertThat(finder.find("b")).isEqualTo("no b");
		assertThat(stock.count("a")).isEqualTo("base a");
		assertThat(stock.describe()).isEqualTo("no stock");
	}

	@Test
	@DisplayName("The fallback runs on the object behind all proxies, with its private methods and fields")
	void doublyProxied() {
		startByInterface(Proxying.class, Service.class);
		this.locks.busy();
		Named service = bean(Named.class);
		assertThat(AopProxyUtils.getSingletonTarget(service))
			.satisfies((target) -> assertThat(AopUtils.isAopProxy(target)).isTrue());
		assertThat(service.name("a")).isEqualTo("a of the service");
	}

	@Test
	@DisplayName("An interface without an implementation has its fallback in itself")
	void withoutTarget() {
		register("remote", Remote.class, () -> client(Remote.class));
		register("repository", Repository.class, () -> repository(Repository.class, new Object()));
		startByInterface();
		this.locks.busy();
		assertThat(bean(Remote.class).call("a")).isEqualTo("intercepted other");
		assertThat(bean(Repository.class).load("a")).isEqualTo("intercepted cached");
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

}
