package io.holdfast.aop;

import java.lang.management.ManagementFactory;
import java.lang.reflect.Method;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;

import io.holdfast.annotation.DistributedLock;
import io.holdfast.annotation.Semaphore;
import org.aopalliance.intercept.MethodInterceptor;
import org.aopalliance.intercept.MethodInvocation;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import org.springframework.aop.framework.autoproxy.AbstractBeanFactoryAwareAdvisingPostProcessor;
import org.springframework.aop.support.StaticMethodMatcherPointcutAdvisor;
import org.springframework.beans.factory.config.ConfigurableBeanFactory;
import org.springframework.beans.factory.config.CustomScopeConfigurer;
import org.springframework.context.annotation.Scope;
import org.springframework.context.annotation.ScopedProxyMode;
import org.springframework.context.support.SimpleThreadScope;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatException;

/**
 * Prototype and scoped beans: a declaration is checked once.
 */
class PrototypeTests extends LockedTestCase {

	private static final int MANY = 200;

	/** Each check of a declaration resolves its placeholder. */
	private final AtomicInteger resolved = new AtomicInteger();

	@BeforeEach
	void prepare() {
		register("thread", CustomScopeConfigurer.class, () -> {
			CustomScopeConfigurer configurer = new CustomScopeConfigurer();
			configurer.addScope("thread", new SimpleThreadScope());
			return configurer;
		});
		register("first", Locked.class, Locked::new);
		register("second", Locked.class, Locked::new);
		register("limited", Limited.class, Limited::new);
		register("scoped", Scoped.class, Scoped::new);
		register("invalid", Invalid.class, Invalid::new);
		register("advised", Advised.class, Advised::new);
		start(new CountingProperties(), OtherPostProcessor.class);
		this.resolved.set(0);
	}

	private void assertCheckedOnce(Supplier<?> creation) {
		int before = this.resolved.get();
		creation.get();
		int once = this.resolved.get();
		assertThat(once).isGreaterThan(before);
		for (int i = 0; i < MANY; i++) {
			creation.get();
		}
		assertThat(this.resolved).hasValue(once);
	}

	@Test
	@DisplayName("A declaration is checked once per bean definition, or once per type without a definition")
	void checkedOnce() {
		assertCheckedOnce(() -> beans().getBean("first"));
		assertCheckedOnce(() -> beans().getBean("second"));
		assertCheckedOnce(() -> beans().getBean("limited"));
		assertCheckedOnce(this::scoped);
		AtomicInteger number = new AtomicInteger();
		assertCheckedOnce(() -> beans().initializeBean(new Unregistered(), "name " + number.incrementAndGet()));
	}

	private Object scoped() {
		beans().getRegisteredScope("thread").remove("scopedTarget.scoped");
		return beans().getBean("scopedTarget.scoped");
	}

	@Test
	@DisplayName("Each bean is guarded, and each call evaluates its key")
	void guarded() {
		for (int i = 0; i < 3; i++) {
			bean("first", Locked.class).work("a" + i);
			bean("scoped", Scoped.class).work();
		}
		assertThat(this.locks.keys()).containsExactly("value:a0", "value", "value:a1", "value", "value:a2", "value");
	}

	@Test
	@DisplayName("An invalid definition is refused at each creation")
	void refusedEachTime() {
		for (int i = 0; i < 3; i++) {
			assertThatException().isThrownBy(() -> beans().getBean("invalid"))
				.havingCause()
				.isInstanceOf(InvalidDeclarationException.class);
		}
	}

	@Test
	@DisplayName("A bean and its first call cost at most twice the memory of a bean with other advice")
	void memory() {
		long locked = bytes(() -> bean("first", Locked.class).unlocked());
		long advised = bytes(() -> bean("advised", Advised.class).unlocked());
		assertThat(locked).isLessThan(2 * advised);
	}

	private static long bytes(Supplier<?> creation) {
		com.sun.management.ThreadMXBean threads = (com.sun.management.ThreadMXBean) ManagementFactory.getThreadMXBean();
		long[] before = new long[1];
		for (int i = 0; i < 2 * MANY; i++) {
			if (i == MANY) {
				before[0] = threads.getThreadAllocatedBytes(Thread.currentThread().getId());
			}
			creation.get();
		}
		return threads.getThreadAllocatedBytes(Thread.currentThread().getId()) - before[0];
	}

	@Scope(ConfigurableBeanFactory.SCOPE_PROTOTYPE)
	static class Locked {

		@DistributedLock(name = "${my.name}", key = "#key")
		public void work(String key) {
		}

		public String unlocked() {
			return "";
		}

	}

	@Scope(ConfigurableBeanFactory.SCOPE_PROTOTYPE)
	static class Limited {

		@Semaphore(name = "${my.name}", limitString = "${my.limit}")
		public void work() {
		}

	}

	@Scope(value = "thread", proxyMode = ScopedProxyMode.TARGET_CLASS)
	static class Scoped {

		@DistributedLock(name = "${my.name}")
		public void work() {
		}

	}

	static class Unregistered {

		@DistributedLock(name = "${my.name}")
		public void work() {
		}

	}

	@Scope(ConfigurableBeanFactory.SCOPE_PROTOTYPE)
	static class Invalid {

		@DistributedLock(key = "#unknown")
		public void work() {
		}

	}

	@Scope(ConfigurableBeanFactory.SCOPE_PROTOTYPE)
	static class Advised {

		public String unlocked() {
			return "";
		}

	}

	/** Advises beans, as Spring's own post-processors. */
	@SuppressWarnings("serial")
	static class OtherPostProcessor extends AbstractBeanFactoryAwareAdvisingPostProcessor {

		OtherPostProcessor() {
			setProxyTargetClass(true);
			this.advisor = new StaticMethodMatcherPointcutAdvisor((MethodInterceptor) MethodInvocation::proceed) {

				@Override
				public boolean matches(Method method, Class<?> targetClass) {
					return targetClass == Advised.class;
				}

			};
		}

	}

	/** Counts the look-ups of a name. */
	@SuppressWarnings("serial")
	private final class CountingProperties extends HashMap<String, Object> {

		CountingProperties() {
			super(Map.of("my.name", "value", "my.limit", "1"));
		}

		@Override
		public Object get(Object name) {
			if (name.equals("my.name")) {
				PrototypeTests.this.resolved.incrementAndGet();
			}
			return super.get(name);
		}

	}

}
