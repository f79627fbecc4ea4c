package io.holdfast.autoconfigure;

import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

import io.holdfast.LeaseLostEvent;
import io.holdfast.LockLease;
import io.holdfast.LockRequest;
import io.holdfast.LockService;
import io.holdfast.engine.LeaseEngine;
import io.holdfast.testing.TestApplication;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.context.event.EventListener;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.awaitility.Awaitility.await;

class LossEventTests {

	private final ApplicationContextRunner runner = TestApplication.runner()
		.withPropertyValues("spring.lifecycle.timeout-per-shutdown-phase=500ms")
		.withUserConfiguration(Application.class);

	@Test
	@DisplayName("Losses of every engine of the context have events, and losses at its end do no harm")
	void everyEngine() {
		this.runner.withUserConfiguration(AnotherEngine.class).run((context) -> {
			LockService others = context.getBean("secondLocks", LockService.class);
			LockLease lease = others.acquire(LockRequest.of("other"));
			others.admin().forceRelease("other");
			assertThat(lease.isHeld()).isFalse();
			assertThat(onlyEvent(context.getBean(Application.class)).key()).isEqualTo("other");
			assertThat(onlyEvent(context.getBean(Application.class)).name()).isNull();
			LockLease last = others.acquire(LockRequest.of("last"));
			LeaseEngine engine = context.getBean("secondEngine", LeaseEngine.class);
			context.getSourceApplicationContext().close();
			assertThatCode(engine::close).doesNotThrowAnyException();
			assertThat(last.isHeld()).isFalse();
		});
	}

	@Test
	@DisplayName("Any exception of a listener is logged")
	@ExtendWith(OutputCaptureExtension.class)
	void failingListener(CapturedOutput output) {
		this.runner.withUserConfiguration(FailingListener.class).run((context) -> {
			LockService locks = context.getBean(LockService.class);
			locks.acquire("x");
			locks.admin().forceRelease("x");
			await().until(() -> output.getAll().contains("not ready for x"));
		});
	}

	private static LeaseLostEvent onlyEvent(Application application) {
		await().until(() -> !application.events().isEmpty());
		assertThat(application.events()).hasSize(1);
		return application.events().get(0);
	}

	static class FailingListener {

		@EventListener
		void lost(LeaseLostEvent event) {
			throw new IllegalStateException("not ready for " + event.key());
		}

	}

	static class Application {

		private final List<LeaseLostEvent> events = new CopyOnWriteArrayList<>();

		public List<LeaseLostEvent> events() {
			return this.events;
		}

		@EventListener
		public void lost(LeaseLostEvent event) {
			this.events.add(event);
		}

	}

}
