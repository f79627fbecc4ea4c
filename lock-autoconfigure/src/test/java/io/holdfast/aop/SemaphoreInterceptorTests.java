package io.holdfast.aop;

import java.io.IOException;
import java.util.concurrent.atomic.AtomicInteger;

import io.holdfast.NotAcquiredException.Reason;
import io.holdfast.PermitNotAcquiredException;
import io.holdfast.annotation.Semaphore;
import io.holdfast.aop.RecordingLease.Outcome;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/**
 * What a call with permits does.
 */
@ExtendWith(OutputCaptureExtension.class)
class SemaphoreInterceptorTests {

	private LockedContext context;

	private RecordingSemaphores semaphores;

	private Client client;

	@BeforeEach
	void start() {
		this.context = LockedContext.of(Client.class);
		this.semaphores = this.context.semaphores();
		this.client = this.context.bean(Client.class);
	}

	@AfterEach
	void stop() {
		this.context.close();
	}

	@Test
	void returnsWhatTheMethodReturns() {
		assertThat(this.client.locate("a")).isEqualTo("at a");
		assertThat(this.context.locks().events()).containsExactly("permit", "body", "return");
	}

	@Test
	@DisplayName("A method that throws returns its permits, and its exception is thrown")
	void throwsWhatTheMethodThrows() {
		assertThatExceptionOfType(IOException.class).isThrownBy(this.client::fail).withMessage("from the method");
		assertThat(this.context.locks().events()).containsExactly("permit", "body", "return");
	}

	@Test
	@DisplayName("Without the permits, the method does not run")
	void notAcquired() {
		this.semaphores.busy();
		assertThatExceptionOfType(PermitNotAcquiredException.class).isThrownBy(() -> this.client.locate("a"))
			.satisfies((ex) -> {
				assertThat(ex.getKey()).isEqualTo("geo:a");
				assertThat(ex.getPermits()).isEqualTo(2);
				assertThat(ex.getReason()).isEqualTo(Reason.TIMED_OUT);
			});
		assertThat(this.context.locks().events()).isEmpty();
	}

	@Test
	@DisplayName("A failing release hides neither a result nor an exception")
	void failingRelease(CapturedOutput output) {
		this.semaphores.releasing(Outcome.FAILED);
		assertThat(this.client.locate("a")).isEqualTo("at a");
		assertThat(output)
			.contains("Permit of semaphore 'geo:a' of " + Client.class.getName() + ".locate was not released at once");
		assertThatExceptionOfType(IOException.class).isThrownBy(this.client::fail).withMessage("from the method");
	}

	@Test
	@DisplayName("A lease that was lost while the method ran is warned of, after the method, and hides no exception")
	void lostLease(CapturedOutput output) {
		this.client.locate("a");
		assertThat(output).doesNotContain("was lost");
		this.semaphores.releasing(Outcome.LOST);
		assertThat(this.client.locate("a")).isEqualTo("at a");
		assertThat(output)
			.contains("Permit of semaphore 'geo:a' was lost while " + Client.class.getName() + ".locate ran");
		assertThatExceptionOfType(IOException.class).isThrownBy(this.client::fail).withMessage("from the method");
	}

	@Test
	@DisplayName("A call from within takes permits of its own: they are not re-entrant")
	void nested() {
		try (LockedContext nesting = LockedContext.of(Client.class, Nesting.class)) {
			nesting.bean(Nesting.class).call();
			assertThat(nesting.locks().events()).containsExactly("permit", "permit", "body", "return", "return");
			assertThat(nesting.semaphores().keys()).containsExactly("geo:b", "geo:b");
		}
	}

	@Test
	@DisplayName("The semaphore service is created for the first call, and the lock service not at all")
	void serviceIsAskedForLate() {
		AtomicInteger created = new AtomicInteger();
		try (AnnotationConfigApplicationContext lazy = new AnnotationConfigApplicationContext()) {
			lazy.registerBean(RecordingSemaphores.class, () -> {
				created.incrementAndGet();
				return new RecordingSemaphores(new RecordingLocks());
			}, (definition) -> definition.setLazyInit(true));
			lazy.registerBean(LeaseBeanPostProcessor.class, () -> new LeaseBeanPostProcessor(() -> {
				throw new IllegalStateException("no lock is asked for");
			}, () -> lazy.getBean(RecordingSemaphores.class)));
			lazy.registerBean(Plain.class);
			lazy.refresh();
			assertThat(created).hasValue(0);
			lazy.getBean(Plain.class).run();
			lazy.getBean(Plain.class).run();
			assertThat(created).hasValue(1);
			assertThat(lazy.getBean(RecordingSemaphores.class).keys()).hasSize(2);
		}
	}

	static class Client {

		private final RecordingLocks recorder;

		Client(RecordingLocks recorder) {
			this.recorder = recorder;
		}

		@Semaphore(key = "'geo:' + #address", limit = 10, permits = 2)
		String locate(String address) {
			this.recorder.record("body");
			return "at " + address;
		}

		@Semaphore(name = "geo", limit = 10)
		void fail() throws IOException {
			this.recorder.record("body");
			throw new IOException("from the method");
		}

	}

	static class Nesting {

		private final Client client;

		Nesting(Client client) {
			this.client = client;
		}

		@Semaphore(name = "geo:b", limit = 10)
		void call() {
			this.client.locate("b");
		}

	}

	static class Plain {

		@Semaphore(limit = 1)
		void run() {
		}

	}

}
