package io.holdfast.autoconfigure;

import java.time.Duration;
import java.util.List;
import java.util.stream.Stream;

import io.holdfast.engine.EngineSettings;
import io.holdfast.engine.store.HandOverLimits;
import io.holdfast.memory.MemoryLeases;
import io.holdfast.optimistic.OptimisticTransactions;
import io.holdfast.redis.key.RedisStoreOptions;
import org.jspecify.annotations.Nullable;

import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.boot.context.properties.bind.DefaultValue;
import org.springframework.boot.context.properties.source.InvalidConfigurationPropertyValueException;
import org.springframework.core.env.Environment;

/**
 * Properties of Holdfast. Immutable. Invalid values are refused.
 *
 * @param enabled Whether Holdfast is configured; if not, there are no services, and
 * annotated methods run without locks and permits
 * @param backend Store of locks and permits: Redis, or the memory of this JVM, without
 * exclusion of other processes
 * @param lock Locks
 * @param semaphore Semaphores
 * @param optimistic Optimistic transactions
 * @param wakeUp Notifications for waiting instances
 * @param redis Use of Redis
 * @param aop Annotations
 * @param fleet Register of instances
 * @param limits Limits of one instance
 * @param fence Fences in databases
 * @param console Console for operators
 * @param leakDetectionThreshold How long a lease may be held before a warning names the
 * place of its acquisition; 0 for no warnings
 * @since 0.1.0
 */
@ConfigurationProperties("holdfast")
public record HoldfastProperties(@DefaultValue("true") boolean enabled, @DefaultValue("redis") Backend backend,
		@DefaultValue Lock lock, @DefaultValue Semaphore semaphore, @DefaultValue Optimistic optimistic,
		@DefaultValue WakeUp wakeUp, @DefaultValue Redis redis, @DefaultValue Aop aop, @DefaultValue Fleet fleet,
		@DefaultValue Limits limits, @DefaultValue Fence fence, @DefaultValue Console console,
		@DefaultValue("0s") Duration leakDetectionThreshold) {

	private static final Duration MIN_LEASE = Duration.ofMillis(100);

	/**
	 * Return the properties, for beans that come before configuration properties.
	 */
	static HoldfastProperties of(Environment environment) {
		return Binder.get(environment).bindOrCreate("holdfast", HoldfastProperties.class);
	}

	/**
	 * Refuse invalid values. Not called during binding, where Spring Boot would not
	 * report the origin of the property.
	 */
	void check() {
		PropertyBounds.checkWait("lock.wait-time", this.lock.waitTime());
		PropertyBounds.checkWait("semaphore.wait-time", this.semaphore.waitTime());
		PropertyBounds.checkBounds(MIN_LEASE, "semaphore.lease-time", this.semaphore.leaseTime());
		PropertyBounds.check(!this.semaphore.keyPrefix().equals(this.lock.keyPrefix()), "semaphore.key-prefix",
				this.semaphore.keyPrefix(), "it must not be the same as holdfast.lock.key-prefix");
		PropertyBounds.checkLimit("optimistic.max-attempts", this.optimistic.maxAttempts());
		PropertyBounds.checkBounds(Duration.ofMillis(1), "optimistic.max-time", this.optimistic.maxTime());
		PropertyBounds.checkBounds(Duration.ofMillis(1), "optimistic.back-off", this.optimistic.backOff());
		PropertyBounds.checkBounds(MIN_LEASE, "lock.lease-time", this.lock.leaseTime());
		PropertyBounds.checkBounds(MIN_LEASE, "lock.max-hold", this.lock.maxHold());
		PropertyBounds.check(this.lock.maxHold() == null || this.lock.maxHold().compareTo(this.lock.leaseTime()) >= 0,
				"lock.max-hold", this.lock.maxHold(),
				"it must not be shorter than holdfast.lock.lease-time (" + PropertyBounds.text(this.lock.leaseTime())
						+ "), for which a lease lasts without any renewal");
		PropertyBounds.checkBounds(Duration.ZERO, "lock.loss-margin", this.lock.lossMargin());
		PropertyBounds.check(this.lock.lossMargin().multipliedBy(3).compareTo(this.lock.leaseTime()) <= 0,
				"lock.loss-margin", this.lock.lossMargin(),
				"it must be at most a third of holdfast.lock.lease-time (" + PropertyBounds.text(this.lock.leaseTime())
						+ "), or leases would be lost before their renewal could be tried twice");
		PropertyBounds.checkBounds(MIN_LEASE, "lock.heal-missing-ttl", this.lock.healMissingTtl());
		PropertyBounds.checkBounds(Duration.ofSeconds(1), "lock.fence-retention", this.lock.fenceRetention());
		PropertyBounds.checkBounds(Duration.ofMillis(10), "wake-up.retry-interval", this.wakeUp.retryInterval());
		PropertyBounds.checkBounds(Duration.ZERO, "leak-detection-threshold", this.leakDetectionThreshold);
		PropertyBounds.checkBounds(MIN_LEASE, "wake-up.handoff-timeout", this.wakeUp.handoffTimeout());
		PropertyBounds.checkBounds(Duration.ofMillis(50), "redis.command-timeout", this.redis.commandTimeout());
		PropertyBounds.checkBounds(Duration.ZERO, "redis.outage-patience", this.redis.outagePatience());
		PropertyBounds.checkBounds(MIN_LEASE, "redis.longest-lease", this.redis.longestLease());
		if (this.redis.failOverGrace()) {
			checkLongest("lock.lease-time", this.lock.leaseTime());
			checkLongest("semaphore.lease-time", this.semaphore.leaseTime());
		}
		checkHandOver("lock", this.lock.localHandOver().maxCount(), this.lock.localHandOver().maxTime());
		checkHandOver("semaphore", this.semaphore.localHandOver().maxCount(), this.semaphore.localHandOver().maxTime());
		PropertyBounds.checkLimit("limits.waiters", this.limits.waiters());
		PropertyBounds.checkLimit("limits.waiters-per-key", this.limits.waitersPerKey());
		checkReplicas();
		PropertyBounds.check(!this.fleet.key().isBlank(), "fleet.key", this.fleet.key(), "it must not be blank");
	}

	/** Refuse invalid values for fences. Called only if there are fences. */
	void checkFences() {
		Fence.Jdbc jdbc = this.fence.jdbc();
		PropertyBounds.checkBounds(Duration.ofSeconds(1), "fence.jdbc.timeout", jdbc.timeout());
		PropertyBounds.checkBounds(Duration.ofDays(1), "fence.jdbc.retention", jdbc.retention());
		Duration longest = Stream.of(this.lock.leaseTime(), this.lock.maxHold(), this.redis.longestLease())
			.filter((time) -> time != null)
			.max(Duration::compareTo)
			.orElseThrow();
		PropertyBounds.check(jdbc.retention().compareTo(longest) >= 0, "fence.jdbc.retention", jdbc.retention(),
				"it must not be shorter than the longest of holdfast.lock.lease-time, holdfast.lock.max-hold and "
						+ "holdfast.redis.longest-lease, which is " + PropertyBounds.text(longest));
		PropertyBounds.check(jdbc.tableName().matches("[\\w$#.]+"), "fence.jdbc.table-name", jdbc.tableName(),
				"it must be letters, digits and underscores, with a dot after the schema");
	}

	private static void checkHandOver(String kind, int maxCount, Duration maxTime) {
		PropertyBounds.check(maxCount >= 0 && maxCount < HandOverLimits.STRIDE, kind + ".local-hand-over.max-count",
				maxCount, "it must be at least 0, and at most " + (HandOverLimits.STRIDE - 1)
						+ ("lock".equals(kind) ? ", or fencing tokens would be given twice" : ""));
		PropertyBounds.checkBounds(Duration.ZERO, kind + ".local-hand-over.max-time", maxTime);
	}

	private void checkLongest(String property, Duration leaseTime) {
		PropertyBounds.check(leaseTime.compareTo(this.redis.longestLease()) <= 0, property, leaseTime,
				"it must not be longer than holdfast.redis.longest-lease ("
						+ PropertyBounds.text(this.redis.longestLease())
						+ "), after which holdfast.redis.fail-over-grace counts every lease as ended");
	}

	private void checkReplicas() {
		PropertyBounds.check(this.redis.minReplicas() >= 0, "redis.min-replicas", this.redis.minReplicas(),
				"it must be at least 0, which means that no replica is waited for");
		Duration timeout = this.redis.replicaTimeout();
		PropertyBounds.checkBounds(Duration.ofMillis(1), "redis.replica-timeout", timeout);
		Duration lease = (this.lock.leaseTime().compareTo(this.semaphore.leaseTime()) < 0) ? this.lock.leaseTime()
				: this.semaphore.leaseTime();
		// A request that arrives during another wait for replicas waits for up to twice
		// as long.
		PropertyBounds.check(this.redis.minReplicas() == 0 || timeout.multipliedBy(3).compareTo(lease) <= 0,
				"redis.replica-timeout", timeout,
				"it must be at most a third of holdfast.lock.lease-time and holdfast.semaphore.lease-time, or leases"
						+ " would be over before they are confirmed");
	}

	/**
	 * Return the settings of an engine.
	 * @return the settings
	 * @throws InvalidConfigurationPropertyValueException if a property has an invalid
	 * value
	 */
	public EngineSettings engineSettings() {
		check();
		return new EngineSettings(this.lock.waitTime(), this.lock.leaseTime(), this.lock.maxHold(),
				this.lock.lossMargin(), this.semaphore.waitTime(), this.semaphore.leaseTime(), this.semaphore.fair(),
				this.wakeUp.handoffTimeout(), this.wakeUp.retryInterval(), this.redis.commandTimeout(),
				this.redis.outagePatience(), this.limits.waiters(), this.limits.waitersPerKey(),
				new HandOverLimits(this.lock.localHandOver().maxCount(), this.lock.localHandOver().maxTime()),
				new HandOverLimits(this.semaphore.localHandOver().maxCount(),
						this.semaphore.localHandOver().maxTime()));
	}

	RedisStoreOptions storeOptions() {
		RedisStoreOptions.Replicas replicas = (this.redis.minReplicas() > 0)
				? new RedisStoreOptions.Replicas(this.redis.minReplicas(), this.redis.replicaTimeout()) : null;
		return new RedisStoreOptions(this.lock.keyPrefix(), this.semaphore.keyPrefix(), this.wakeUp.channelPrefix(),
				this.lock.healMissingTtl(), this.lock.fenceRetention(), this.wakeUp.handoffTimeout(),
				this.wakeUp.mode() == WakeUp.Mode.POLLING, this.fleet.key(),
				this.redis.failOverGrace() ? this.redis.longestLease() : null, replicas);
	}

	/** Return the maximum lease time, or {@code null} if there is none. */
	@Nullable Duration longestLease() {
		return (this.backend == Backend.REDIS && this.redis.failOverGrace()) ? this.redis.longestLease() : null;
	}

	OptimisticTransactions.Options optimisticOptions() {
		return new OptimisticTransactions.Options(this.optimistic.maxAttempts(), this.optimistic.maxTime(),
				this.optimistic.backOff());
	}

	MemoryLeases newMemory() {
		return new MemoryLeases(System::nanoTime, this.wakeUp.handoffTimeout());
	}

	/** Store of locks and permits. */
	public enum Backend {

		/** The application's Redis. */
		REDIS,

		/**
		 * The memory of this JVM, without exclusion of other processes: for tests, and
		 * for running without Redis.
		 */
		MEMORY

	}

	/**
	 * Locks.
	 *
	 * @param keyPrefix Prefix of the keys of locks in Redis; all applications that
	 * exclude one another must have the same
	 * @param waitTime How long to wait for a lock; 0 tries once, -1 waits without limit
	 * @param leaseTime Maximum time for which a lock stays held after its holder has
	 * died, 100ms at least; a living holder renews it
	 * @param maxHold Maximum time for which a lock is renewed, as a guard against holders
	 * that hang, not shorter than the lease time; without limit by default
	 * @param lossMargin Time between the loss of a lock for its holder and the earliest
	 * grant to another owner, for work that no fencing token guards; a third of the lease
	 * time at most
	 * @param healMissingTtl Expiry to set on a lock key that another client has left
	 * without one, 100ms at least; by default such keys are not changed
	 * @param fenceRetention How long Redis keeps the last fencing token of a key after
	 * its grant, 1s at least
	 * @param localHandOver Limits of hand-overs of a lock within one instance
	 * @param onStoreFailure Outcome of calls of annotated methods whose lock cannot be
	 * requested: throw the exception, or call the method's fallback if it accepts the
	 * exception
	 */
	public record Lock(@DefaultValue("lock:") String keyPrefix, @DefaultValue("10s") Duration waitTime,
			@DefaultValue("30s") Duration leaseTime, @Nullable Duration maxHold,
			@DefaultValue("0s") Duration lossMargin, @Nullable Duration healMissingTtl,
			@DefaultValue("24h") Duration fenceRetention, @DefaultValue HandOverLimits localHandOver,
			@DefaultValue("throw") OnStoreFailure onStoreFailure) {

		/** Outcome of a call whose lock cannot be requested. */
		public enum OnStoreFailure {

			/** The caller gets an exception. */
			THROW,

			/** The method's fallback is called, if it takes that exception. */
			FALLBACK

		}

		/**
		 * Limits of hand-overs of a lock within one instance, while other instances may
		 * wait for it.
		 *
		 * @param maxCount Maximum number of hand-overs of a lock within an instance,
		 * without Redis, before waiters of other instances get their turn, from 0 to 63;
		 * with 0, Redis grants each lease
		 * @param maxTime Maximum time of hand-overs of a lock within an instance before
		 * waiters of other instances get their turn
		 */
		public record HandOverLimits(@DefaultValue("63") int maxCount, @DefaultValue("5ms") Duration maxTime) {
		}

	}

	/**
	 * Semaphores.
	 *
	 * @param keyPrefix Prefix of the keys of semaphores in Redis; all applications that
	 * share permits must have the same
	 * @param waitTime How long to wait for permits; 0 tries once, -1 waits without limit
	 * @param leaseTime Maximum time for which permits stay taken after their holder has
	 * died, 100ms at least; a living holder renews them
	 * @param fair Whether requests for permits are served in order of arrival; if not, a
	 * request may overtake waiting ones if enough permits are free for it
	 * @param localHandOver Limits of hand-overs of permits within one instance
	 * @param onStoreFailure Outcome of calls of annotated methods whose permits cannot be
	 * requested: throw the exception, call the method's fallback if it accepts the
	 * exception, or proceed without permits
	 */
	public record Semaphore(@DefaultValue("semaphore:") String keyPrefix, @DefaultValue("0") Duration waitTime,
			@DefaultValue("30s") Duration leaseTime, @DefaultValue("true") boolean fair,
			@DefaultValue HandOverLimits localHandOver, @DefaultValue("throw") OnStoreFailure onStoreFailure) {

		/** Outcome of a call whose permits cannot be requested. */
		public enum OnStoreFailure {

			/** The caller gets an exception. */
			THROW,

			/** The method's fallback is called, if it takes that exception. */
			FALLBACK,

			/** The method runs without permits. */
			PROCEED

		}

		/**
		 * Limits of hand-overs of permits within one instance, while other instances may
		 * wait for them.
		 *
		 * @param maxCount Maximum number of hand-overs of a permit within an instance,
		 * without Redis, before waiters of other instances get their turn, from 0 to 63;
		 * 0 for strict order
		 * @param maxTime Maximum time of hand-overs of a permit within an instance before
		 * waiters of other instances get their turn
		 */
		public record HandOverLimits(@DefaultValue("63") int maxCount, @DefaultValue("5ms") Duration maxTime) {
		}

	}

	/**
	 * Optimistic transactions.
	 *
	 * @param maxAttempts Maximum number of attempts of a transaction
	 * @param maxTime Time of a transaction after which no new attempt begins; a running
	 * attempt is not ended
	 * @param backOff Minimum pause between attempts; pauses are random and grow up to 20
	 * times this pause
	 */
	public record Optimistic(@DefaultValue("20") int maxAttempts, @DefaultValue("5s") Duration maxTime,
			@DefaultValue("5ms") Duration backOff) {
	}

	/**
	 * Settings of notifications for waiting instances.
	 *
	 * @param mode How waiting instances learn of a grant: by Pub/Sub, or by polling where
	 * Pub/Sub is not available
	 * @param channelPrefix Prefix of the Pub/Sub channels of instances
	 * @param retryInterval Pause between attempts of a waiter while a client other than
	 * Holdfast holds the lock, or while there is no Pub/Sub; 10ms at least
	 * @param handoffTimeout Maximum time for which a lock or permit that was granted to a
	 * waiter stays reserved until the waiter responds, 100ms at least; a loss margin is
	 * added
	 */
	public record WakeUp(@DefaultValue("pubsub") Mode mode, @DefaultValue("holdfast:wake:") String channelPrefix,
			@DefaultValue("200ms") Duration retryInterval, @DefaultValue("5s") Duration handoffTimeout) {

		/**
		 * Way in which a waiter is woken up.
		 */
		public enum Mode {

			/** A message on a channel of the waiting instance. */
			PUBSUB,

			/** No messages: waiters poll. */
			POLLING

		}

	}

	/**
	 * Settings of the use of Redis.
	 *
	 * @param commandTimeout Timeout of commands outside of waits: a release, an
	 * extension, an attempt without waiting, a look at the state; 50ms at least
	 * @param outagePatience How long a waiting request goes on while Redis fails or is
	 * unreachable, within its wait time; 0 to fail at once
	 * @param checks Whether Redis is checked, at the start and for the health endpoint,
	 * for dangers to locks: an eviction policy, missing replicas, missing rights
	 * @param minReplicas Number of replicas that must confirm a lock or permit before it
	 * counts as acquired; 0 for none. Not in a cluster
	 * @param replicaTimeout How long to wait for the replicas' confirmation; with
	 * min-replicas, a third of both lease times at most
	 * @param failOverGrace Whether Redis grants nothing new for the longest lease after a
	 * restart or fail-over. During this time, holders get leases back that Redis has
	 * lost. Not in a cluster
	 * @param longestLease Maximum lease time with fail-over-grace, 100ms at least; must
	 * be the same for all applications that share locks or permits
	 */
	public record Redis(@DefaultValue("1s") Duration commandTimeout, @DefaultValue("3s") Duration outagePatience,
			@DefaultValue("true") boolean checks, @DefaultValue("0") int minReplicas,
			@DefaultValue("200ms") Duration replicaTimeout, @DefaultValue("false") boolean failOverGrace,
			@DefaultValue("30s") Duration longestLease) {
	}

	/**
	 * Settings of the annotations.
	 *
	 * @param enabled Whether annotated methods run with their locks and permits
	 * @param order Order of permits and locks among the other advice of a method: a lower
	 * order is outside. By default, inside method security and aspects with an order, and
	 * outside transactions
	 */
	public record Aop(@DefaultValue("true") boolean enabled, @Nullable Integer order) {
	}

	/**
	 * Settings of the register of instances.
	 *
	 * @param key Key of the register of instances in Redis, for endpoints and for the
	 * comparison of protocol versions; further keys begin with this key and a colon
	 */
	public record Fleet(@DefaultValue("holdfast:fleet") String key) {
	}

	/**
	 * Limits of one instance, beyond which requests are refused.
	 *
	 * @param waiters Maximum number of waiting requests in one instance
	 * @param waitersPerKey Maximum number of waiting requests for one key in one instance
	 */
	public record Limits(@DefaultValue("100000") int waiters, @DefaultValue("10000") int waitersPerKey) {
	}

	/**
	 * Fences in databases.
	 *
	 * @param jdbc Fences in databases by JDBC
	 */
	public record Fence(@DefaultValue Jdbc jdbc) {

		/**
		 * Fences in databases by JDBC.
		 *
		 * @param enabled Whether the fence table is checked, and perhaps created, at the
		 * start, and cleaned up; by default if a method of a bean is fenced, or
		 * initialize-schema is always
		 * @param initializeSchema Whether the fence table is created at the start:
		 * always, only in embedded databases, or never
		 * @param platform Name of the database, in place of @@platform@@ in the location
		 * of the script; detected by default
		 * @param schema Location of the script that creates the fence table. The scripts
		 * for postgresql, mariadb and h2 are tested; those for mysql, oracle, sqlserver,
		 * db2 and hsqldb are not
		 * @param tableName Name of the fence table, with its schema if needed; with
		 * another name than the default, also set the location of your own script
		 * @param timeout How long a check waits for the transactions of other holders, 1s
		 * at least
		 * @param retention How long the token of a lock is kept after the grant, 1d at
		 * least, and not shorter than leases; a holder that is later than that is not
		 * refused
		 * @param dataSources Bean names of the fenced DataSources; by default the
		 * DataSource of the primary transaction manager
		 */
		public record Jdbc(@Nullable Boolean enabled, @DefaultValue("embedded") InitializeSchema initializeSchema,
				@Nullable String platform,
				@DefaultValue("classpath:io/holdfast/jdbc/schema-@@platform@@.sql") String schema,
				@DefaultValue("holdfast_fence") String tableName, @DefaultValue("10s") Duration timeout,
				@DefaultValue("30d") Duration retention, @DefaultValue List<String> dataSources) {

			/** Occasion for the creation of the fence table. */
			public enum InitializeSchema {

				/** At each start. */
				ALWAYS,

				/** At a start with an embedded database. */
				EMBEDDED,

				/** Never. */
				NEVER

			}

		}

	}

	/**
	 * Console for operators.
	 *
	 * @param enabled Whether there is a page for operators at Actuator's endpoint
	 * holdfast; this endpoint and the endpoints locks and semaphores must be exposed
	 */
	public record Console(@DefaultValue("false") boolean enabled) {

	}

}
