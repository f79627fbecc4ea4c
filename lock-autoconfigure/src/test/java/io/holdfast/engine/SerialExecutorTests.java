package io.holdfast.engine;

import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;

import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * In which order a mailbox runs what it gets.
 */
class SerialExecutorTests {

	private final SerialExecutor events = new SerialExecutor("test", Runnable::run);

	private final List<String> order = new CopyOnWriteArrayList<>();

	private void note(String what) {
		this.order.add(what);
	}

	@Test
	void whatIsPutOffRunsAfterItsEventAndKeepsNoThreadWaiting() {
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
	void whatAnEventInLinePutsOffRunsBeforeTheNextOne() {
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
	void allThatIsPutOffRunsOnceAndInItsOrderWhateverFails() {
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
	void howeverMuchAnEventPutsOffAllOfItRuns() {
		int much = 100_000;
		AtomicInteger run = new AtomicInteger();
		this.events.execute(() -> {
			for (int i = 0; i < much; i++) {
				this.events.runAfterEvent(run::incrementAndGet);
			}
		});
		assertThat(run).hasValue(much);
	}

}
