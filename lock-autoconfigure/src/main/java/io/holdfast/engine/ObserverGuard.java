package io.holdfast.engine;

import java.util.concurrent.atomic.AtomicBoolean;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;

/**
 * Runs observers, and keeps their exceptions from the engine. Thread-safe.
 */
final class ObserverGuard {

	private static final Log logger = LogFactory.getLog(EngineObserver.class);

	private final AtomicBoolean warned = new AtomicBoolean();

	private final AtomicBoolean warnedOfBacklog = new AtomicBoolean();

	/** Run something for observers. Does not throw. */
	void run(Runnable event) {
		try {
			event.run();
		}
		catch (RuntimeException | Error ex) {
			warn(ex);
		}
	}

	/** Log the failure of an observer: the first as a warning. */
	void warn(Throwable ex) {
		if (this.warned.compareAndSet(false, true)) {
			logger.warn("An observer of leases failed; the leases are not affected. "
					+ "Further failures are logged as DEBUG", ex);
		}
		else {
			logger.debug("An observer of leases failed", ex);
		}
	}

	/** Warn, once, that observers are too slow. */
	void warnOfBacklog(int backlog) {
		if (this.warnedOfBacklog.compareAndSet(false, true)) {
			logger.warn("Observers of leases are too slow: " + backlog
					+ " of their events wait, and further ones are left out; the leases are not affected");
		}
	}

}
