package io.holdfast.aop;

import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.util.function.Function;

import io.holdfast.annotation.DistributedLock;
import io.holdfast.annotation.Semaphore;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import reactor.core.publisher.Flux;

import org.springframework.beans.factory.FactoryBean;
import org.springframework.boot.ApplicationRunner;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Annotated {@code @Bean} methods, which are refused: the lock would be held during the
 * creation of the bean.
 */
class BeanMethodTests extends LockedTestCase {

	@ParameterizedTest
	@ValueSource(classes = { OfApplicationRunner.class, OfStreamFunction.class, Static.class, Composed.class,
			InInterface.class, Overridden.class, OfPermits.class, Full.class })
	void refused(Class<?> configuration) {
		assertThat(refusal(configuration)).hasMessageMatching(
				"(?s)@(DistributedLock|Semaphore|Once \\(@DistributedLock\\)) on .*\\.bean\\(\\).* is held while the bean is created, "
						+ "and not while its methods run\\. .*")
			.hasMessageContaining("Move it to ")
			.hasMessageContaining("To create the bean under it, use the ");
	}

	@Test
	@DisplayName("An annotated getObject() of a factory bean is refused, too")
	void factoryBean() {
		assertThat(refusal(WorkerFactory.class))
			.hasMessageContaining(WorkerFactory.class.getName() + ".getObject() is held while the bean is created");
		start(NoFactory.class).getObject();
		assertThat(this.locks.keys()).containsExactly("other");
	}

	@Test
	@DisplayName("The message says where to move the annotation")
	void cure() {
		assertThat(refusal(OfApplicationRunner.class)).hasMessageContaining(
				"Move it to the method run of a class that implements ApplicationRunner, or to a method of another bean"
						+ " that this bean calls. To create the bean under it, use the LockService in the method");
		assertThat(refusal(OfPermits.class)).hasMessageContaining("Move it to the methods of the bean's class"
				+ ", or to a method of another bean that this bean calls. To create the bean under it, use the SemaphoreService in the method");
	}

	@Test
	@DisplayName("A bean is guarded by its own annotations if its @Bean method has none, also in an annotated configuration")
	void guarded() {
		Guarded guarded = start(Guarded.class);
		bean(Job.class).run();
		bean(Account.class).close();
		bean(Account.class).shutdown();
		guarded.work();
		assertThat(this.locks.keys()).containsExactly("job", "close", "shutdown", "type");
	}

	@Configuration(proxyBeanMethods = false)
	static class OfApplicationRunner {

		@Bean
		@DistributedLock
		ApplicationRunner bean() {
			return (arguments) -> {
			};
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class OfStreamFunction {

		@Bean
		@DistributedLock
		Function<Flux<String>, Flux<String>> bean() {
			return (messages) -> messages;
		}

	}

	static class Worker {

		public void work() {
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class OfPermits {

		@Bean
		@Semaphore(limit = 1)
		Worker bean() {
			return new Worker();
		}

	}

	@Configuration
	static class Full {

		@Bean
		@DistributedLock
		Worker bean() {
			return new Worker();
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class Static {

		@Bean
		@DistributedLock
		static Worker bean() {
			return new Worker();
		}

	}

	@DistributedLock
	@Retention(RetentionPolicy.RUNTIME)
	@interface Once {

	}

	@Configuration(proxyBeanMethods = false)
	static class Composed {

		@Bean
		@Once
		Worker bean() {
			return new Worker();
		}

	}

	interface Beans {

		@Bean
		@DistributedLock
		default Worker bean() {
			return new Worker();
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class InInterface implements Beans {

	}

	@Configuration(proxyBeanMethods = false)
	static class Overridden extends OfPermits {

		@Override
		@DistributedLock
		Worker bean() {
			return new Worker();
		}

	}

	static class WorkerFactory implements FactoryBean<Worker> {

		@Override
		@DistributedLock
		public Worker getObject() {
			return new Worker();
		}

		@Override
		public Class<?> getObjectType() {
			return Worker.class;
		}

	}

	static class NoFactory {

		@DistributedLock(name = "other")
		public String getObject() {
			return "";
		}

	}

	static class Job {

		@DistributedLock(name = "job")
		public void run() {
		}

	}

	/** Methods for the application, and a method that the container calls. */
	static class Account {

		@DistributedLock(name = "close")
		public void close() {
		}

		@DistributedLock(name = "shutdown")
		public void shutdown() {
		}

	}

	@DistributedLock(name = "type")
	static class Guarded {

		@Bean
		public Job job() {
			return new Job();
		}

		@Bean(destroyMethod = "")
		public Account account() {
			return new Account();
		}

		public void work() {
		}

	}

}
