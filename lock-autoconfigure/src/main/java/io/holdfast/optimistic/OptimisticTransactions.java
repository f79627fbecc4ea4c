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
 * Transactions without locks: each transaction watches keys, reads, and writes only if no
 * other client has changed a watched key since. Otherwise, the transaction starts again,
 * a limited number of times, after growing, random pauses.
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
 * Suitable if conflicting changes are rare. If many clients write to the same key, most
 * attempts fail: use a lock instead.
 *
 * <p>
 * Each attempt has its own Redis connection, and takes no part in a surrounding
 * transaction, of Spring or of this class: its writes are done when {@code execute}
 * returns, and stay if the surrounding transaction is rolled back.
 *
 * <p>
 * Thread-safe. Not final, so that applications can use aspects.
 *
 * @since 0.1.0
 */
public class OptimisticTransactions implements BeanClassLoaderAware {

	/** Maximum pause, as a multiple of the first pause. */
	private static final int MAX_PAUSE_FACTOR = 20;

	private final RedisConnectionFactory factory;

	private final Supplier<SessionConnections> sessions;

	private final DaemonThreads threads;

	private final Options options;

	/**
	 * Create transactions with the default options. The first call connects.
	 * @param connectionFactory the factory of Lettuce or Jedis. Not of a cluster, where
	 * Spring Data does not support WATCH
	 * @throws IllegalStateException if the factory is of another library
	 */
	public OptimisticTransactions(RedisConnectionFactory connectionFactory) {
		this(connectionFactory, Options.defaults());
	}

	/**
	 * Create transactions. The first call connects.
	 * @param connectionFactory the factory of Lettuce or Jedis. Not of a cluster, where
	 * Spring Data does not support WATCH
	 * @param options the options
	 * @throws IllegalStateException if the factory is of another library
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
	 * @param classLoader the class loader of the application; by default, the class
	 * loader of Holdfast's classes
	 */
	@Override
	public void setBeanClassLoader(ClassLoader classLoader) {
		this.threads.setClassLoader(classLoader);
	}

	/**
	 * Return transactions with other options, for some calls.
	 * @param options the options
	 * @return transactions on the same Redis
	 */
	public OptimisticTransactions with(Options options) {
		return new OptimisticTransactions(this, options);
	}

	/**
	 * Run a transaction. Blocks, and sleeps between attempts. No attempt begins after the
	 * maximum time, but a running attempt is not ended. The timeout of each command is
	 * the timeout of the connection factory.
	 * @param <T> the type of the result
	 * @param keys the keys to watch: all keys on which the writes depend, also missing
	 * keys. At least one key, and no key that is {@code null} or empty
	 * @param attempt the code, which reads and adds writes. The code is <b>called
	 * again</b> if another client has changed a key before the writes, and should
	 * therefore have no other effects. If the code throws an exception, nothing is
	 * written, and the exception is passed on
	 * @return the result of the last attempt, whose writes were executed, or which had no
	 * writes. Without writes, Redis is not asked whether the values have changed since
	 * the reads
	 * @throws OptimisticTransactionException if a key was changed in each attempt, or if
	 * the thread is interrupted before or between attempts (the interrupt flag stays
	 * set). Nothing was written
	 * @throws LeaseStoreException if Redis refused WATCH, MULTI, EXEC or a write, or did
	 * not answer. The message contains the state: nothing was written; everything except
	 * a failed command was written, because Redis does not roll back (as with a value of
	 * another type); or the answer to EXEC was lost
	 * @throws IllegalArgumentException if there is no key, or a key is {@code null} or
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
				boolean repeats = attempts < this.options.maxAttempts() && pause < left;
				if (repeats) {
					Thread.sleep(pause);
				}
				// A busy machine may wake this thread up late.
				if (!repeats || since(start).compareTo(this.options.maxTime()) >= 0) {
					throw new OptimisticTransactionException(watched, attempts, since(start), null);
				}
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
	 * Options of the attempts. Immutable.
	 *
	 * @param maxAttempts the maximum number of attempts, 1 or more
	 * @param maxTime the maximum time from the beginning of the first attempt, 1 ms or
	 * more. A running attempt is not ended
	 * @param backOff the minimum pause between attempts, 1 ms or more. Pauses are random.
	 * Their maximum doubles with each attempt, up to 20 times the minimum
	 */
	public record Options(int maxAttempts, Duration maxTime, Duration backOff) {

		/**
		 * Create options.
		 * @throws IllegalArgumentException if a value is too small
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
		 * Return the default options.
		 * @return 20 attempts in 5 s, pauses from 5 ms
		 */
		public static Options defaults() {
			return new Options(20, Duration.ofSeconds(5), Duration.ofMillis(5));
		}

		/**
		 * Return options with another maximum number of attempts.
		 * @param maxAttempts the maximum number, 1 or more
		 * @return the changed options
		 */
		public Options maxAttempts(int maxAttempts) {
			return new Options(maxAttempts, this.maxTime, this.backOff);
		}

		/**
		 * Return options with another maximum time.
		 * @param maxTime the maximum time from the beginning of the first attempt, 1 ms
		 * or more
		 * @return the changed options
		 */
		public Options maxTime(Duration maxTime) {
			return new Options(this.maxAttempts, maxTime, this.backOff);
		}

		/**
		 * Return options with other pauses.
		 * @param backOff the minimum pause between attempts, 1 ms or more
		 * @return the changed options
		 */
		public Options backOff(Duration backOff) {
			return new Options(this.maxAttempts, this.maxTime, backOff);
		}

		private ExponentialBackOff exponential() {
			long first = this.backOff.toMillis();
			ExponentialBackOff pauses = new ExponentialBackOff(first, 2);
			pauses.setMaxInterval(MAX_PAUSE_FACTOR * first);
			// Random pauses from the first pause up to twice the exponential pause.
			pauses.setJitter(first);
			return pauses;
		}

	}

}
