package io.holdfast.engine.request;

import java.time.Duration;
import java.util.List;

import io.holdfast.LockMode;
import io.holdfast.LockRequest;
import io.holdfast.SemaphoreRequest;
import io.holdfast.engine.store.HandOverLimits;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * What becomes of a request that says something, and of one that does not.
 */
class ResolvedRequestTests {

	private static final LockRequest LOCK = LockRequest.of("k");

	private static final LockRequest LOCKS = LockRequest.ofAll(List.of("a", "b"));

	private static final SemaphoreRequest PERMIT = SemaphoreRequest.of("k", 2);

	private static EngineSettings settings(boolean lockFair, boolean semaphoreFair) {
		EngineSettings defaults = EngineSettings.defaults();
		return new EngineSettings(defaults.waitTime(), defaults.leaseTime(), defaults.maxHold(), lockFair,
				defaults.semaphoreWaitTime(), defaults.semaphoreLeaseTime(), semaphoreFair, defaults.handoffTimeout(),
				defaults.retryInterval(), defaults.commandTimeout(), defaults.outagePatience(), defaults.maxWaiters(),
				defaults.maxWaitersPerKey(), defaults.lockHandOver(), defaults.semaphoreHandOver());
	}

	@ParameterizedTest
	@ValueSource(booleans = { true, false })
	@DisplayName("A request that does not say whether it is fair is as the settings for its kind")
	void fairBySettings(boolean fair) {
		EngineSettings forLocks = settings(fair, !fair);
		assertThat(ResolvedRequest.of(LOCK, forLocks)).extracting(ResolvedRequest::fair).containsExactly(fair);
		assertThat(ResolvedRequest.of(LOCKS, forLocks)).extracting(ResolvedRequest::fair).containsExactly(fair, fair);
		assertThat(ResolvedRequest.of(PERMIT, settings(!fair, fair)).fair()).isEqualTo(fair);
		// So they stay, whatever else is changed.
		EngineSettings changed = forLocks.localHandOver(HandOverLimits.NONE);
		assertThat(ResolvedRequest.of(LOCK, changed)).extracting(ResolvedRequest::fair).containsExactly(fair);
	}

	@ParameterizedTest
	@ValueSource(booleans = { true, false })
	@DisplayName("What a request says about that comes first")
	void fairByRequest(boolean fair) {
		EngineSettings otherwise = settings(!fair, !fair);
		assertThat(ResolvedRequest.of(LOCK.fair(fair), otherwise)).extracting(ResolvedRequest::fair)
			.containsExactly(fair);
		assertThat(ResolvedRequest.of(LOCKS.fair(fair), otherwise)).extracting(ResolvedRequest::fair)
			.containsExactly(fair, fair);
		assertThat(ResolvedRequest.of(PERMIT.fair(fair), otherwise).fair()).isEqualTo(fair);
	}

	@ParameterizedTest
	@EnumSource(names = "READ")
	@DisplayName("Readers are fair, whatever is said")
	void readers(LockMode mode) {
		EngineSettings unfair = settings(false, false);
		assertThat(ResolvedRequest.of(LOCK.mode(mode), unfair)).extracting(ResolvedRequest::fair).containsExactly(true);
		assertThat(ResolvedRequest.of(LOCKS.mode(mode).fair(false), unfair)).extracting(ResolvedRequest::fair)
			.containsExactly(true, true);
	}

	@Test
	@DisplayName("A maxHold below the default lease time shortens the lease: it would outlast its bound")
	void shortMaxHold() {
		EngineSettings defaults = EngineSettings.defaults();
		Duration most = Duration.ofSeconds(10);
		assertThat(defaults.leaseTime()).isGreaterThan(most);
		assertThat(ResolvedRequest.of(LOCK.maxHold(most), defaults)).extracting(ResolvedRequest::leaseMillis)
			.containsExactly(10_000L);
		assertThat(ResolvedRequest.of(PERMIT.maxHold(most), defaults).leaseMillis()).isEqualTo(10_000);
		assertThat(ResolvedRequest.of(PERMIT.maxHold(most).leaseTime(Duration.ofSeconds(20)), defaults).leaseMillis())
			.as("what a request says itself")
			.isEqualTo(20_000);
		assertThat(ResolvedRequest.of(LOCK.maxHold(Duration.ofMinutes(2)), defaults))
			.extracting(ResolvedRequest::leaseMillis)
			.containsExactly(defaults.leaseTime().toMillis());
	}

	@Test
	@DisplayName("All are fair by default")
	void defaults() {
		EngineSettings defaults = EngineSettings.defaults();
		assertThat(ResolvedRequest.of(LOCK, defaults)).extracting(ResolvedRequest::fair).containsExactly(true);
		assertThat(ResolvedRequest.of(PERMIT, defaults).fair()).isTrue();
	}

}
