package io.holdfast.autoconfigure;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

import io.holdfast.LockLease;
import io.holdfast.annotation.DistributedLock;
import io.holdfast.aop.InvalidDeclarationException;
import io.holdfast.testing.TestApplication;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.EnableAspectJAutoProxy;
import org.springframework.core.Ordered;
import org.springframework.scheduling.annotation.Async;
import org.springframework.scheduling.annotation.AsyncAnnotationAdvisor;
import org.springframework.scheduling.annotation.EnableAsync;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Methods with {@code @Async}, for any position of its advice, or none.
 */
class AsyncLockTests {

	private final ApplicationContextRunner runner = TestApplication.runner()
		.withPropertyValues("spring.lifecycle.timeout-per-shutdown-phase=500ms")
		.withBean(Work.class);

	@ParameterizedTest
	@ValueSource(classes = { Forgotten.class, Plain.class, Earlier.class })
	@DisplayName("Calls from one thread run in turn under an exclusive lock, and each has its lease until its future completes")
	void oneAtATime(Class<?> configuration) {
		this.runner.withUserConfiguration(configuration).run((context) -> {
			Work work = context.getBean(Work.class);
			List<CompletableFuture<Long>> results = new ArrayList<>();
			for (int i = 0; i < 3; i++) {
				results.add(work.later());
			}
			for (int i = 0; i < 3; i++) {
				Work.Call call = work.nextCall();
				assertThat(work.running()).isEqualTo(1);
				assertThat(call.lease().isHeld()).isTrue();
				call.end();
			}
			assertThat(results).allSatisfy((result) -> assertThat(result.get(10, TimeUnit.SECONDS)).isPositive())
				.extracting(CompletableFuture::join)
				.doesNotHaveDuplicates();
		});
	}

	@ParameterizedTest
	@ValueSource(classes = { Plain.class, Earlier.class })
	@DisplayName("With @EnableAsync of any order, the method runs on a thread of its executor")
	void onExecutor(Class<?> configuration) {
		this.runner.withUserConfiguration(configuration).run((context) -> {
			Work work = context.getBean(Work.class);
			work.later();
			Work.Call later = work.nextCall();
			assertThat(later.thread()).isEqualTo("of-executor");
			later.end();
			work.nothing();
			Work.Call nothing = work.nextCall();
			assertThat(nothing.thread()).isEqualTo("of-executor");
			assertThat(nothing.lease().isHeld()).isTrue();
			nothing.end();
		});
	}

	@ParameterizedTest
	@ValueSource(classes = { Inside.class, Woven.class })
	@DisplayName("A lock that would end when the method is handed to the executor is refused at the start")
	void useless(Class<?> configuration) {
		this.runner.withUserConfiguration(configuration)
			.run((context) -> assertThat(context).getFailure()
				.rootCause()
				.isInstanceOf(InvalidDeclarationException.class)
				.hasMessageContaining("@DistributedLock on " + Work.class.getName() + ".nothing() would end")
				.hasMessageContaining("let the advice for @Async come first"));
	}

	static class Work {

		private final AtomicInteger running = new AtomicInteger();

		private final BlockingQueue<Call> calls = new LinkedBlockingQueue<>();

		public int running() {
			return this.running.get();
		}

		public Call nextCall() throws InterruptedException {
			Call call = this.calls.poll(10, TimeUnit.SECONDS);
			assertThat(call).isNotNull();
			return call;
		}

		@Async
		@DistributedLock(name = "work")
		public CompletableFuture<Long> later() {
			return begin().result();
		}

		@Async
		@DistributedLock(name = "work")
		public void nothing() {
			begin().result().orTimeout(10, TimeUnit.SECONDS).join();
		}

		private Call begin() {
			Call call = new Call(this, Thread.currentThread().getName(), LockLease.current(),
					new CompletableFuture<>());
			this.running.incrementAndGet();
			this.calls.add(call);
			return call;
		}

		record Call(Work work, String thread, LockLease lease, CompletableFuture<Long> result) {

			void end() {
				this.work.running.decrementAndGet();
				this.result.complete(this.lease.fencingToken());
			}

		}

	}

	@Configuration(proxyBeanMethods = false)
	static class Forgotten {

	}

	static class Executors {

		@Bean
		Executor taskExecutor() {
			return (task) -> {
				Thread thread = new Thread(task, "of-executor");
				thread.setDaemon(true);
				thread.start();
			};
		}

	}

	@Configuration(proxyBeanMethods = false)
	@EnableAsync
	static class Plain extends Executors {

	}

	@Configuration(proxyBeanMethods = false)
	@EnableAsync(order = 0)
	static class Earlier extends Executors {

	}

	@Configuration(proxyBeanMethods = false)
	@EnableAspectJAutoProxy
	static class Inside {

		@Bean
		static AsyncAnnotationAdvisor asyncAdvisor() {
			AsyncAnnotationAdvisor advisor = new AsyncAnnotationAdvisor();
			advisor.setOrder(Ordered.LOWEST_PRECEDENCE);
			return advisor;
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class Woven {

		@Bean("org.springframework.scheduling.config.internalAsyncExecutionAspect")
		Object aspect() {
			return new Object();
		}

	}

}
