package io.holdfast.aop;

import java.util.HashSet;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Predicate;

import io.holdfast.annotation.DistributedLock;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;

import org.springframework.beans.factory.BeanFactory;
import org.springframework.scheduling.config.TaskManagementConfigUtils;

/**
 * Warns of scheduled methods that each instance runs in its turn: they wait for their
 * lock, and the end of one run lets the next instance in. All that the start finds are in
 * one warning. Thread-safe.
 */
final class ScheduledTurns {

	private static final Log logger = LogFactory.getLog(ScheduledTurns.class);

	private final AnnotatedMethods locked;

	/** Tells whether calls of several instances have their turn one after the other. */
	private final Predicate<AnnotatedMethod> turns;

	private final Set<Class<?>> types = new HashSet<>();

	/** The methods to warn of when all beans are there. */
	private final Set<String> found = new TreeSet<>();

	private boolean started;

	ScheduledTurns(AnnotatedMethods locked, Predicate<AnnotatedMethod> turns) {
		this.locked = locked;
		this.turns = turns;
	}

	/** Look at the methods of a bean's type. */
	synchronized void look(Class<?> type, BeanFactory beans) {
		if (!this.types.add(type)
				|| !beans.containsBean(TaskManagementConfigUtils.SCHEDULED_ANNOTATION_PROCESSOR_BEAN_NAME)) {
			return;
		}
		for (AnnotatedMethod method : this.locked.of(type)) {
			if (method.isScheduled() && this.turns.test(method)) {
				this.found.add(method.qualifiedMethodName());
			}
		}
		if (this.started) {
			warn();
		}
	}

	/** Warn of all methods that were found so far, as all beans are there. */
	synchronized void started() {
		this.started = true;
		warn();
	}

	private void warn() {
		if (this.found.isEmpty()) {
			return;
		}
		logger
			.warn("Each instance runs these scheduled methods in its turn, as they wait for their lock, which is free "
					+ "after each run: " + String.join(", ", this.found) + ". For one run in all instances, write "
					+ "@ScheduledLock(name = \"…\", minHold = \"…\") instead of @DistributedLock, with a minHold "
					+ "longer than the clocks of the instances differ, or, with fixedRate or fixedDelay, a little shorter than "
					+ "the period. If each instance is to run, write minHold = \"0\"");
		this.found.clear();
	}

}
