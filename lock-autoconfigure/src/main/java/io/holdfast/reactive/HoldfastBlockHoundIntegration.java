package io.holdfast.reactive;

import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.ThreadPoolExecutor;

import io.holdfast.async.DaemonThreads;
import reactor.blockhound.BlockHound;
import reactor.blockhound.integration.BlockHoundIntegration;

/**
 * Exempts calls from BlockHound, where an application's tests use it: a thread that sets
 * or cancels a timer of Holdfast's, gives it a callback to run or a command to the driver
 * of Redis, may wait for another one that does the same, for an instant. Reactor has its
 * own schedulers excepted in the same way. Found as a service.
 */
public final class HoldfastBlockHoundIntegration implements BlockHoundIntegration {

	@Override
	public void applyTo(BlockHound.Builder builder) {
		String timers = ScheduledThreadPoolExecutor.class.getName() + "$DelayedWorkQueue";
		builder.allowBlockingCallsInside(timers, "offer")
			.allowBlockingCallsInside(timers, "remove")
			.allowBlockingCallsInside(ThreadPoolExecutor.class.getName(), "addWorker")
			.allowBlockingCallsInside(LinkedBlockingQueue.class.getName(), "offer")
			.allowBlockingCallsInside("io.holdfast.redis.driver.ScriptExecutor", "enter")
			.allowBlockingCallsInside(DaemonThreads.class.getName(), "create");
	}

}
