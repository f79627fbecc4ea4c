package io.holdfast.annotation;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

import io.holdfast.LockMode;

import org.springframework.aot.hint.annotation.Reflective;
import org.springframework.core.annotation.AliasFor;

/**
 * Runs a method under a lock that all instances of an application share. The lock is
 * acquired before the method and released after the method, also if the method fails. The
 * {@link #mode() mode} is exclusive or for reading.
 *
 * <pre class="code">
 * &#064;DistributedLock(key = "'stock:' + #sku")
 * public void sell(String sku, int count) { ... }
 * </pre>
 *
 * <p>
 * If the lock is not acquired within the {@link #waitTime() wait time}, the method does
 * not run. Its caller then gets a {@link io.holdfast.LockNotAcquiredException}, unless
 * {@link #onTimeout()} or {@link #fallback()} is set. If the lease is lost while the
 * method runs, a warning is logged, and {@link #onLoss()} applies. While the method runs,
 * {@link io.holdfast.LockLease#current()} returns its lease. The lock is re-entrant: a
 * nested call for the same key on the same thread runs at once.
 *
 * <h2>The key</h2>
 * <p>
 * The key is the value of {@link #key()} if only {@code key} is set, the {@link #name()}
 * if only {@code name} is set, and {@code name:value} if both are set. If neither is set,
 * the key is the bean's class and the method's name, such as {@code com.acme.Shop.sell},
 * also behind proxies, or the interface of a bean without a class of its own, such as a
 * repository; overloaded methods then share a key. Methods with the same key exclude one
 * another, also in different classes and applications; readers do not exclude other
 * readers.
 *
 * <h2>Where it is declared</h2>
 * <p>
 * The annotation stands on a method, or on a type for all public methods of the type,
 * including inherited methods, but not those of {@code Object}. On an interface, it
 * applies to all public methods of each implementing class. Each method of an annotated
 * type has a key of its own unless {@code name} or {@code key} is set. The type may be a
 * class or an interface that the class implements. The annotation may be a
 * meta-annotation whose attributes are set with
 * {@link org.springframework.core.annotation.AliasFor @AliasFor}. A method's annotation,
 * also in an interface, overrides those of types. Otherwise, a class's annotation
 * overrides those of its interfaces.
 *
 * <p>
 * The bean's proxy acquires the lock: a method that calls another method of <em>its own
 * object</em> bypasses the proxy, and acquires no lock. Calls of private, static and
 * (with class-based proxies) final methods always bypass the proxy: the annotation is
 * refused on such methods at startup, as are expressions and durations that cannot be
 * parsed.
 *
 * <p>
 * If the method returns a {@code CompletionStage}, a {@code CompletableFuture} or a
 * reactive type, such as {@code Mono} and {@code Flux}, the lock is held until this
 * result is completed or fails, or its subscription is cancelled. The wait blocks no
 * thread. The method is then called on a Holdfast thread and may block. For a reactive
 * type, each subscription acquires the lock and calls the method again. A caller that
 * cancels its future ends the wait for the lock, but does not cancel the method's own
 * future. The annotation is refused on methods that return another {@code Future}, or a
 * type that cannot be created from the supported types.
 *
 * <p>
 * The lock is outside the method's transaction, cache and aspects without an order, and
 * is therefore released after the commit. {@link #releaseAfter()} sets whether
 * transactions of the caller keep the lock. The lock is inside method security, aspects
 * with an order, {@link Semaphore @Semaphore}, {@code @Async} (acquired on the
 * asynchronous thread), {@code @Retryable} (acquired by each attempt),
 * {@code @ConcurrencyLimit}, and the annotations of Resilience4j and Spring Retry.
 *
 * <p>
 * All attributes of type {@code String} may contain <code>${&hellip;}</code>
 * placeholders.
 *
 * @see io.holdfast.LockService
 * @since 0.1.0
 */
@Target({ ElementType.METHOD, ElementType.TYPE })
@Retention(RetentionPolicy.RUNTIME)
@Documented
@Reflective
public @interface DistributedLock {

	/**
	 * Alias of {@link #key()}, for annotations with no other attribute:
	 * {@code @DistributedLock("#sku")}.
	 * @return the expression, or empty to lock the {@link #name()}
	 */
	@AliasFor("key")
	String value() default "";

	/**
	 * The key to lock, as an expression of the Spring Expression Language.
	 * <p>
	 * It may use the parameters, by name ({@code #sku}; compile with {@code -parameters})
	 * or by position ({@code #p0} or {@code #a0}); beans ({@code @tenants.current()});
	 * and {@code #root.method}, {@code #root.target}, {@code #root.targetClass},
	 * {@code #root.args} and {@code #root.methodName}. Text is quoted:
	 * {@code 'stock:' + #sku}.
	 * <p>
	 * The value must be text, or have a text form, as a number, an enum constant or a
	 * UUID has. If the value is null or blank, or an operand of a {@code +} is null, the
	 * call fails with an {@link IllegalArgumentException}, and the method does not run.
	 * <p>
	 * A collection or an array locks several keys together as one lease, all or none:
	 * {@code #orders.![id]}, {@code {#from, #to}}. The name is put in front of each
	 * value, and duplicates are ignored. All calls acquire their keys in sorted order, so
	 * that they cause no deadlock among each other. From 1 to 1,000 keys are allowed.
	 * @return the expression, or empty to lock the {@link #name()}
	 */
	@AliasFor("value")
	String key() default "";

	/**
	 * The key to lock, as plain text without parameters. If {@link #key()} is set, the
	 * name is put in front of its value.
	 * @return the name, or empty for none
	 */
	String name() default "";

	/**
	 * The mode: exclusive or for reading.
	 * <p>
	 * Requests of both modes wait in one queue, so that neither mode starves. For a short
	 * time, an exclusive lock may be handed over within one instance before waiters of
	 * other instances get it. A method with an exclusive lock may call a method that
	 * locks the same key for reading. The reverse call would wait for itself, and is
	 * refused at once with a {@link io.holdfast.LockNotAcquiredException}.
	 * @return the mode
	 */
	LockMode mode() default LockMode.EXCLUSIVE;

	/**
	 * The time to wait for the lock: {@code 10s}, {@code 500ms}, {@code 1m30s},
	 * {@code PT10S}; {@code 0} tries once, {@code -1} waits without limit.
	 * @return the maximum wait, or empty for the default of the lock service
	 */
	String waitTime() default "";

	/**
	 * The duration of the lease without renewal, from {@code 100ms} to {@code 365d},
	 * written like {@link #waitTime()}. If the holder dies, waiters wait for this time at
	 * most.
	 * @return the lease time, or empty for the default of the lock service
	 */
	String leaseTime() default "";

	/**
	 * Set whether the lease is renewed while the method runs. Without renewal, the lease
	 * ends after its {@link #leaseTime()}, even if the method still runs.
	 * @return whether to renew
	 */
	boolean autoRenew() default true;

	/**
	 * The maximum time of a renewed lease, as a guard against methods that hang. After
	 * this time the lease is not renewed any more, and ends with the rest of its lease
	 * time. A longer default lease time is shortened to {@code maxHold}. Written like
	 * {@link #waitTime()}, at least {@code 100ms}. Not allowed with
	 * {@code autoRenew = false}.
	 * @return the maximum time, or empty for the default of the lock service,
	 * {@code holdfast.lock.max-hold}
	 */
	String maxHold() default "";

	/**
	 * The minimum time for which other owners are kept out, even if the method ends
	 * sooner, up to {@code 365d}. For jobs so short that another instance with a late
	 * clock would run them again. No caller waits for this time: the method returns when
	 * it is done, and the release takes effect when the time is over. The time does not
	 * apply to a run that fails or is cancelled, nor after a rollback of the transaction
	 * that keeps the lock, so that a retry can run at once. It must not exceed
	 * {@link #maxHold()}, nor the lease time of a lease without renewal. Written like
	 * {@link #waitTime()}.
	 * @return the minimum time, or empty for none
	 */
	String minHold() default "";

	/**
	 * The time between the loss of the lease for its holder and the earliest grant to
	 * another owner. For work that no fencing token guards: code that checks the lease,
	 * or is stopped by {@link #onLoss()}, has this time to stop. The margin helps if
	 * Redis is slow or unreachable. It does not help if the holder pauses for longer than
	 * the margin, if the lock is released by force, or if Redis loses it. At most a third
	 * of the {@link #leaseTime()}; written like {@link #waitTime()}.
	 * @return the margin, or empty for the default of the lock service,
	 * {@code holdfast.lock.loss-margin}
	 */
	String lossMargin() default "";

	/**
	 * The outcome of a call whose lock is not acquired within the {@link #waitTime() wait
	 * time}, because too many requests wait, or because the application is shutting down.
	 * For failures of the store, see {@link #onStoreFailure()}. Exceptions of the method
	 * itself are passed to the caller, including those of other locks that the method
	 * requests.
	 * @return the outcome. {@link OnTimeout#SKIP SKIP} is not allowed for methods without
	 * an empty result: the return type is primitive, or not nullable in Kotlin or by
	 * JSpecify
	 */
	OnTimeout onTimeout() default OnTimeout.THROW;

	/**
	 * The name of a method of the same class that is called instead of this method in the
	 * cases of {@link #onTimeout()}, and in those of {@link #onStoreFailure()} if it is
	 * {@link OnStoreFailure#FALLBACK FALLBACK}. The fallback has the same parameters, or
	 * one more at the end of type {@link io.holdfast.LockNotAcquiredException} or a
	 * supertype, and a compatible return type. It may be private, static or inherited. It
	 * is called on the object itself, not on the bean's proxy. Its exceptions are passed
	 * to the caller.
	 * @return the method's name, or empty for none
	 */
	String fallback() default "";

	/**
	 * The outcome of a call whose lock cannot be requested, because the store fails or
	 * does not answer within {@code holdfast.redis.outage-patience} and the
	 * {@link #waitTime() wait time}.
	 * @return the outcome. {@link OnStoreFailure#PROCEED PROCEED} is not allowed, as a
	 * method never runs without its lock
	 */
	OnStoreFailure onStoreFailure() default OnStoreFailure.DEFAULT;

	/**
	 * The outcome of a call whose lease is lost while the method runs.
	 * @return the outcome
	 */
	OnLoss onLoss() default OnLoss.NOTIFY;

	/**
	 * Have databases refuse the transactions of a late holder: one that goes on after its
	 * lease was lost and another owner had the lock. Each new JDBC or JPA transaction
	 * that may write, of the method or of methods that it calls, begins with a check of
	 * the lease's fencing token. A late holder's transaction does not begin, and the call
	 * ends with a {@link io.holdfast.LeaseLostException}, even if the method catches the
	 * exception.
	 * <p>
	 * The check covers rows that are read and written under the lock. It does not cover
	 * mails, files, other services, or rows that were read before the lock. Read-only
	 * transactions are not checked, because databases, except H2, refuse their writes.
	 * <p>
	 * A transaction with an isolation level above READ COMMITTED may read data from
	 * before the grant. A call within such a transaction ends with an
	 * {@link IllegalStateException} if the transaction is read-only, or if the database
	 * is MariaDB or MySQL.
	 * <p>
	 * Needs spring-jdbc, a {@code DataSource}, its transaction manager, and a table. Not
	 * for the mode {@link LockMode#READ READ}. Not for suspending functions and methods
	 * that return a future or a reactive type, because their code may leave the thread.
	 * @return whether databases refuse late holders
	 * @see io.holdfast.jdbc.Fences
	 */
	boolean fenced() default false;

	/**
	 * The condition under which the lock is needed, as a boolean expression of the Spring
	 * Expression Language: {@code #count > 0}. A call for which the condition is false
	 * runs without the lock. The expression may use the same variables as {@link #key()}.
	 * @return the condition, or empty for always
	 */
	String condition() default "";

	/**
	 * The name of the {@link io.holdfast.LockService} bean that grants the lock, for
	 * applications with several because they use several Redis servers. A missing bean
	 * stops the application at start-up.
	 * @return the bean's name, or empty for the only or primary bean
	 */
	String service() default "";

	/**
	 * The moment of the release. By default, a transaction that was active when the lock
	 * was acquired {@linkplain ReleaseAfter#TRANSACTION keeps} the lock until it is
	 * completed.
	 * @return the moment of the release
	 */
	ReleaseAfter releaseAfter() default ReleaseAfter.TRANSACTION;

}
