package io.holdfast.async;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ThreadFactory;

import org.jspecify.annotations.Nullable;

/**
 * Creates the daemon threads of an instance. The threads serve many callers. They
 * therefore inherit nothing from the creating thread: no thread-locals, such as the
 * tenant of a call, and no class loader, group or priority. Thread-safe.
 */
public final class DaemonThreads {

	/** Prefix of the names of threads for users' code. */
	private static final String FOR_CODE = "holdfast-call";

	private static final int FIRST_WITHOUT_PINNING = 24;

	private static final @Nullable ThreadFactory VIRTUAL = virtual();

	/**
	 * Whether threads for users' code are virtual, so that they need no pool: from JDK 24
	 * on. Before JDK 24, a virtual thread that blocks in a {@code synchronized} block
	 * pins its carrier thread, and code with a lease could wait for a free carrier.
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
			// A native image without the reflection hint.
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
	 * @param classLoader the application's class loader, or {@code null} for the class
	 * loader of this class
	 */
	public void setClassLoader(@Nullable ClassLoader classLoader) {
		this.classLoader = (classLoader != null) ? classLoader : DaemonThreads.class.getClassLoader();
	}

	/** Return a new, unstarted thread. */
	public Thread create(Runnable action, String name) {
		Thread thread = new Thread(GROUP, withClassLoader(action), name, 0, false);
		thread.setDaemon(true);
		thread.setPriority(Thread.NORM_PRIORITY);
		return thread;
	}

	/**
	 * Return a new, unstarted thread for users' code, which may block.
	 * @param suffix the suffix of the thread's name
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
	 * Return whether the current thread is for users' code. Recognized by its name,
	 * because virtual threads cannot have a class of their own.
	 */
	public static boolean isForCode() {
		return Thread.currentThread().getName().startsWith(FOR_CODE);
	}

	/**
	 * Return a new thread of a factory whose threads inherit from the current thread. The
	 * factory is called on another thread, for which this method waits.
	 */
	public Thread create(Runnable action, ThreadFactory factory) {
		return BlockingWait.join(CompletableFuture.supplyAsync(() -> factory.newThread(withClassLoader(action)),
				(task) -> start(task, "holdfast-threads")));
	}

	/** Run an action on a new thread. */
	public void start(Runnable action, String name) {
		create(action, name).start();
	}

	/**
	 * Set the class loader when the thread starts: threads of a driver may be created
	 * before the class loader is known.
	 */
	private Runnable withClassLoader(Runnable action) {
		return () -> {
			Thread.currentThread().setContextClassLoader(this.classLoader);
			action.run();
		};
	}

}
