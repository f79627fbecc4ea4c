package io.holdfast.autoconfigure;

import java.time.Duration;

import io.holdfast.engine.LeaseEngine;

import org.springframework.context.SmartLifecycle;

/**
 * Shuts the engine down at its place in the order: after the web server has drained and
 * executors have ended, before Redis is disconnected.
 */
final class LeaseEngineLifecycle implements SmartLifecycle {

	/**
	 * Higher phases stop first. Those of servers and listeners are near the highest,
	 * executors and schedulers of Spring have half of it by default and are to end before
	 * this, not together with it; the connection factory's is 0.
	 */
	static final int PHASE = Integer.MAX_VALUE / 2 - 1024;

	private final LeaseEngine engine;

	private final Duration patience;

	private volatile boolean running;

	LeaseEngineLifecycle(LeaseEngine engine, Duration patience) {
		this.engine = engine;
		this.patience = patience;
	}

	@Override
	public void start() {
		this.engine.resume();
		this.running = true;
	}

	@Override
	public void stop(Runnable callback) {
		this.running = false;
		this.engine.shutDown(this.patience).whenComplete((done, error) -> callback.run());
	}

	@Override
	public void stop() {
		stop(() -> {
		});
	}

	@Override
	public boolean isRunning() {
		return this.running;
	}

	@Override
	public int getPhase() {
		return PHASE;
	}

	/** Pausing is no end of work: what is held is kept. */
	@Override
	public boolean isPauseable() {
		return false;
	}

}
