package io.holdfast.autoconfigure;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;

import io.holdfast.NotAcquiredException.Reason;
import io.holdfast.PermitNotAcquiredException;
import io.holdfast.SemaphoreService;
import io.holdfast.annotation.Semaphore;
import io.holdfast.testing.TestApplication;
import io.holdfast.testing.TestRedis;
import io.holdfast.testing.WithRedis;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;

import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/**
 * Annotated methods of two instances of an application with a common Redis.
 */
@WithRedis
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class AnnotatedMethodsTests {

	private final TestRedis redis;

	private final ExecutorService threads = Executors.newCachedThreadPool();

	private final ConfigurableApplicationContext first;

	private final ConfigurableApplicationContext second;

	AnnotatedMethodsTests(TestRedis redis) {
		this.redis = redis;
		this.first = TestApplication.start(redis, Application.class);
		this.second = TestApplication.start(redis, Application.class);
	}

	@AfterAll
	void stop() {
		this.threads.shutdownNow();
	}

	private static Client client(ConfigurableApplicationContext instance) {
		return instance.getBean(Client.class);
	}

	private SemaphoreService semaphores() {
		return this.second.getBean(SemaphoreService.class);
	}

	/** Start a call on its own thread, and wait until its method runs. */
	private Body enter(Call call) {
		Body body = begin(call);
		body.entered.orTimeout(10, TimeUnit.SECONDS).join();
		return body;
	}

	/** Start a call on its own thread. */
	private Body begin(Call call) {
		Body body = new Body();
		body.ended = CompletableFuture.runAsync(() -> call.with(body), this.threads);
		return body;
	}

	@Test
	@DisplayName("S10: at most as many runs of a method as its limit are active in all instances; the next fails until one ends")
	void limitedInAllInstances() {
		Body one = enter(client(this.first)::limited);
		Body two = enter(client(this.second)::limited);
		Body refused = new Body();
		assertThatExceptionOfType(PermitNotAcquiredException.class)
			.isThrownBy(() -> client(this.first).limited(refused))
			.satisfies((ex) -> assertThat(ex.getReason()).isEqualTo(Reason.TIMED_OUT));
		assertThat(refused.entered).isNotDone();
		one.end();
		Body three = enter(client(this.first)::limited);
		assertThat(semaphores().status("client").used()).isEqualTo(2);
		two.end();
		three.end();
		Awaitility.await("releases")
			.until(() -> this.redis.template().keys("*" + this.redis.keyPrefix() + "semaphore:*").isEmpty());
	}

	private interface Call {

		void with(Runnable body);

	}

	/**
	 * Code of a method: signals its start, and runs until the test ends it.
	 */
	private static final class Body implements Runnable {

		private final CompletableFuture<Void> entered = new CompletableFuture<>();

		private final CompletableFuture<Void> leave = new CompletableFuture<>();

		private CompletableFuture<Void> ended = new CompletableFuture<>();

		@Override
		public void run() {
			this.entered.complete(null);
			this.leave.join();
		}

		/** Returns after the call has ended, and not before it began. */
		void end() {
			this.leave.complete(null);
			this.ended.orTimeout(10, TimeUnit.SECONDS).join();
			assertThat(this.entered).isCompleted();
		}

	}

	static class Client {

		@Semaphore(name = "client", limit = 2)
		public void limited(Runnable body) {
			body.run();
		}

	}

	@Configuration(proxyBeanMethods = false)
	@Import(Client.class)
	static class Application extends TestApplication {

	}

}
