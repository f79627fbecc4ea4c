package io.holdfast.engine;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;

import io.holdfast.LeaseStoreException;
import io.holdfast.LockLease;
import io.holdfast.LockRequest;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/**
 * Requests that do not wait, and come while a release of their own instance has no
 * answer: nothing keeps the order of the two for certain.
 */
class UnansweredReleaseTests extends ScriptedEngine {

	private static final LockRequest ONCE = REQUEST.waitTime(Duration.ZERO);

	UnansweredReleaseTests() {
		super(STRICT);
	}

	/** Ask behind a release, and be answered before it. */
	private CompletableFuture<LockLease> overtake() {
		granted(REQUEST, 100).releaseAsync();
		CompletableFuture<LockLease> next = this.service.acquireAsync(ONCE);
		assertThat(this.store.sent()).containsExactly("acquire 1", "release 1", "acquire 2 at once");
		this.store.last("acquire 2 at once").busy(1000, 100);
		assertThat(next).isNotDone();
		assertThat(this.store.sent()).isEmpty();
		return next;
	}

	@Test
	@DisplayName("The second answer that the key is held counts: the first may have come before the release ran")
	void inOrder() {
		granted(REQUEST, 100).releaseAsync();
		CompletableFuture<LockLease> next = this.service.acquireAsync(ONCE);
		this.store.last("release 1").released(true);
		this.store.last("acquire 2 at once").busy(1000, 101);
		assertThat(next).isNotDone();
		this.store.last("acquire 2 at once").busy(1000, 101);
		assertThat(next).isCompletedExceptionally();
		assertThat(this.store.sent()).containsExactly("acquire 1", "release 1", "acquire 2 at once",
				"acquire 2 at once");
	}

	@Test
	@DisplayName("A request that comes after the answer to the release is sent once")
	void afterRelease() {
		granted(REQUEST, 100).releaseAsync();
		this.store.last("release 1").released(true);
		CompletableFuture<LockLease> next = this.service.acquireAsync(ONCE);
		this.store.last("acquire 2 at once").busy(1000, 101);
		assertThat(next).isCompletedExceptionally();
		assertThat(this.store.sent()).containsExactly("acquire 1", "release 1", "acquire 2 at once");
	}

	@Test
	@DisplayName("Such a request is sent again after the answer if it has overtaken the release")
	void answered() {
		CompletableFuture<LockLease> next = overtake();
		this.store.last("release 1").released(true);
		assertThat(this.store.sent()).containsExactly("acquire 2 at once");
		this.store.last("acquire 2 at once").granted(164, 30_000);
		assertThat(next).isCompletedWithValueMatching(LockLease::isHeld);
	}

	@Test
	@DisplayName("Without an answer in time it fails as the store's failure, and is not told that others hold the key")
	void silent() {
		CompletableFuture<LockLease> next = overtake();
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
		CompletableFuture<LockLease> next = overtake();
		next.cancel(true);
		this.store.last("release 1").released(true);
		assertThat(this.store.sent()).doesNotContain("acquire 2 at once");
		assertThat(this.engine.status().waiting()).isZero();
	}

}
