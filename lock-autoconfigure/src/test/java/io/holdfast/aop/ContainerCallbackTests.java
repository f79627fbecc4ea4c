package io.holdfast.aop;

import io.holdfast.annotation.DistributedLock;
import io.holdfast.annotation.Semaphore;
import jakarta.annotation.PostConstruct;
import jakarta.annotation.PreDestroy;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import org.springframework.beans.factory.DisposableBean;
import org.springframework.beans.factory.FactoryBean;
import org.springframework.beans.factory.InitializingBean;
import org.springframework.beans.factory.SmartInitializingSingleton;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.beans.factory.config.BeanDefinition;
import org.springframework.context.SmartLifecycle;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.env.Environment;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Annotated callbacks: the container calls them past the proxy, at the creation or
 * destruction of the bean.
 */
class ContainerCallbackTests extends LockedTestCase {

	@ParameterizedTest
	@ValueSource(classes = { AnnotatedInit.class, InterfaceInit.class, InjectedInit.class })
	void created(Class<?> type) {
		assertThat(refusal(type)).hasMessageContainingAll("@DistributedLock on",
				"has no effect, because the container calls the method past the bean's proxy, when it creates the bean",
				"ApplicationReadyEvent");
	}

	@ParameterizedTest
	@ValueSource(classes = { AnnotatedDestroy.class, InterfaceDestroy.class })
	void destroyed(Class<?> type) {
		assertThat(refusal(type)).hasMessageContainingAll("@Semaphore on", "when it destroys the bean",
				"Call an annotated method of another bean");
	}

	@Test
	@DisplayName("The init method that a bean definition names")
	void namedInit() {
		register("other", Other.class, Other::new, (definition) -> definition.setInitMethodName("init"));
		assertThat(refusal()).hasMessageContaining("when it creates the bean");
	}

	@Test
	@DisplayName("The destroy method that a bean definition names")
	void namedDestroy() {
		register("other", Other.class, Other::new, (definition) -> definition.setDestroyMethodName("destroy"));
		assertThat(refusal()).hasMessageContaining("when it destroys the bean");
	}

	@ParameterizedTest
	@ValueSource(classes = { Closes.class, ShutsDown.class })
	@DisplayName("Destroy methods of @Bean methods, whose names Spring infers")
	void inferred(Class<?> configuration) {
		assertThat(refusal(configuration)).hasMessageContainingAll("when it destroys the bean",
				"@Bean(destroyMethod = \"\")");
	}

	@Test
	@DisplayName("The close method of an AutoCloseable bean, and stop of a SmartLifecycle, whose stop(Runnable) calls it")
	void withoutProxy() {
		assertThat(refusal(Closeable.class)).hasMessageContaining("when it destroys the bean");
		assertThat(refusal(Phased.class)).hasMessageContaining("when it destroys the bean");
	}

	@Test
	@DisplayName("A close method is accepted if the container does not call it")
	void notInferred() {
		start(NotInferred.class);
		bean(Resource.class).close();
		assertThat(this.locks.keys()).containsExactly("close");
	}

	@Test
	@DisplayName("Methods with names of callbacks are accepted if the container does not call them or calls them through the proxy")
	void others() {
		start(Others.class);
		Other other = bean(Other.class);
		other.init();
		other.destroy();
		other.close("now");
		bean(Made.class).init();
		assertThat(this.locks.keys()).containsExactly("singletons", "init", "destroy", "close", "made");
	}

	@Test
	@DisplayName("A destroy method of a prototype is accepted, as the container does not call it")
	void prototypes() {
		register("prototype", AnnotatedDestroy.class, AnnotatedDestroy::new,
				(definition) -> definition.setScope(BeanDefinition.SCOPE_PROTOTYPE));
		start();
		bean(AnnotatedDestroy.class).end();
		assertThat(this.semaphores.keys()).hasSize(1);
	}

	@Test
	@DisplayName("A type's annotation does not include callbacks")
	void annotatedType() {
		start(AnnotatedType.class).work();
		assertThat(this.locks.keys()).containsExactly("type");
	}

	static class AnnotatedInit {

		@PostConstruct
		@DistributedLock
		public void begin() {
		}

	}

	static class InterfaceInit implements InitializingBean {

		@Override
		@DistributedLock
		public void afterPropertiesSet() {
		}

	}

	static class InjectedInit {

		@Autowired
		@DistributedLock
		public void begin(Environment environment) {
		}

	}

	static class AnnotatedDestroy {

		@PreDestroy
		@Semaphore(limit = 1)
		public void end() {
		}

	}

	static class InterfaceDestroy implements DisposableBean {

		@Override
		@Semaphore(limit = 1)
		public void destroy() {
		}

	}

	static class Other implements SmartInitializingSingleton {

		@DistributedLock(name = "init")
		public void init() {
		}

		@DistributedLock(name = "destroy")
		public void destroy() {
		}

		@DistributedLock(name = "close")
		public void close(String when) {
		}

		@Override
		@DistributedLock(name = "singletons")
		public void afterSingletonsInstantiated() {
		}

	}

	static class Resource {

		@DistributedLock(name = "close")
		public void close() {
		}

	}

	static class Closeable extends Resource implements AutoCloseable {

	}

	static class Service {

		@DistributedLock(name = "close")
		public void shutdown() {
		}

	}

	static class Phased implements SmartLifecycle {

		@Override
		public void start() {
		}

		@Override
		@DistributedLock(name = "stop")
		public void stop() {
		}

		@Override
		public boolean isRunning() {
			return true;
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class Closes {

		@Bean
		Resource resource() {
			return new Resource();
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class ShutsDown {

		@Bean
		Service service() {
			return new Service();
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class NotInferred {

		@Bean(destroyMethod = "")
		Resource resource() {
			return new Resource();
		}

	}

	static class Made {

		@PostConstruct
		@DistributedLock(name = "made")
		public void init() {
		}

	}

	static class MadeFactory implements FactoryBean<Made> {

		@Override
		public Made getObject() {
			return new Made();
		}

		@Override
		public Class<?> getObjectType() {
			return Made.class;
		}

		public void init() {
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class Others {

		@Bean
		Other other() {
			return new Other();
		}

		@Bean(initMethod = "init")
		MadeFactory made() {
			return new MadeFactory();
		}

	}

	@DistributedLock(name = "type")
	static class AnnotatedType implements InitializingBean, DisposableBean {

		@Override
		public void afterPropertiesSet() {
		}

		@Override
		public void destroy() {
		}

		public void work() {
		}

	}

}
