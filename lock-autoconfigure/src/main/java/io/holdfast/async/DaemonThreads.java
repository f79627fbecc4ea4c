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

	/** Beginning of the names of threads for code of users. */
	private static final String FOR_CODE = "holdfast-call";

	private static final int FIRST_WITHOUT_PINNING = 24;

	private static final @Nullable ThreadFactory VIRTUAL = virtual();

	/**
	 * Whether threads for code of users are virtual, so that a pool of them saves
	 * nothing: from JDK 24 on. Before that a virtual thread that blocks in a
	 * {@code synchronized} block keeps its carrier, and code that has its lease would
	 * wait for one.
	 */
	public static final boolean VIRTUAL_FOR_CODE = VIRTUAL != null;

	private static final ThreadGroup GROUP = outermostGroup();

	private volatile ClassLoader classLoader = DaemonThreads.class.getClassLoader();

	private static @Nullable ThreadFactory virtual() {
		if (Runtime.version().feature() < FIRST_WITHOUT_PINNING) {
			return null;
		}
		try {
			Class<?> type = Class.forName("java.lang.Thread$Builder");
			Object builder = Thread.class.getMethod("ofVirtual").invoke(null);
			builder = type.getMethod("inheritInheritableThreadLocals", boolean.class).invoke(builder, false);
			return (ThreadFactory) type.getMethod("factory").invoke(builder);
		}
		catch (ReflectiveOperationException ex) {
			// A native image without a hint for it.
			return null;
		}
	}

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
	 * Return a new thread for code of users, which may block; not started yet.
	 * @param suffix the end of its name
	 */
	public Thread createForCode(Runnable action, String suffix) {
		if (VIRTUAL == null) {
			return create(action, FOR_CODE + suffix);
		}
		Thread thread = VIRTUAL.newThread(withClassLoader(action));
		thread.setName(FOR_CODE + suffix);
		return thread;
	}

	/**
	 * Return whether the current thread is one for code of users. Its name tells, as a
	 * virtual thread has no class of its own.
	 */
	public static boolean isForCode() {
		return Thread.currentThread().getName().startsWith(FOR_CODE);
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
