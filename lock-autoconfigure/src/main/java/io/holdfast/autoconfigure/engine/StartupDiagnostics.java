package io.holdfast.autoconfigure.engine;

import io.holdfast.engine.LeaseEngine;
import io.holdfast.engine.store.StoreDiagnostic;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;

import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.context.ApplicationListener;
import org.springframework.context.event.ContextRefreshedEvent;

/**
 * Has the stores of a context examined once, in the background, when it has started, and
 * warns of what is found. Not before: engines open no connection until they are started.
 */
public final class StartupDiagnostics implements ApplicationListener<ContextRefreshedEvent> {

	private static final Log logger = LogFactory.getLog(StartupDiagnostics.class);

	private final ConfigurableListableBeanFactory context;

	private final boolean wanted;

	/** Create the diagnostics of the engines of a context, if they are wanted. */
	public StartupDiagnostics(ConfigurableListableBeanFactory context, boolean wanted) {
		this.context = context;
		this.wanted = wanted;
	}

	@Override
	public void onApplicationEvent(ContextRefreshedEvent event) {
		// Not that of a child.
		if (this.wanted && event.getApplicationContext().getAutowireCapableBeanFactory() == this.context) {
			LeaseEngineLifecycle.engines(this.context).forEach(StartupDiagnostics::examine);
		}
	}

	private static void examine(LeaseEngine engine) {
		engine.examine().whenComplete((findings, error) -> {
			if (error != null) {
				// The first call that needs it will tell.
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
