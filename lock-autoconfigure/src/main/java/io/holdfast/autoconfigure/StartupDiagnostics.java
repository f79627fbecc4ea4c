package io.holdfast.autoconfigure;

import java.util.LinkedHashMap;
import java.util.stream.Collectors;

import io.holdfast.engine.LeaseEngine;
import io.holdfast.engine.fleet.Fleet;
import io.holdfast.engine.store.StoreDiagnostic;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;

import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.context.ApplicationListener;
import org.springframework.context.event.ContextRefreshedEvent;

/**
 * Logs the store of leases and the kind of notifications after the start of a context.
 * Then examines the stores once, in the background, and logs the findings. Not earlier,
 * as engines open no connections before the start.
 *
 * @param context the context of the engines
 * @param wanted whether to examine the stores
 */
record StartupDiagnostics(ConfigurableListableBeanFactory context,
		boolean wanted) implements ApplicationListener<ContextRefreshedEvent> {

	private static final Log logger = LogFactory.getLog(StartupDiagnostics.class);

	@Override
	public void onApplicationEvent(ContextRefreshedEvent event) {
		// Ignore events of child contexts.
		if (event.getApplicationContext().getAutowireCapableBeanFactory() == this.context) {
			LeaseEngineLifecycle.engines(this.context)
				.collect(Collectors.groupingBy(StartupDiagnostics::describe, LinkedHashMap::new,
						Collectors.mapping((engine) -> Fleet.of(engine).instance(), Collectors.joining(", "))))
				.forEach((description, instances) -> logger.info(description + "; this is instance " + instances));
			if (this.wanted) {
				LeaseEngineLifecycle.engines(this.context).forEach(StartupDiagnostics::examine);
			}
		}
	}

	private static String describe(LeaseEngine engine) {
		return "Holdfast is active: locks and permits are kept in " + engine.place()
				+ (Fleet.of(engine).isAdmitted() ? "" : ", which has not answered yet") + "; waiters "
				+ (engine.status().polling() ? "ask at intervals" : "are woken by messages");
	}

	private static void examine(LeaseEngine engine) {
		engine.examine().whenComplete((findings, error) -> {
			if (error != null) {
				// The first request will report the failure.
				logger.debug("The store could not be examined", error);
			}
			else {
				findings.forEach(StartupDiagnostics::log);
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

}
