package io.holdfast.faults;

import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.AppenderBase;
import org.slf4j.LoggerFactory;

/**
 * Log lines of Holdfast, at all levels, until closed.
 */
final class LogLines extends AppenderBase<ILoggingEvent> implements AutoCloseable {

	private final List<ILoggingEvent> events = new CopyOnWriteArrayList<>();

	private final Logger logger = (Logger) LoggerFactory.getLogger("io.holdfast");

	private final Level before = this.logger.getLevel();

	LogLines() {
		start();
		this.logger.setLevel(Level.TRACE);
		this.logger.addAppender(this);
	}

	@Override
	protected void append(ILoggingEvent event) {
		event.getFormattedMessage();
		this.events.add(event);
	}

	/** Return all lines, without stack traces. */
	List<String> all() {
		return this.events.stream().map(LogLines::line).toList();
	}

	/** Return the lines above DEBUG. */
	List<String> aboveDebug() {
		return this.events.stream()
			.filter((event) -> event.getLevel().isGreaterOrEqual(Level.INFO))
			.map(LogLines::line)
			.toList();
	}

	private static String line(ILoggingEvent event) {
		return event.getLevel() + " " + event.getFormattedMessage();
	}

	@Override
	public void close() {
		this.logger.detachAppender(this);
		this.logger.setLevel(this.before);
	}

}
