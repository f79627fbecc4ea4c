package io.holdfast.engine;

import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;

import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Order of events and deferred actions in a {@link SerialExecutor}.
 */
class SerialExecutorTests {

	private final SerialExecutor events = new SerialExecutor("test", Runnable::run);

	private final List<String> order = new CopyOnWriteArrayList<>();

	private void note(String line) {
		this.order.add(line);
	}

	@Test
	void aDeferredActionRunsAfterItsEventAndBlocksNoThread() {
		this.events.execute(() -> {
			this.events.runAfterEvent(() -> {
				CompletableFuture.runAsync(() -> this.events.execute(() -> note("another thread's"))).join();
				note("later");
			});
			note("event");
		});
		assertThat(this.order).containsExactly("event", "another thread's", "later");
	}

	@Test
	void anActionDeferredByAQueuedEventRunsBeforeTheNextEvent() {
		this.events.execute(() -> {
			this.events.execute(() -> {
				this.events.runAfterEvent(() -> note("later"));
				note("second");
			});
			this.events.execute(() -> note("third"));
			note("first");
		});
		assertThat(this.order).containsExactly("first", "second", "later", "third");
	}

	@Test
	void deferredActionsRunOnceAndInOrderDespiteFailures() {
		this.events.execute(() -> {
			this.events.runAfterEvent(() -> {
				note("one");
				throw new IllegalStateException("one");
			});
			this.events.runAfterEvent(() -> note("two"));
			this.events.runAfterEvent(() -> note("three"));
			throw new IllegalStateException("event");
		});
		this.events.execute(() -> note("next"));
		assertThat(this.order).containsExactly("one", "two", "three", "next");
	}

	@Test
	void anyNumberOfDeferredActionsRuns() {
		int count = 100_000;
		AtomicInteger run = new AtomicInteger();
		this.events.execute(() -> {
			for (int i = 0; i < count; i++) {
				this.events.runAfterEvent(run::incrementAndGet);
			}
		});
		assertThat(run).hasValue(count);
	}

}
