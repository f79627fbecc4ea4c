package io.holdfast.aop;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

import io.holdfast.NotAcquiredException;
import io.holdfast.NotAcquiredException.Reason;
import io.holdfast.PermitNotAcquiredException;
import io.holdfast.annotation.DistributedLock;
import io.holdfast.annotation.Semaphore;
import io.holdfast.aop.RecordingLease.Outcome;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIOException;

/**
 * Calls of methods with a lock or permits.
 */
@ExtendWith(OutputCaptureExtension.class)
class LeaseInterceptorTests extends LockedTestCase {

	private enum Kind {

		LOCK(LockedShop.class, "Lock 'stock:a'", "lock", "body", "unlock"),

		PERMIT(LimitedShop.class, "Permit of semaphore 'stock:a'", "permit", "body", "return");

		final Class<? extends Shop> type;

		/** Names of leases in messages. */
		final String name;

		final String[] events;

		Kind(Class<? extends Shop> type, String name, String... events) {
			this.type = type;
			this.name = name;
			this.events = events;
		}

	}

	private void releasing(Outcome outcome) {
		this.locks.releasing(outcome);
		this.semaphores.releasing(outcome);
	}

	@ParameterizedTest
	@EnumSource
	@DisplayName("Without the lock or the permits, the method does not run")
	void notAcquired(Kind kind) {
		Shop shop = start(kind.type);
		this.locks.busy();
		this.semaphores.busy();
		assertThatExceptionOfType(NotAcquiredException.class).isThrownBy(() -> shop.sell("a")).satisfies((ex) -> {
			assertThat(ex.getKey()).isEqualTo("stock:a");
			assertThat(ex.getReason()).isEqualTo(Reason.TIMED_OUT);
			assertThat(ex instanceof PermitNotAcquiredException permits ? permits.getPermits() : 0)
				.isEqualTo((kind == Kind.PERMIT) ? 2 : 0);
		});
		assertEvents();
	}

	@ParameterizedTest
	@EnumSource
	@DisplayName("A failed release hides neither a result nor an exception")
	void failingRelease(Kind kind, CapturedOutput output) {
		Shop shop = start(kind.type);
		releasing(Outcome.FAILED);
		assertThat(shop.sell("a")).isEqualTo("sold a");
		assertThat(output).contains(kind.name + " of " + kind.type.getName() + ".sell was not released at once");
		assertThatIOException().isThrownBy(shop::fail).withMessage("from the method");
		assertEvents(Stream.of(kind.events, kind.events).flatMap(Stream::of).toArray(String[]::new));
	}

	@ParameterizedTest
	@EnumSource
	@DisplayName("A loss during the method is logged as a warning after the method, and hides no exception")
	void lostLease(Kind kind, CapturedOutput output) {
		Shop shop = start(kind.type);
		assertThat(shop.sell("a")).isEqualTo("sold a");
		assertEvents(kind.events);
		assertThatIOException().isThrownBy(shop::fail).withMessage("from the method");
		assertThat(output).doesNotContain("was lost");
		releasing(Outcome.LOST);
		assertThat(shop.sell("a")).isEqualTo("sold a");
		assertThat(output).contains(kind.name + " was lost while " + kind.type.getName() + ".sell ran");
		assertThatIOException().isThrownBy(shop::fail).withMessage("from the method");
	}

	@ParameterizedTest
	@EnumSource
	@DisplayName("The service is created for the first call, not for the advised beans; the unused service is never created")
	void serviceIsAskedForLate(Kind kind) {
		List<Kind> created = new ArrayList<>();
		RecordingLocks locks = new RecordingLocks();
		RecordingSemaphores semaphores = new RecordingSemaphores(locks);
		try (AnnotationConfigApplicationContext lazy = new AnnotationConfigApplicationContext()) {
			lazy.registerBean(RecordingLocks.class, () -> {
				created.add(Kind.LOCK);
				return locks;
			}, (definition) -> definition.setLazyInit(true));
			lazy.registerBean(RecordingSemaphores.class, () -> {
				created.add(Kind.PERMIT);
				return semaphores;
			}, (definition) -> definition.setLazyInit(true));
			lazy.registerBean(LeaseBeanPostProcessor.class,
					() -> new LeaseBeanPostProcessor(() -> lazy.getBean(RecordingLocks.class),
							() -> lazy.getBean(RecordingSemaphores.class)));
			lazy.registerBean(Kind.LOCK.name(), PlainLock.class);
			lazy.registerBean(Kind.PERMIT.name(), PlainPermit.class);
			lazy.refresh();
			Runnable bean = lazy.getBean(kind.name(), Runnable.class);
			assertThat(created).isEmpty();
			bean.run();
			bean.run();
			assertThat(created).containsExactly(kind);
			assertThat((kind == Kind.LOCK) ? locks.keys() : semaphores.keys()).hasSize(2);
		}
	}

	abstract static class Shop extends Recorded {

		String sell(String sku) {
			this.recorder.record("body");
			return "sold " + sku;
		}

		void fail() throws IOException {
			this.recorder.record("body");
			throw new IOException("from the method");
		}

	}

	static class LockedShop extends Shop {

		@Override
		@DistributedLock(key = "'stock:' + #sku")
		String sell(String sku) {
			return super.sell(sku);
		}

		@Override
		@DistributedLock(name = "shop")
		void fail() throws IOException {
			super.fail();
		}

	}

	static class LimitedShop extends Shop {

		@Override
		@Semaphore(key = "'stock:' + #sku", limit = 10, permits = 2)
		String sell(String sku) {
			return super.sell(sku);
		}

		@Override
		@Semaphore(name = "shop", limit = 10)
		void fail() throws IOException {
			super.fail();
		}

	}

	static class PlainLock implements Runnable {

		@Override
		@DistributedLock
		public void run() {
		}

	}

	static class PlainPermit implements Runnable {

		@Override
		@Semaphore(limit = 1)
		public void run() {
		}

	}

}
