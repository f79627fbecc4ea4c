package io.holdfast.aop;

import java.io.IOException;
import java.util.concurrent.atomic.AtomicInteger;

import io.holdfast.LockNotAcquiredException;
import io.holdfast.annotation.DistributedLock;
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
 * What a locked call does.
 */
@ExtendWith(OutputCaptureExtension.class)
class LeaseInterceptorTests {

	private LockedContext context;

	private RecordingLocks locks;

	private Shop shop;

	@BeforeEach
	void start() {
		this.context = LockedContext.of(Shop.class);
		this.locks = this.context.locks();
		this.shop = this.context.bean(Shop.class);
	}

	@AfterEach
	void stop() {
		this.context.close();
	}

	@Test
	void returnsWhatTheMethodReturns() {
		assertThat(this.shop.sell("a")).isEqualTo("sold a");
		assertThat(this.locks.events()).containsExactly("lock", "body", "unlock");
	}

	@Test
	void throwsWhatTheMethodThrows() {
		assertThatExceptionOfType(IOException.class).isThrownBy(this.shop::fail).withMessage("from the method");
		assertThat(this.locks.events()).containsExactly("lock", "body", "unlock");
	}

	@Test
	@DisplayName("Without the lock, the method does not run")
	void notAcquired() {
		this.locks.busy();
		assertThatExceptionOfType(LockNotAcquiredException.class).isThrownBy(() -> this.shop.sell("a"))
			.satisfies((ex) -> assertThat(ex.getKey()).isEqualTo("stock:a"));
		assertThat(this.locks.events()).isEmpty();
	}

	@Test
	@DisplayName("A failing release hides neither a result nor an exception")
	void failingRelease(CapturedOutput output) {
		this.locks.releasing(Outcome.FAILED);
		assertThat(this.shop.sell("a")).isEqualTo("sold a");
		assertThat(output).contains("Lock 'stock:a' of " + Shop.class.getName() + ".sell was not released at once");
		assertThatExceptionOfType(IOException.class).isThrownBy(this.shop::fail).withMessage("from the method");
	}

	@Test
	@DisplayName("A lease that was lost while the method ran is warned of, after the method")
	void lostLease(CapturedOutput output) {
		this.shop.sell("a");
		assertThat(output).doesNotContain("was lost");
		this.locks.releasing(Outcome.LOST);
		assertThat(this.shop.sell("a")).isEqualTo("sold a");
		assertThat(output).contains("Lock 'stock:a' was lost while " + Shop.class.getName() + ".sell ran");
	}

	@Test
	@DisplayName("The lock service is created for the first call, not for the advised beans")
	void serviceIsAskedForLate() {
		AtomicInteger created = new AtomicInteger();
		try (AnnotationConfigApplicationContext lazy = new AnnotationConfigApplicationContext()) {
			lazy.registerBean(RecordingLocks.class, () -> {
				created.incrementAndGet();
				return new RecordingLocks();
			}, (definition) -> definition.setLazyInit(true));
			lazy.registerBean(LeaseBeanPostProcessor.class,
					() -> new LeaseBeanPostProcessor(() -> lazy.getBean(RecordingLocks.class), () -> null));
			lazy.registerBean(Plain.class);
			lazy.refresh();
			assertThat(created).hasValue(0);
			lazy.getBean(Plain.class).run();
			lazy.getBean(Plain.class).run();
			assertThat(created).hasValue(1);
			assertThat(lazy.getBean(RecordingLocks.class).events()).containsExactly("lock", "unlock", "lock", "unlock");
		}
	}

	static class Shop {

		private final RecordingLocks locks;

		Shop(RecordingLocks locks) {
			this.locks = locks;
		}

		@DistributedLock(key = "'stock:' + #sku")
		String sell(String sku) {
			this.locks.record("body");
			return "sold " + sku;
		}

		@DistributedLock(name = "shop")
		void fail() throws IOException {
			this.locks.record("body");
			throw new IOException("from the method");
		}

	}

	static class Plain {

		@DistributedLock
		void run() {
		}

	}

}
