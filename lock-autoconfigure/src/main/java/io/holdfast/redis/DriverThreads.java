package io.holdfast.redis;

import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

import org.springframework.data.redis.connection.ClusterSlotHashUtil;

/**
 * Threads for a driver that blocks, which end when there is nothing to do. In a cluster
 * each node has its own: one that stands still keeps as many as it gets for seconds, and
 * must not keep those waiting whom others would answer. Which node has a slot is asked
 * now and then; as long as it is not known, all share the same threads. Thread-safe.
 */
final class DriverThreads {

	private static final Log logger = LogFactory.getLog(DriverThreads.class);

	/** As many as a pool of connections has by default. */
	private static final int THREADS = 8;

	private static final long KNOWN_NANOS = TimeUnit.SECONDS.toNanos(10);

	private static final String UNKNOWN = "";

	private final @Nullable ClusterNodes nodes;

	/** By the id of the node. */
	private final Map<String, ThreadPoolExecutor> pools = new ConcurrentHashMap<>();

	private final AtomicInteger lastNumber = new AtomicInteger();

	/** By slot, empty if it is not known. */
	private volatile @Nullable String[] nodeIds = {};

	private volatile CompletableFuture<?> asked = CompletableFuture.completedFuture(null);

	private volatile long askedAt = System.nanoTime() - KNOWN_NANOS;

	private volatile boolean closed;

	/**
	 * Create the threads of one driver; none is started before it is needed.
	 * @param nodes those of the cluster, or {@code null} if Redis is none
	 */
	DriverThreads(@Nullable ClusterNodes nodes) {
		this.nodes = nodes;
	}

	/** Find out which nodes there are, so that it is known when it matters. */
	void prepare() {
		if (this.nodes == null || !this.asked.isDone() || System.nanoTime() - this.askedAt < KNOWN_NANOS) {
			return;
		}
		// Two at the same time do no harm.
		this.askedAt = System.nanoTime();
		try {
			this.asked = this.nodes.idsBySlot().whenComplete((ids, error) -> {
				if (error == null) {
					this.nodeIds = ids;
				}
				else {
					logger.debug("It cannot be found out now which node has which slots", error);
				}
			});
		}
		catch (Error ex) {
			// Threads may have run out: a task can still do without one of its own.
			logger.debug("It cannot be found out now which node has which slots", ex);
		}
	}

	/**
	 * Run a task on a thread for its node.
	 * @param keys the keys in Redis that it is about
	 * @param task the task
	 * @throws RejectedExecutionException if these threads are closed
	 */
	void execute(byte[][] keys, Runnable task) {
		prepare();
		ThreadPoolExecutor pool = this.pools.computeIfAbsent(nodeOf(keys), (node) -> newPool());
		if (this.closed) {
			pool.shutdown();
		}
		pool.execute(task);
	}

	private String nodeOf(byte[][] keys) {
		@Nullable String[] known = this.nodeIds;
		String id = (known.length > 0 && keys.length > 0) ? known[ClusterSlotHashUtil.calculateSlot(keys[0])] : null;
		return (id != null) ? id : UNKNOWN;
	}

	private ThreadPoolExecutor newPool() {
		ThreadPoolExecutor pool = new ThreadPoolExecutor(THREADS, THREADS, 10, TimeUnit.SECONDS,
				new LinkedBlockingQueue<>(), (task) -> {
					Thread thread = new Thread(task, "holdfast-redis-" + this.lastNumber.incrementAndGet());
					thread.setDaemon(true);
					return thread;
				});
		pool.allowCoreThreadTimeOut(true);
		return pool;
	}

	/** Take no more tasks; those that were taken may still end a lease. */
	void close() {
		this.closed = true;
		this.pools.values().forEach(ThreadPoolExecutor::shutdown);
	}

}
