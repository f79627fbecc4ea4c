package io.holdfast.autoconfigure;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Stream;

import io.holdfast.engine.LeaseEngine;
import io.holdfast.engine.fleet.Fleet;

import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.context.SmartLifecycle;

/**
 * Starts and shuts down the engines of a context. The shutdown comes after the web server
 * has drained and executors have ended, and before Redis is disconnected. Engines of a
 * parent context go on. After a stop, each start makes the engines new instances.
 */
final class LeaseEngineLifecycle implements SmartLifecycle {

	/**
	 * Phase of the lifecycle. Higher phases stop first. The phases of servers and
	 * listeners are near the maximum. Executors and schedulers of Spring have half of the
	 * maximum by default, and must end before the engines. The connection factory has
	 * phase 0.
	 */
	static final int PHASE = Integer.MAX_VALUE / 2 - 1024;

	/** Maximum time for which unresponsive stores delay a start. */
	private static final Duration FIRST_ANSWER = Duration.ofSeconds(1);

	private final ConfigurableListableBeanFactory context;

	private final Duration patience;

	private volatile boolean running;

	/**
	 * Create the lifecycle of the engines of a context.
	 * @param patience the time for work in flight at a shutdown
	 */
	LeaseEngineLifecycle(ConfigurableListableBeanFactory context, Duration patience) {
		this.context = context;
		this.patience = patience;
	}

	@Override
	public void start() {
		engines(this.context).forEach(LeaseEngine::resume);
		long until = System.nanoTime() + FIRST_ANSWER.toNanos();
		engines(this.context).forEach((engine) -> failIfIncompatible(engine, until));
		engines(this.context).forEach(LeaseEngine::warmUp);
		this.running = true;
	}

	/**
	 * Fail the start of an incompatible instance, before requests are refused.
	 */
	private static void failIfIncompatible(LeaseEngine engine, long until) {
		String incompatibility = Fleet.of(engine)
			.awaitCompatibilityCheck(Duration.ofNanos(Math.max(0, until - System.nanoTime())));
		if (incompatibility != null) {
			throw new IllegalStateException(incompatibility);
		}
	}

	@Override
	public void stop(Runnable callback) {
		this.running = false;
		CompletableFuture
			.allOf(engines(this.context).map((engine) -> engine.shutDown(this.patience))
				.toArray(CompletableFuture[]::new))
			.whenComplete((done, error) -> callback.run());
	}

	@Override
	public void stop() {
		stop(() -> {
		});
	}

	/**
	 * Return all created engines, candidates for injection or not.
	 */
	static Stream<LeaseEngine> engines(ConfigurableListableBeanFactory context) {
		return Stream.of(context.getBeanNamesForType(LeaseEngine.class, false, false))
			.filter(context::containsSingleton)
			.map((name) -> context.getBean(name, LeaseEngine.class));
	}

	@Override
	public boolean isRunning() {
		return this.running;
	}

	@Override
	public int getPhase() {
		return PHASE;
	}

	/** Return {@code false}: a paused context keeps its leases. */
	@Override
	public boolean isPauseable() {
		return false;
	}

}
