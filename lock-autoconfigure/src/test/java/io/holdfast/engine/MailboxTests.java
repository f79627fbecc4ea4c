package io.holdfast.engine;

import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;

import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * In which order a mailbox runs what it gets.
 */
class MailboxTests {

	private final Mailbox mailbox = new Mailbox("test", Runnable::run);

	private final List<String> order = new CopyOnWriteArrayList<>();

	private void note(String what) {
		this.order.add(what);
	}

	@Test
	void whatIsPutOffRunsAfterItsEventAndKeepsNobodyWaiting() {
		this.mailbox.execute(() -> {
			this.mailbox.later(() -> {
				CompletableFuture.runAsync(() -> this.mailbox.execute(() -> note("another thread's"))).join();
				note("later");
			});
			note("event");
		});
		assertThat(this.order).containsExactly("event", "another thread's", "later");
	}

	@Test
	void whatAnEventInLinePutsOffRunsBeforeTheNextOne() {
		this.mailbox.execute(() -> {
			this.mailbox.execute(() -> {
				this.mailbox.later(() -> note("later"));
				note("second");
			});
			this.mailbox.execute(() -> note("third"));
			note("first");
		});
		assertThat(this.order).containsExactly("first", "second", "later", "third");
	}

	@Test
	void allThatIsPutOffRunsOnceAndInItsOrderWhateverFails() {
		this.mailbox.execute(() -> {
			this.mailbox.later(() -> {
				note("one");
				throw new IllegalStateException("one");
			});
			this.mailbox.later(() -> note("two"));
			this.mailbox.later(() -> note("three"));
			throw new IllegalStateException("event");
		});
		this.mailbox.execute(() -> note("next"));
		assertThat(this.order).containsExactly("one", "two", "three", "next");
	}

}
