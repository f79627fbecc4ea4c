package io.holdfast.optimistic;

import java.time.Duration;
import java.util.Collection;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.function.Supplier;

import io.holdfast.LeaseStoreException;
import io.holdfast.OptimisticTransactionException;
import io.holdfast.async.DaemonThreads;
import io.holdfast.redis.driver.Drivers;
import io.holdfast.redis.driver.SessionConnections;
import org.jspecify.annotations.Nullable;

import org.springframework.beans.factory.BeanClassLoaderAware;
import org.springframework.data.redis.connection.RedisConnectionFactory;
import org.springframework.util.backoff.BackOffExecution;
import org.springframework.util.backoff.ExponentialBackOff;

/**
 * Transactions that lock nothing: they watch the keys that they read, and write only if
 * these have not changed since then. Else they read again and try once more, a few times
 * and after growing, random pauses.
 *
 * <pre class="code">
 * boolean sold = transactions.execute(List.of("stock:1"), (tx) -&gt; {
 *     int stock = Integer.parseInt(tx.read().opsForValue().get("stock:1"));
 *     if (stock &gt; 0) {
 *         tx.write((redis) -&gt; redis.opsForValue().set("stock:1", String.valueOf(stock - 1)));
 *     }
 *     return stock &gt; 0;
 * });
 * </pre>
 *
 * <p>
 * Good where changes seldom meet. Where many write to the same key most attempts are in
 * vain: take a lock there.
 *
 * <p>
 * Each transaction has a Redis connection of its own. It takes no part in a transaction
 * that surrounds it, be it Spring's or another of these: its writes are done when
 * {@code execute} returns, and stay if the other one is rolled back.
 *
 * <p>
 * Thread-safe. Not final, so that applications can put aspects around it.
 *
 * @since 0.1.0
 */
public class OptimisticTransactions implements BeanClassLoaderAware {

	/** Pauses grow up to so many times the first one. */
	private static final int LONGEST_PAUSE = 20;

	private final RedisConnectionFactory factory;

	private final Supplier<SessionConnections> sessions;

	private final DaemonThreads threads;

	private final Options options;

	/**
	 * Create them with the default bounds. Nothing is connected before they are used.
	 * @param connectionFactory where Redis is, Lettuce's or Jedis's. Not a cluster:
	 * Spring Data does not support WATCH there
	 * @throws IllegalStateException if it is a factory of another library
	 */
	public OptimisticTransactions(RedisConnectionFactory connectionFactory) {
		this(connectionFactory, Options.defaults());
	}

	/**
	 * Create them with bounds. Nothing is connected before they are used.
	 * @param connectionFactory where Redis is, Lettuce's or Jedis's. Not a cluster:
	 * Spring Data does not support WATCH there
	 * @param options the bounds
	 * @throws IllegalStateException if it is a factory of another library
	 */
	public OptimisticTransactions(RedisConnectionFactory connectionFactory, Options options) {
		this.factory = connectionFactory;
		this.threads = new DaemonThreads();
		this.sessions = Drivers.watching(connectionFactory, this.threads);
		this.options = options;
	}

	private OptimisticTransactions(OptimisticTransactions other, Options options) {
		this.factory = other.factory;
		this.sessions = other.sessions;
		this.threads = other.threads;
		this.options = options;
	}

	/**
	 * Set the context class loader of the threads that connect.
	 * @param classLoader that of the application; by default that of Holdfast's classes
	 */
	@Override
	public void setBeanClassLoader(ClassLoader classLoader) {
		this.threads.setClassLoader(classLoader);
	}

	/**
	 * Return the same with other bounds, for some calls.
	 * @param options the bounds
	 * @return transactions on the same Redis
	 */
	public OptimisticTransactions with(Options options) {
		return new OptimisticTransactions(this, options);
	}

	/**
	 * Read and write as if alone. Blocks; between attempts it sleeps. No attempt begins
	 * after the longest time, but one that runs is not ended. How long Redis may take for
	 * an answer is the connection factory's to say.
	 * @param <T> the type of the result
	 * @param keys the keys to watch: all that the writes depend on, also those that do
	 * not exist yet. At least one, none of them {@code null} or empty
	 * @param attempt reads, and notes its writes. It is <b>run again</b> whenever one of
	 * the keys was changed before its writes were made, so it should have no other
	 * effects. If it throws, nothing is written, and its exception is thrown as it is
	 * @return the result of the attempt whose writes were made, or that noted none:
	 * nothing is written then, and Redis is not asked whether its reads still stand
	 * @throws OptimisticTransactionException if in no attempt, or not in time, the keys
	 * stayed as they were, or if the thread is interrupted between attempts (its
	 * interrupt flag is kept). Nothing was written
	 * @throws LeaseStoreException if Redis refused WATCH, MULTI, EXEC or one of the
	 * writes, or did not answer. The message tells the writes: none, or all but those
	 * that Redis refused, as it does not roll back (a command for another type, say), or
	 * that it is not known as no answer to EXEC came
	 * @throws IllegalArgumentException if there is no key, or one is {@code null} or
	 * empty
	 * @throws UnsupportedOperationException if Redis is a cluster
	 */
	public <T extends @Nullable Object> T execute(Collection<String> keys, OptimisticTransaction.Attempt<T> attempt) {
		List<String> watched = check(keys);
		BackOffExecution backOff = this.options.exponential().start();
		long start = System.nanoTime();
		int attempts = 0;
		try {
			while (!Thread.interrupted()) {
				WatchSession<T> session = new WatchSession<>(this.sessions.get(), watched, attempt);
				attempts++;
				T result = session.run();
				if (session.isComplete()) {
					return result;
				}
				long pause = backOff.nextBackOff();
				long left = this.options.maxTime().minus(since(start)).toMillis();
				if (attempts == this.options.maxAttempts() || pause >= left) {
					throw new OptimisticTransactionException(watched, attempts, since(start), null);
				}
				Thread.sleep(pause);
			}
			throw new InterruptedException();
		}
		catch (InterruptedException ex) {
			Thread.currentThread().interrupt();
			throw new OptimisticTransactionException(watched, attempts, since(start), ex);
		}
	}

	private List<String> check(Collection<String> keys) {
		Set<String> distinct = new LinkedHashSet<>(keys);
		if (distinct.isEmpty() || distinct.contains(null) || distinct.contains("")) {
			throw new IllegalArgumentException("An optimistic transaction cannot watch " + keys
					+ ": name all keys that its writes depend on, at least one, none of them null or empty");
		}
		if (Drivers.isCluster(this.factory)) {
			throw new UnsupportedOperationException("No optimistic transaction on " + distinct
					+ ": Redis is a cluster, where Spring Data does not support WATCH."
					+ " Use a lock instead (LockService or @DistributedLock)");
		}
		return List.copyOf(distinct);
	}

	private static Duration since(long start) {
		return Duration.ofNanos(System.nanoTime() - start);
	}

	/**
	 * Options of how long transactions are tried. Immutable.
	 *
	 * @param maxAttempts how often at most, 1 or more
	 * @param maxTime when to give up, from the beginning of the first attempt, 1 ms or
	 * more. An attempt that runs is not ended for it
	 * @param backOff the shortest pause between attempts, 1 ms or more. Pauses are
	 * random; the longest possible one doubles from attempt to attempt, up to 20 times
	 * this one
	 */
	public record Options(int maxAttempts, Duration maxTime, Duration backOff) {

		/**
		 * Checks the bounds.
		 * @throws IllegalArgumentException if one is too small
		 */
		public Options {
			if (maxAttempts < 1) {
				throw new IllegalArgumentException("maxAttempts is " + maxAttempts + ", which is less than 1");
			}
			check("maxTime", maxTime);
			check("backOff", backOff);
		}

		private static void check(String name, Duration time) {
			if (time.toMillis() < 1) {
				throw new IllegalArgumentException(name + " is " + time + ", which is less than 1 ms");
			}
		}

		/**
		 * Return the bounds that are used when nothing else is said.
		 * @return 20 attempts in 5 s, pauses from 5 ms
		 */
		public static Options defaults() {
			return new Options(20, Duration.ofSeconds(5), Duration.ofMillis(5));
		}

		/**
		 * Return the same with another number of attempts.
		 * @param maxAttempts how often at most, 1 or more
		 * @return the changed bounds
		 */
		public Options maxAttempts(int maxAttempts) {
			return new Options(maxAttempts, this.maxTime, this.backOff);
		}

		/**
		 * Return the same with another time to give up.
		 * @param maxTime the time from the beginning of the first attempt, 1 ms or more
		 * @return the changed bounds
		 */
		public Options maxTime(Duration maxTime) {
			return new Options(this.maxAttempts, maxTime, this.backOff);
		}

		/**
		 * Return the same with other pauses.
		 * @param backOff the shortest pause between attempts, 1 ms or more
		 * @return the changed bounds
		 */
		public Options backOff(Duration backOff) {
			return new Options(this.maxAttempts, this.maxTime, backOff);
		}

		private ExponentialBackOff exponential() {
			long first = this.backOff.toMillis();
			ExponentialBackOff pauses = new ExponentialBackOff(first, 2);
			pauses.setMaxInterval(LONGEST_PAUSE * first);
			// From the first pause up to twice the exponential one.
			pauses.setJitter(first);
			return pauses;
		}

	}

}
