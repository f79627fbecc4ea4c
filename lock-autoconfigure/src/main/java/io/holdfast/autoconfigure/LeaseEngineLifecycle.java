package io.holdfast.autoconfigure;

import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Collectors;
import java.util.stream.Stream;

import io.holdfast.engine.LeaseEngine;
import io.holdfast.engine.fleet.Fleet;
import io.holdfast.engine.store.StoreDiagnostic;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;

import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.context.SmartLifecycle;

/**
 * Starts and shuts down the engines of a context. The start logs the store of leases and
 * the kind of notifications, examines the stores once, in the background, and logs the
 * findings. Not earlier, as engines open no connections before. The shutdown comes after
 * the web server has drained and executors have ended, and before Redis is disconnected.
 * Engines of a parent context go on. After a stop, each start makes the engines new
 * instances.
 */
final class LeaseEngineLifecycle implements SmartLifecycle {

	private static final Log logger = LogFactory.getLog(LeaseEngineLifecycle.class);

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

	private final boolean examines;

	private volatile boolean running;

	/**
	 * Create the lifecycle of the engines of a context.
	 * @param patience the time for work in flight at a shutdown
	 * @param examines whether to examine the stores
	 */
	LeaseEngineLifecycle(ConfigurableListableBeanFactory context, Duration patience, boolean examines) {
		this.context = context;
		this.patience = patience;
		this.examines = examines;
	}

	@Override
	public void start() {
		List<LeaseEngine> engines = engines();
		engines.forEach(LeaseEngine::resume);
		long until = System.nanoTime() + FIRST_ANSWER.toNanos();
		engines.forEach((engine) -> failIfIncompatible(engine, until));
		engines.forEach(LeaseEngine::warmUp);
		engines.stream()
			.collect(Collectors.groupingBy(LeaseEngineLifecycle::describe, LinkedHashMap::new,
					Collectors.mapping((engine) -> Fleet.of(engine).instance(), Collectors.joining(", "))))
			.forEach((description, instances) -> logger.info(description + "; this is instance " + instances));
		if (this.examines) {
			engines.forEach(LeaseEngineLifecycle::examine);
		}
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

	private static String describe(LeaseEngine engine) {
		return "Holdfast keeps locks and permits in " + engine.place() + "; waiters "
				+ (engine.status().polling() ? "ask at intervals" : "are woken by messages");
	}

	private static void examine(LeaseEngine engine) {
		engine.examine().whenComplete((findings, error) -> {
			if (error != null) {
				// The first request will report the failure.
				logger.debug("The store could not be examined", error);
			}
			else {
				findings.forEach(LeaseEngineLifecycle::log);
			}
		});
	}

	private static void log(StoreDiagnostic finding) {
		if (finding.certain()) {
			logger.warn(finding.text());
		}
		else {
			logger.info(finding.text());
		}
	}

	@Override
	public void stop(Runnable callback) {
		this.running = false;
		CompletableFuture
			.allOf(engines().stream().map((engine) -> engine.shutDown(this.patience)).toArray(CompletableFuture[]::new))
			.whenComplete((done, error) -> callback.run());
	}

	@Override
	public void stop() {
		stop(() -> {
		});
	}

	/** Return all created engines, candidates for injection or not. */
	private List<LeaseEngine> engines() {
		return Stream.of(this.context.getBeanNamesForType(LeaseEngine.class, false, false))
			.filter(this.context::containsSingleton)
			.map((name) -> this.context.getBean(name, LeaseEngine.class))
			.toList();
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
