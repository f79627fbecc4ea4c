package io.holdfast.actuate;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

import io.holdfast.engine.store.StoreCommandException;
import io.holdfast.engine.store.StoreDiagnostic;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Frequency of the store's examinations, and waits for their results.
 */
class LatestFindingsTests {

	private static final List<StoreDiagnostic> EVICTION = List.of(new StoreDiagnostic(true, "eviction"));

	private static final StoreDiagnostic SILENT = new StoreDiagnostic(false,
			"Redis could not be examined now: Redis does not answer");

	private final List<CompletableFuture<List<StoreDiagnostic>>> examinations = new ArrayList<>();

	private long now = Long.MAX_VALUE - 5;

	private final LatestFindings latest = new LatestFindings(this::examine, Duration.ofMillis(50), () -> this.now);

	private CompletableFuture<List<StoreDiagnostic>> next = CompletableFuture.completedFuture(List.of());

	private CompletableFuture<List<StoreDiagnostic>> examine() {
		this.examinations.add(this.next);
		return this.next;
	}

	private void elapse(Duration time) {
		this.now += time.toNanos();
	}

	@Test
	@DisplayName("The store is examined once in ten seconds")
	void fresh() {
		this.next = CompletableFuture.completedFuture(EVICTION);
		assertThat(this.latest.get()).isEqualTo(EVICTION);
		elapse(Duration.ofMillis(9_999));
		this.next = CompletableFuture.completedFuture(List.of());
		assertThat(this.latest.get()).isEqualTo(EVICTION);
		elapse(Duration.ofMillis(1));
		assertThat(this.latest.get()).isEmpty();
		assertThat(this.examinations).hasSize(2);
	}

	@Test
	@DisplayName("A silent store is examined once and waited for once, for any duration of the silence")
	void silent() {
		this.latest.get();
		elapse(Duration.ofSeconds(10));
		this.next = new CompletableFuture<>();
		assertThat(this.latest.get()).containsExactly(SILENT);
		elapse(Duration.ofHours(1));
		long begin = System.nanoTime();
		for (int i = 0; i < 1000; i++) {
			assertThat(this.latest.get()).containsExactly(SILENT);
		}
		assertThat(System.nanoTime() - begin).as("time for 1,000 readings").isLessThan(TimeUnit.SECONDS.toNanos(40));
		assertThat(this.examinations).hasSize(2);
		this.next.complete(EVICTION);
		assertThat(this.latest.get()).as("findings after the answer").doesNotContain(SILENT);
	}

	@Test
	@DisplayName("Earlier findings are kept while the store does not answer, or fails")
	void kept() {
		this.next = CompletableFuture.completedFuture(EVICTION);
		this.latest.get();
		elapse(Duration.ofSeconds(10));
		this.next = CompletableFuture.failedFuture(new StoreCommandException("it is gone", true, null));
		assertThat(this.latest.get()).hasSize(2)
			.startsWith(EVICTION.get(0))
			.endsWith(new StoreDiagnostic(false, "Redis could not be examined now: it is gone"));
	}

	@Test
	@DisplayName("An interrupt ends the wait, and the flag is kept")
	void interrupted() {
		this.next = new CompletableFuture<>();
		Thread.currentThread().interrupt();
		assertThat(this.latest.get()).hasSize(1);
		assertThat(Thread.interrupted()).isTrue();
	}

}
