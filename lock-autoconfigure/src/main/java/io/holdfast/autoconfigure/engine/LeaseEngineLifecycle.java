package io.holdfast.autoconfigure.engine;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Stream;

import io.holdfast.engine.LeaseEngine;
import io.holdfast.engine.fleet.Fleet;

import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.context.SmartLifecycle;

/**
 * Starts all engines of a context, and shuts them down at their place in the order: after
 * the web server has drained and executors have ended, before Redis is disconnected.
 * Those of its parent go on. Each start after a stop makes them other instances.
 */
public final class LeaseEngineLifecycle implements SmartLifecycle {

	/**
	 * Higher phases stop first. Those of servers and listeners are near the highest,
	 * executors and schedulers of Spring have half of it by default and are to end before
	 * this, not together with it; the connection factory's is 0.
	 */
	static final int PHASE = Integer.MAX_VALUE / 2 - 1024;

	/** For how long a start may be held up by stores that are silent. */
	private static final Duration FIRST_ANSWER = Duration.ofSeconds(1);

	private final ConfigurableListableBeanFactory context;

	private final Duration patience;

	private volatile boolean running;

	/**
	 * Create the lifecycle of the engines of a context, with the time that a shut-down
	 * may take.
	 */
	public LeaseEngineLifecycle(ConfigurableListableBeanFactory context, Duration patience) {
		this.context = context;
		this.patience = patience;
	}

	@Override
	public void start() {
		engines(this.context).forEach(LeaseEngine::resume);
		long until = System.nanoTime() + FIRST_ANSWER.toNanos();
		engines(this.context).forEach((engine) -> refuseMisfit(engine, until));
		engines(this.context).forEach(LeaseEngine::warmUp);
		this.running = true;
	}

	/**
	 * Requests would be refused, too: but the application is to tell before any comes.
	 */
	private static void refuseMisfit(LeaseEngine engine, long until) {
		String misfit = Fleet.of(engine).awaitMisfit(Duration.ofNanos(Math.max(0, until - System.nanoTime())));
		if (misfit != null) {
			throw new IllegalStateException(misfit);
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
	 * Return all engines, whether or not they are candidates for injection. One that was
	 * not asked for yet is left alone.
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

	/** Pausing is no end of work: leases are kept. */
	@Override
	public boolean isPauseable() {
		return false;
	}

}
