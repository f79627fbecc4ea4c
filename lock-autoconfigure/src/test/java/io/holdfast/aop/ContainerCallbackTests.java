package io.holdfast.aop;

import java.util.List;
import java.util.Map;

import io.holdfast.annotation.DistributedLock;
import io.holdfast.annotation.Semaphore;
import jakarta.annotation.PostConstruct;
import jakarta.annotation.PreDestroy;
import jakarta.annotation.Resource;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import org.springframework.beans.factory.BeanNameAware;
import org.springframework.beans.factory.DisposableBean;
import org.springframework.beans.factory.FactoryBean;
import org.springframework.beans.factory.InitializingBean;
import org.springframework.beans.factory.SmartInitializingSingleton;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.context.ApplicationContext;
import org.springframework.context.ApplicationContextAware;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Scope;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Annotated methods that the container calls past the proxy, when it creates or destroys
 * the bean.
 */
class ContainerCallbackTests {

	@ParameterizedTest
	@ValueSource(classes = { AnnotatedInit.class, OverridesInit.class, InterfaceInit.class, NamedInit.class,
			Injected.class, InjectedByName.class, InjectedValue.class, ApplicationAware.class, NameAware.class,
			AwareByOwnInterface.class })
	void created(Class<?> type) {
		assertThat(LockedContext.failure(Map.of(), type)).hasMessageContaining("@DistributedLock on")
			.hasMessageContaining(
					"has no effect, because the container calls the method past the bean's proxy, when it creates the bean")
			.hasMessageContaining("ApplicationReadyEvent");
	}

	@ParameterizedTest
	@ValueSource(classes = { AnnotatedDestroy.class, InterfaceDestroy.class, Closeable.class, NamedDestroy.class,
			CloseableByMethod.class })
	void destroyed(Class<?> type) {
		assertThat(LockedContext.failure(Map.of(), type)).hasMessageContaining("@Semaphore on")
			.hasMessageContaining("when it destroys the bean")
			.hasMessageContaining("Call an annotated method of another bean");
	}

	@Test
	@DisplayName("Methods of the same names that the container does not call are none of these, nor what it calls through the proxy")
	void others() {
		try (LockedContext context = LockedContext.withClassProxies(Others.class)) {
			Other other = context.bean(Other.class);
			other.init();
			other.destroy();
			other.close("now");
			context.bean(Made.class).init();
			context.bean(NotAware.class).setBeanName("name");
			context.bean(OverridesInjected.class).inject(List.of());
			assertThat(context.locks().keys()).containsExactly("singletons", "init", "destroy", "close", "made",
					"aware", "injected");
		}
	}

	@Test
	@ExtendWith(OutputCaptureExtension.class)
	@DisplayName("A method that is taken for the end of its bean by its name alone is locked, and warned of")
	void inferred(CapturedOutput output) {
		try (LockedContext context = LockedContext.withClassProxies(InferredDestroy.class)) {
			context.bean(InferredDestroy.Pool.class).shutdown();
			assertThat(context.semaphores().keys()).hasSize(1);
			assertThat(output).containsOnlyOnce("@Semaphore on " + InferredDestroy.Pool.class.getName()
					+ ".shutdown() does not apply when the container destroys the bean 'pool'"
					+ ", as it then calls the method, by its name, past the bean's proxy. If the method is not meant to end the bean,"
					+ " write @Bean(destroyMethod = \"\")");
		}
	}

	@Test
	@ExtendWith(OutputCaptureExtension.class)
	@DisplayName("The container destroys no prototypes: their callers end them")
	void prototypes(CapturedOutput output) {
		try (LockedContext context = LockedContext.withClassProxies(Prototypes.class)) {
			context.bean(Closeable.class).close();
			context.bean(InferredDestroy.Pool.class).shutdown();
			assertThat(context.semaphores().keys()).hasSize(2);
			assertThat(output).doesNotContain("does not apply");
		}
	}

	@Test
	@DisplayName("A type's annotation is not meant for them")
	void annotatedType() {
		try (LockedContext context = LockedContext.withClassProxies(AnnotatedType.class)) {
			context.bean(AnnotatedType.class).work();
			assertThat(context.locks().keys()).containsExactly("type");
		}
	}

	static class AnnotatedInit {

		@PostConstruct
		@DistributedLock
		public void begin() {
		}

	}

	static class OverridesInit extends AnnotatedInit {

		@Override
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

	static class Injected {

		@Autowired
		@DistributedLock
		public void inject(List<RecordingLocks> locks) {
		}

	}

	static class InjectedByName {

		@Resource(name = "worker")
		@DistributedLock
		public void setWorker(Object worker) {
		}

		@Bean
		Object worker() {
			return new Object();
		}

	}

	static class InjectedValue {

		@Value("1")
		@DistributedLock
		public void setRate(int rate) {
		}

	}

	static class ApplicationAware implements ApplicationContextAware {

		@Override
		@DistributedLock
		public void setApplicationContext(ApplicationContext context) {
		}

	}

	static class NameAware implements BeanNameAware {

		@Override
		@DistributedLock
		public void setBeanName(String name) {
		}

	}

	interface Named extends BeanNameAware {

		@Override
		@DistributedLock
		void setBeanName(String name);

	}

	static class AwareByOwnInterface implements Named {

		@Override
		public void setBeanName(String name) {
		}

	}

	static class NotAware {

		@DistributedLock(name = "aware")
		public void setBeanName(String name) {
		}

	}

	static class OverridesInjected extends Injected {

		@Override
		@DistributedLock(name = "injected")
		public void inject(List<RecordingLocks> locks) {
		}

	}

	static class Worker {

		@DistributedLock
		public void begin() {
		}

		@Semaphore(limit = 1)
		public void end() {
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class NamedInit {

		@Bean(initMethod = "begin")
		Worker worker() {
			return new Worker();
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class NamedDestroy {

		@Bean(destroyMethod = "end")
		Worker worker() {
			return new Worker();
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

	static class Closeable implements AutoCloseable {

		@Override
		@Semaphore(limit = 1)
		public void close() {
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class CloseableByMethod {

		@Bean
		Closeable closeable() {
			return new Closeable();
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class InferredDestroy {

		@Bean
		Pool pool() {
			return new Pool();
		}

		static class Pool {

			@Semaphore(limit = 1)
			public void shutdown() {
			}

		}

	}

	@Configuration(proxyBeanMethods = false)
	static class Prototypes {

		@Bean
		@Scope("prototype")
		Closeable closeable() {
			return new Closeable();
		}

		@Bean
		@Scope("prototype")
		InferredDestroy.Pool pool() {
			return new InferredDestroy.Pool();
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

	static class Made {

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

		@Bean
		NotAware notAware() {
			return new NotAware();
		}

		@Bean
		OverridesInjected overridesInjected() {
			return new OverridesInjected();
		}

	}

	@DistributedLock(name = "type")
	static class AnnotatedType implements InitializingBean, AutoCloseable {

		@Override
		public void afterPropertiesSet() {
		}

		@Override
		public void close() {
		}

		public void work() {
		}

	}

}
