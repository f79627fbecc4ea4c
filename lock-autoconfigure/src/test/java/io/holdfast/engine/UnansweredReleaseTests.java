package io.holdfast.engine;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;

import io.holdfast.LeaseStoreException;
import io.holdfast.LockLease;
import io.holdfast.LockRequest;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Requests without waiting, during an unanswered release of their instance. Nothing
 * guarantees the order of the two commands.
 */
class UnansweredReleaseTests extends ScriptedEngine {

	private static final LockRequest ONCE = REQUEST.waitTime(Duration.ZERO);

	UnansweredReleaseTests() {
		super(STRICT);
	}

	/**
	 * Send a request behind a release, with its answer before the answer to the release.
	 */
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
	@DisplayName("Only the second busy answer counts, as the first may be older than the release")
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
	@DisplayName("A request after the answer to the release is sent once")
	void afterRelease() {
		granted(REQUEST, 100).releaseAsync();
		this.store.last("release 1").released(true);
		CompletableFuture<LockLease> next = this.service.acquireAsync(ONCE);
		this.store.last("acquire 2 at once").busy(1000, 101);
		assertThat(next).isCompletedExceptionally();
		assertThat(this.store.sent()).containsExactly("acquire 1", "release 1", "acquire 2 at once");
	}

	@Test
	@DisplayName("A request that has overtaken the release is sent again after the answer to the release")
	void answered() {
		CompletableFuture<LockLease> next = overtake();
		this.store.last("release 1").released(true);
		assertThat(this.store.sent()).containsExactly("acquire 2 at once");
		this.store.last("acquire 2 at once").granted(164, 30_000);
		assertThat(next).isCompletedWithValueMatching(LockLease::isHeld);
	}

	@Test
	@DisplayName("Without an answer to the release in time, the request reports the store, not a busy key")
	void silent() {
		CompletableFuture<LockLease> next = overtake();
		this.store.elapse(3000);
		assertFailed(next, LeaseStoreException.class);
		this.store.last("release 1").released(true);
		assertThat(this.store.sent()).doesNotContain("acquire 2 at once");
	}

	@Test
	@DisplayName("A request cancelled before the answer to the release sends nothing")
	void givenUp() {
		CompletableFuture<LockLease> next = overtake();
		next.cancel(true);
		this.store.last("release 1").released(true);
		assertThat(this.store.sent()).doesNotContain("acquire 2 at once");
		assertThat(this.engine.status().waiting()).isZero();
	}

}
