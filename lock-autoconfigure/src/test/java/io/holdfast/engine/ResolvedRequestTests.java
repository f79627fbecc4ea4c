package io.holdfast.engine;

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
 * Requests resolved with the defaults of the settings.
 */
class ResolvedRequestTests {

	private static final LockRequest LOCK = LockRequest.of("k");

	private static final LockRequest LOCKS = LockRequest.ofAll(List.of("a", "b"));

	private static final SemaphoreRequest PERMIT = SemaphoreRequest.of("k", 2);

	private static EngineSettings settings(boolean semaphoreFair) {
		EngineSettings defaults = EngineSettings.defaults();
		return new EngineSettings(defaults.waitTime(), defaults.leaseTime(), defaults.maxHold(), defaults.lossMargin(),
				defaults.semaphoreWaitTime(), defaults.semaphoreLeaseTime(), semaphoreFair, defaults.handoffTimeout(),
				defaults.retryInterval(), defaults.commandTimeout(), defaults.outagePatience(), defaults.maxWaiters(),
				defaults.maxWaitersPerKey(), defaults.lockHandOver(), defaults.semaphoreHandOver());
	}

	@ParameterizedTest
	@ValueSource(booleans = { true, false })
	@DisplayName("A request for permits without a fairness has the fairness of the settings")
	void fairBySettings(boolean fair) {
		EngineSettings settings = settings(fair);
		assertThat(Settings.resolve(PERMIT, settings).fair()).isEqualTo(fair);
		// Other changes of the settings do not matter.
		EngineSettings changed = Settings.with(settings, HandOverLimits.NONE);
		assertThat(Settings.resolve(PERMIT, changed).fair()).isEqualTo(fair);
	}

	@ParameterizedTest
	@ValueSource(booleans = { true, false })
	@DisplayName("The fairness of a request overrides the settings")
	void fairByRequest(boolean fair) {
		assertThat(Settings.resolve(PERMIT.fair(fair), settings(!fair)).fair()).isEqualTo(fair);
	}

	@ParameterizedTest
	@EnumSource
	@DisplayName("Locks are fair, also if the settings make permits unfair")
	void locks(LockMode mode) {
		EngineSettings unfair = settings(false);
		assertThat(Settings.resolve(LOCK.mode(mode), unfair)).extracting(ResolvedRequest::fair).containsExactly(true);
		assertThat(Settings.resolve(LOCKS.mode(mode), unfair)).extracting(ResolvedRequest::fair)
			.containsExactly(true, true);
	}

	@Test
	@DisplayName("A maxHold below the default lease time shortens the lease")
	void shortMaxHold() {
		EngineSettings defaults = EngineSettings.defaults();
		Duration maxHold = Duration.ofSeconds(10);
		assertThat(defaults.leaseTime()).isGreaterThan(maxHold);
		assertThat(Settings.resolve(LOCK.maxHold(maxHold), defaults)).extracting(ResolvedRequest::leaseMillis)
			.containsExactly(10_000L);
		assertThat(Settings.resolve(PERMIT.maxHold(maxHold), defaults).leaseMillis()).isEqualTo(10_000);
		assertThat(Settings.resolve(LOCK.maxHold(Duration.ofMinutes(2)), defaults))
			.extracting(ResolvedRequest::leaseMillis)
			.containsExactly(defaults.leaseTime().toMillis());
	}

	@Test
	@DisplayName("Permits are fair by default")
	void defaults() {
		assertThat(Settings.resolve(PERMIT, EngineSettings.defaults()).fair()).isTrue();
	}

}
