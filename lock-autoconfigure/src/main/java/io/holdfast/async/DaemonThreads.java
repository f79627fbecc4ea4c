package io.holdfast.async;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ThreadFactory;

import org.jspecify.annotations.Nullable;

/**
 * Makes the daemon threads of an instance. They inherit nothing from the thread that
 * needs one first, and are used for many: neither thread-locals, such as the tenant of a
 * call, nor class loader, group and priority. Thread-safe.
 */
public final class DaemonThreads {

	private static final ThreadGroup GROUP = outermostGroup();

	private volatile ClassLoader classLoader = DaemonThreads.class.getClassLoader();

	private static ThreadGroup outermostGroup() {
		ThreadGroup group = Thread.currentThread().getThreadGroup();
		while (group.getParent() != null) {
			group = group.getParent();
		}
		return group;
	}

	/**
	 * Set the context class loader of threads that are started from now on.
	 * @param classLoader that of the application, or {@code null} for that of this class
	 */
	public void setClassLoader(@Nullable ClassLoader classLoader) {
		this.classLoader = (classLoader != null) ? classLoader : DaemonThreads.class.getClassLoader();
	}

	/** Return a new thread, not started yet. */
	public Thread create(Runnable action, String name) {
		Thread thread = new Thread(GROUP, withClassLoader(action), name, 0, false);
		thread.setDaemon(true);
		thread.setPriority(Thread.NORM_PRIORITY);
		return thread;
	}

	/**
	 * Return a new thread of a factory whose threads inherit from the current one. Blocks
	 * for an instant.
	 */
	public Thread create(Runnable action, ThreadFactory factory) {
		return BlockingWait.join(CompletableFuture.supplyAsync(() -> factory.newThread(withClassLoader(action)),
				(task) -> start(task, "holdfast-threads")));
	}

	/** Run an action on a new thread. */
	public void start(Runnable action, String name) {
		create(action, name).start();
	}

	/** Not when it is made: threads of a driver may be made before the loader is set. */
	private Runnable withClassLoader(Runnable action) {
		return () -> {
			Thread.currentThread().setContextClassLoader(this.classLoader);
			action.run();
		};
	}

}
