package io.holdfast.reactive;

import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.ThreadPoolExecutor;

import io.holdfast.async.DaemonThreads;
import reactor.blockhound.BlockHound;
import reactor.blockhound.integration.BlockHoundIntegration;

/**
 * Allows short blocking calls of Holdfast in applications that use BlockHound. A thread
 * that sets or cancels a timer, submits a callback, or submits a command to the Redis
 * driver may wait for another thread for an instant. Reactor allows its own schedulers in
 * the same way. Found by {@link java.util.ServiceLoader}.
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
