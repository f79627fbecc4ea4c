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
 * Transactions without locks: they watch keys, read, and write only if no other client
 * has changed a watched key since then. Otherwise they read again, a limited number of
 * times and after growing, random pauses.
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
 * Good where changes seldom meet. Where many write to the same key, most attempts fail:
 * take a lock there.
 *
 * <p>
 * Each attempt has a Redis connection of its own. It takes no part in a surrounding
 * transaction, of Spring or of this class: its writes are done when {@code execute}
 * returns, and stay if the surrounding transaction is rolled back.
 *
 * <p>
 * Thread-safe. Not final, so that applications can put aspects around it.
 *
 * @since 0.1.0
 */
public class OptimisticTransactions implements BeanClassLoaderAware {

	/** Longest pause, as a multiple of the first. */
	private static final int LONGEST_PAUSE = 20;

	private final RedisConnectionFactory factory;

	private final Supplier<SessionConnections> sessions;

	private final DaemonThreads threads;

	private final Options options;

	/**
	 * Create transactions with the default bounds. Nothing is connected before the first
	 * call.
	 * @param connectionFactory the factory of Lettuce or Jedis. Not of a cluster, where
	 * Spring Data does not support WATCH
	 * @throws IllegalStateException if it is a factory of another library
	 */
	public OptimisticTransactions(RedisConnectionFactory connectionFactory) {
		this(connectionFactory, Options.defaults());
	}

	/**
	 * Create transactions. Nothing is connected before the first call.
	 * @param connectionFactory the factory of Lettuce or Jedis. Not of a cluster, where
	 * Spring Data does not support WATCH
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
	 * Return transactions with other bounds, for some calls.
	 * @param options the bounds
	 * @return transactions on the same Redis
	 */
	public OptimisticTransactions with(Options options) {
		return new OptimisticTransactions(this, options);
	}

	/**
	 * Read and write as if alone. Blocks; between attempts it sleeps. No attempt begins
	 * after the longest time, but a running attempt is not ended. The timeout for each
	 * command is that of the connection factory.
	 * @param <T> the type of the result
	 * @param keys the keys to watch: all keys of the decision, also missing ones. At
	 * least one, none of them {@code null} or empty
	 * @param attempt the code, which reads and notes its writes. It is <b>run again</b>
	 * if another client changed one of the keys before the writes, so it should have no
	 * other effects. If it throws, nothing is written, and the exception is passed on
	 * @return the result of the last attempt: its writes were made, or it noted none.
	 * Without writes Redis is not asked whether the values have changed since the reads
	 * @throws OptimisticTransactionException if a key was changed in each attempt, or if
	 * the thread is interrupted between attempts (the interrupt flag is kept). Nothing
	 * was written
	 * @throws LeaseStoreException if Redis refused WATCH, MULTI, EXEC or one of the
	 * writes, or did not answer. The message tells the state: nothing was written; all
	 * but a failed command was, as Redis does not roll back (a command for another type,
	 * for example); or the answer to EXEC was lost
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
	 * Bounds of the attempts. Immutable.
	 *
	 * @param maxAttempts the limit of attempts, 1 or more
	 * @param maxTime the time from the beginning of the first attempt, 1 ms or more. A
	 * running attempt is not ended
	 * @param backOff the shortest pause between attempts, 1 ms or more. Pauses are
	 * random; the longest possible one doubles from attempt to attempt, up to 20 times
	 * this one
	 */
	public record Options(int maxAttempts, Duration maxTime, Duration backOff) {

		/**
		 * Create bounds.
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
		 * Return the default bounds.
		 * @return 20 attempts in 5 s, pauses from 5 ms
		 */
		public static Options defaults() {
			return new Options(20, Duration.ofSeconds(5), Duration.ofMillis(5));
		}

		/**
		 * Return bounds with another limit of attempts.
		 * @param maxAttempts the limit, 1 or more
		 * @return the changed bounds
		 */
		public Options maxAttempts(int maxAttempts) {
			return new Options(maxAttempts, this.maxTime, this.backOff);
		}

		/**
		 * Return bounds with another longest time.
		 * @param maxTime the time from the beginning of the first attempt, 1 ms or more
		 * @return the changed bounds
		 */
		public Options maxTime(Duration maxTime) {
			return new Options(this.maxAttempts, maxTime, this.backOff);
		}

		/**
		 * Return bounds with other pauses.
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
