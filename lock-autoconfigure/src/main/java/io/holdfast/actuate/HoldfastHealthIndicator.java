package io.holdfast.actuate;

import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Stream;

import io.holdfast.engine.EngineStatus;
import io.holdfast.engine.LeaseEngine;
import io.holdfast.engine.store.StoreDiagnostic;

import org.springframework.boot.health.contributor.AbstractHealthIndicator;
import org.springframework.boot.health.contributor.Health;
import org.springframework.boot.health.contributor.HealthIndicator;
import org.springframework.boot.health.contributor.Status;

/**
 * {@link HealthIndicator} of a {@link LeaseEngine}. The status is {@code DOWN} while
 * renewals fail. It is {@link #DEGRADED} while notifications are not received, or the
 * store does not answer or refuses requests. Otherwise it is {@code UP}, perhaps with
 * warnings. Blocks until the store answers, for the given patience at most. Thread-safe.
 */
public final class HoldfastHealthIndicator extends AbstractHealthIndicator {

	/**
	 * Status while waiters must poll, so that hand-overs take longer, or while the store
	 * does not answer or refuses requests, so that nothing new is granted.
	 */
	public static final Status DEGRADED = new Status("DEGRADED");

	private final LeaseEngine engine;

	private final LatestFindings latest;

	/**
	 * Create an indicator that does not examine the store.
	 * @param engine the engine
	 */
	public HoldfastHealthIndicator(LeaseEngine engine) {
		this(engine, new LatestFindings(() -> CompletableFuture.completedFuture(List.of()), Duration.ZERO, () -> 0));
	}

	/**
	 * Create an indicator that also examines the store.
	 * @param engine the engine
	 * @param patience the maximum wait for the store's answer
	 */
	public HoldfastHealthIndicator(LeaseEngine engine, Duration patience) {
		this(engine, new LatestFindings(engine::examine, patience, System::nanoTime));
	}

	private HoldfastHealthIndicator(LeaseEngine engine, LatestFindings latest) {
		super("Holdfast health check failed");
		this.engine = engine;
		this.latest = latest;
	}

	@Override
	protected void doHealthCheck(Health.Builder builder) {
		List<StoreDiagnostic> findings = this.latest.get();
		EngineStatus engineStatus = this.engine.status();
		String silence = this.latest.trouble();
		// A refusal from before an outage is no reason any more.
		String refusal = (silence == null) ? engineStatus.refusal() : null;
		String trouble = Stream.of(refusal, engineStatus.trouble(), silence)
			.filter(Objects::nonNull)
			.findFirst()
			.orElse(null);
		builder.status(status(engineStatus, silence != null))
			.withDetail("wakeUps", wakeUps(engineStatus, silence != null))
			.withDetail("held", engineStatus.held())
			.withDetail("waiting", engineStatus.waiting())
			.withDetail("failingRenewals", engineStatus.failingRenewals());
		if (trouble != null) {
			builder.withDetail("trouble", trouble);
		}
		if (!findings.isEmpty()) {
			builder.withDetail("warnings", findings.stream().map(StoreDiagnostic::text).toList());
		}
	}

	private static Status status(EngineStatus engineStatus, boolean silent) {
		if (engineStatus.failingRenewals() > 0) {
			return Status.DOWN;
		}
		boolean reached = (engineStatus.listening() || engineStatus.polling()) && !silent
				&& engineStatus.refusal() == null;
		return reached ? Status.UP : DEGRADED;
	}

	private static String wakeUps(EngineStatus engineStatus, boolean silent) {
		if (engineStatus.polling()) {
			return "polling, as configured";
		}
		return !engineStatus.listening() ? "not received" : silent ? "unknown" : "received";
	}

}
