package io.holdfast.engine.release;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;

import io.holdfast.LeaseStoreException;
import io.holdfast.LockLease;
import io.holdfast.LockRequest;
import io.holdfast.engine.ScriptedEngine;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/**
 * Requests that do not wait, and come while a release of their own instance has no
 * answer: nothing keeps the order of the two.
 */
class UnansweredReleaseTests extends ScriptedEngine {

	private static final LockRequest ONCE = REQUEST.waitTime(Duration.ZERO);

	UnansweredReleaseTests() {
		super(STRICT);
	}

	private CompletableFuture<LockLease> askAfterRelease() {
		granted(REQUEST, 100).releaseAsync();
		CompletableFuture<LockLease> next = this.service.acquireAsync(ONCE);
		assertThat(this.store.sent()).containsExactly("acquire 1", "release 1");
		return next;
	}

	@Test
	@DisplayName("Such a request is sent after the answer")
	void answered() {
		CompletableFuture<LockLease> next = askAfterRelease();
		this.store.last("release 1").released(true);
		assertThat(this.store.sent()).containsExactly("acquire 2 at once");
		this.store.last("acquire 2 at once").granted(164, 30_000);
		assertThat(next).isCompletedWithValueMatching(LockLease::isHeld);
	}

	@Test
	@DisplayName("Without an answer in time it fails as the store's failure, and is not told that others hold the key")
	void silent() {
		CompletableFuture<LockLease> next = askAfterRelease();
		this.store.elapse(3000);
		assertThat(next).isCompletedExceptionally();
		assertThatExceptionOfType(LeaseStoreException.class).isThrownBy(() -> {
			throw next.handle((lease, failure) -> failure).join();
		});
		this.store.last("release 1").released(true);
		assertThat(this.store.sent()).doesNotContain("acquire 2 at once");
	}

	@Test
	@DisplayName("A caller that gives up before the answer sends nothing")
	void givenUp() {
		CompletableFuture<LockLease> next = askAfterRelease();
		next.cancel(true);
		this.store.last("release 1").released(true);
		assertThat(this.store.sent()).doesNotContain("acquire 2 at once");
		assertThat(this.engine.condition().waiting()).isZero();
	}

	@Test
	@DisplayName("A request that waits, or for another key, is sent at once")
	void others() {
		granted(REQUEST, 100).releaseAsync();
		this.store.sent();
		this.service.acquireAsync(ONCE.only("other"));
		this.service.acquireAsync(REQUEST);
		assertThat(this.store.sent()).containsExactly("acquire 2 at once", "acquire 3");
	}

}
