package io.holdfast.aop;

import java.lang.management.ManagementFactory;
import java.lang.reflect.Method;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;

import io.holdfast.LockService;
import io.holdfast.SemaphoreService;
import io.holdfast.annotation.DistributedLock;
import io.holdfast.annotation.Semaphore;
import org.aopalliance.intercept.MethodInterceptor;
import org.aopalliance.intercept.MethodInvocation;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import org.springframework.aop.framework.autoproxy.AbstractBeanFactoryAwareAdvisingPostProcessor;
import org.springframework.aop.support.StaticMethodMatcherPointcutAdvisor;
import org.springframework.beans.factory.config.ConfigurableBeanFactory;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Scope;
import org.springframework.context.annotation.ScopedProxyMode;
import org.springframework.context.support.SimpleThreadScope;
import org.springframework.core.env.PropertySource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatException;

/**
 * Prototype and scoped beans: a declaration is checked once.
 */
class PrototypeTests {

	private static final int MANY = 200;

	/** Each check of a declaration resolves its placeholder. */
	private final AtomicInteger resolved = new AtomicInteger();

	@AutoClose
	private final AnnotationConfigApplicationContext context = new AnnotationConfigApplicationContext();

	@BeforeEach
	void start() {
		this.context.getEnvironment().getPropertySources().addFirst(new PropertySource<>("test", "source") {

			@Override
			public Object getProperty(String name) {
				if (name.equals("my.name")) {
					PrototypeTests.this.resolved.incrementAndGet();
					return "value";
				}
				return name.equals("my.limit") ? "1" : null;
			}

		});
		this.context.getBeanFactory().registerScope("thread", new SimpleThreadScope());
		this.context.registerBean(RecordingLocks.class);
		this.context.registerBean(RecordingSemaphores.class);
		this.context.registerBean(LeaseBeanPostProcessor.class, () -> {
			LeaseBeanPostProcessor processor = new LeaseBeanPostProcessor(() -> this.context.getBean(LockService.class),
					() -> this.context.getBean(SemaphoreService.class));
			processor.setProxyTargetClass(true);
			return processor;
		});
		this.context.registerBean(OtherPostProcessor.class);
		this.context.register(Beans.class);
		this.context.refresh();
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
		assertCheckedOnce(() -> this.context.getBean("first"));
		assertCheckedOnce(() -> this.context.getBean("second"));
		assertCheckedOnce(() -> this.context.getBean("limited"));
		assertCheckedOnce(this::scoped);
		AtomicInteger number = new AtomicInteger();
		assertCheckedOnce(() -> this.context.getAutowireCapableBeanFactory()
			.initializeBean(new Unregistered(), "name " + number.incrementAndGet()));
	}

	private Object scoped() {
		this.context.getBeanFactory().getRegisteredScope("thread").remove("scopedTarget.scoped");
		return this.context.getBean("scopedTarget.scoped");
	}

	@Test
	@DisplayName("Each bean is guarded, and each call evaluates its key")
	void guarded() {
		for (int i = 0; i < 3; i++) {
			this.context.getBean("first", Locked.class).work("a" + i);
			this.context.getBean("scoped", Scoped.class).work();
		}
		assertThat(this.context.getBean(RecordingLocks.class).keys()).containsExactly("value:a0", "value", "value:a1",
				"value", "value:a2", "value");
	}

	@Test
	@DisplayName("An invalid definition is refused at each creation")
	void refusedEachTime() {
		for (int i = 0; i < 3; i++) {
			assertThatException().isThrownBy(() -> this.context.getBean("invalid"))
				.havingCause()
				.isInstanceOf(InvalidDeclarationException.class);
		}
	}

	@Test
	@DisplayName("A bean and its first call cost at most twice the memory of a bean with other advice")
	void memory() {
		long locked = bytes(() -> this.context.getBean("first", Locked.class).unlocked());
		long advised = bytes(() -> this.context.getBean("advised", Advised.class).unlocked());
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

	static class Locked {

		@DistributedLock(name = "${my.name}", key = "#key")
		public void work(String key) {
		}

		public String unlocked() {
			return "";
		}

	}

	static class Limited {

		@Semaphore(name = "${my.name}", limitString = "${my.limit}")
		public void work() {
		}

	}

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

	static class Invalid {

		@DistributedLock(key = "#unknown")
		public void work() {
		}

	}

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

	@Configuration(proxyBeanMethods = false)
	static class Beans {

		@Bean
		@Scope(ConfigurableBeanFactory.SCOPE_PROTOTYPE)
		Locked first() {
			return new Locked();
		}

		@Bean
		@Scope(ConfigurableBeanFactory.SCOPE_PROTOTYPE)
		Locked second() {
			return new Locked();
		}

		@Bean
		@Scope(ConfigurableBeanFactory.SCOPE_PROTOTYPE)
		Limited limited() {
			return new Limited();
		}

		@Bean
		@Scope(value = "thread", proxyMode = ScopedProxyMode.TARGET_CLASS)
		Scoped scoped() {
			return new Scoped();
		}

		@Bean
		@Scope(ConfigurableBeanFactory.SCOPE_PROTOTYPE)
		Invalid invalid() {
			return new Invalid();
		}

		@Bean
		@Scope(ConfigurableBeanFactory.SCOPE_PROTOTYPE)
		Advised advised() {
			return new Advised();
		}

	}

}
