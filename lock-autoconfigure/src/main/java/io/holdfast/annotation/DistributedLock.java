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
 * Runs a method under a lock that all instances of an application share: the lock is
 * acquired before the method and released after it, however it ends. By its
 * {@link #mode() mode} it is exclusive, or one of many readers.
 *
 * <pre class="code">
 * &#064;DistributedLock(key = "'stock:' + #sku")
 * public void sell(String sku, int count) { ... }
 * </pre>
 *
 * <p>
 * If the lock is not acquired within the {@link #waitTime() wait time}, the method is not
 * run and its caller gets a {@link io.holdfast.LockNotAcquiredException}, unless
 * {@link #onTimeout()} or {@link #fallback()} says otherwise. If the lease is lost while
 * the method runs, a warning is logged at once, and {@link #onLoss()} may do more. While
 * it runs, {@link io.holdfast.LockLease#current()} is its lease. A call from within a
 * locked method for the same key, on the same thread, is let through at once.
 *
 * <h2>The key</h2>
 * <p>
 * {@link #key()} alone: its value. {@link #name()} alone: the name. Both:
 * {@code name:value}. Neither: the bean's class and the method's name, as
 * {@code com.acme.Shop.sell}, also behind proxies; overloaded methods then share a key.
 * Methods with the same key exclude one another, wherever they are; readers do not
 * exclude other readers.
 *
 * <h2>Where it is declared</h2>
 * <p>
 * On a method, or on a type for all its public methods (of an interface: those of each
 * class that implements it), inherited ones included, but not those of {@code Object}.
 * Each then has a key of its own unless {@code name} or {@code key} says otherwise. On a
 * class, on an interface that it implements, or as a meta-annotation whose attributes may
 * be set with {@link org.springframework.core.annotation.AliasFor @AliasFor}. A
 * declaration on a method comes before one on a type, and a class before its interfaces.
 *
 * <p>
 * The lock is taken by the bean's proxy: a method that calls another one of <em>its own
 * object</em> passes no proxy, and takes no lock. Private, static and (with class-based
 * proxies) final methods never pass one; there the annotation is refused at start-up, as
 * are expressions and durations that cannot be parsed.
 *
 * <p>
 * A method that returns a {@code CompletionStage}, a {@code CompletableFuture} or a
 * reactive type, such as {@code Mono} and {@code Flux}, has its lock until that is
 * completed or fails, or a subscription is cancelled. A caller that cancels a future ends
 * its wait, but not the method's own future. No thread is blocked by the wait; the method
 * is then called on a thread of Holdfast's that may block, for a reactive type by each
 * subscription anew. It is refused on methods that return another {@code Future}, or a
 * type that cannot be made from these.
 *
 * <p>
 * The lock is outside of transactions, caches and aspects of its method: released after
 * the commit. {@link #releaseAfter()} says which transactions of the caller keep it. It
 * is inside of {@link Semaphore @Semaphore}, {@code @Async} (taken on the asynchronous
 * thread), {@code @Retryable} (by each attempt), {@code @ConcurrencyLimit}, and the
 * annotations of Resilience4j and Spring Retry.
 *
 * <p>
 * All texts may hold <code>${&hellip;}</code> placeholders.
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
	 * The {@link #key()}, for annotations that say nothing else:
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
	 * Its value must be text or something with a text form of its own, such as a number,
	 * an enum constant or a UUID. Calls for which it is null or blank, or is made with
	 * {@code +} from anything that is null, fail with an {@link IllegalArgumentException}
	 * and do not run the method.
	 * <p>
	 * A collection or an array of such values locks all of them together, each once, with
	 * the name in front of each: {@code #orders.![id]}, {@code {#from, #to}}. They are
	 * acquired in one order, all or none, as one lease; there must be 1 to 1,000 of them.
	 * @return the expression, or empty to lock the {@link #name()}
	 */
	@AliasFor("value")
	String key() default "";

	/**
	 * The key to lock, as plain text without parameters; in front of the value of
	 * {@link #key()} if there is one.
	 * @return the name, or empty for none
	 */
	String name() default "";

	/**
	 * The mode: to lock alone, or together with other readers.
	 * <p>
	 * Both are served in one order, but exclusive holders of one instance may follow each
	 * other for a moment; neither can starve. A method that locks exclusively may call
	 * one that reads the same key. One that reads and calls one that locks exclusively
	 * would wait for itself, which is refused at once with a
	 * {@link io.holdfast.LockNotAcquiredException}.
	 * @return the mode
	 */
	LockMode mode() default LockMode.EXCLUSIVE;

	/**
	 * The time to wait for the lock: {@code 10s}, {@code 500ms}, {@code 1m30s},
	 * {@code PT10S}; {@code 0} tries once, {@code -1} waits without limit.
	 * @return the longest wait, or empty for the default of the lock service
	 */
	String waitTime() default "";

	/**
	 * The time that the lease lasts when it is not renewed, so that others wait at most
	 * if its holder dies: from {@code 100ms} to {@code 365d}, written like
	 * {@link #waitTime()}.
	 * @return the lease time, or empty for the default of the lock service
	 */
	String leaseTime() default "";

	/**
	 * Set whether the lease is renewed while the method runs. Without renewal, the lock
	 * ends with its {@link #leaseTime()} even if the method still runs.
	 * @return whether to renew
	 */
	boolean autoRenew() default true;

	/**
	 * The longest time that a renewed lease may be held in all: after that its renewal
	 * stops, and the lease ends with the rest of its lease time; a longer default lease
	 * time is shortened to it. A guard against methods that hang. Written like
	 * {@link #waitTime()}, at least {@code 100ms}; not with {@code autoRenew = false},
	 * where there is nothing to stop.
	 * @return the longest time, or empty for the default of the lock service,
	 * {@code holdfast.lock.max-hold}
	 */
	String maxHold() default "";

	/**
	 * The shortest time that others are kept out, even if the method ends sooner, up to
	 * {@code 365d}. For jobs that may end so quickly that another instance, whose clock
	 * is late, would run them once more. No caller waits for that time to pass: the
	 * method returns when it is done, and the release takes effect later. It does not
	 * count for a run that throws, fails or is cancelled, nor if the transaction that
	 * keeps the lock is rolled back: a retry may run at once. It cannot be longer than
	 * {@link #maxHold()}, nor than a lease that is not renewed. Written like
	 * {@link #waitTime()}.
	 * @return the shortest time, or empty for none
	 */
	String minHold() default "";

	/**
	 * The time before others may have the lock at which its holder counts as lost: for
	 * work that no fencing token guards, so that code that looks at the lease, or is
	 * stopped by {@link #onLoss()}, has that long to stop. It helps if Redis is slow or
	 * not reached, not against a pause that is longer, nor if the lock is released by
	 * force or Redis loses it. At most a third of the {@link #leaseTime()}; written like
	 * {@link #waitTime()}.
	 * @return the margin, or empty for the default of the lock service,
	 * {@code holdfast.lock.loss-margin}
	 */
	String lossMargin() default "";

	/**
	 * The outcome of a call when the lock is not to be had within the {@link #waitTime()
	 * wait time}, or because the application is shutting down. Trouble with the store is
	 * a matter of {@link #onStoreFailure()}. Exceptions of the method itself are the
	 * caller's, also those of a lock inside of it.
	 * @return the outcome; not {@link OnTimeout#SKIP SKIP} for methods whose result is
	 * never null and has no empty value: primitive, or not nullable in Kotlin or by
	 * JSpecify
	 */
	OnTimeout onTimeout() default OnTimeout.THROW;

	/**
	 * The name of a method of the same class that is called instead of this one in the
	 * cases of {@link #onTimeout()}, and of {@link #onStoreFailure()} if that says so. It
	 * has the same parameters, or one more at the end for the
	 * {@link io.holdfast.LockNotAcquiredException} or a supertype of it, and a return
	 * type that fits. It may be private, static or inherited; it is called on the object
	 * itself, past the bean's proxy. Its exceptions are the caller's.
	 * @return the method's name, or empty for none
	 */
	String fallback() default "";

	/**
	 * The outcome of a call when the lock cannot be asked for, because the store fails or
	 * does not answer within {@code holdfast.redis.outage-patience} and the
	 * {@link #waitTime() wait time}.
	 * @return the outcome; not {@link OnStoreFailure#PROCEED PROCEED}, as a method never
	 * runs without its lock
	 */
	OnStoreFailure onStoreFailure() default OnStoreFailure.DEFAULT;

	/**
	 * The outcome of a call when the lease is lost while the method runs.
	 * @return the outcome
	 */
	OnLoss onLoss() default OnLoss.NOTIFY;

	/**
	 * Have databases refuse the transactions of a late holder, which goes on although
	 * others have had the lock since: each new JDBC or JPA transaction of the method that
	 * may write, its own and those of methods that it calls, begins with a check of its
	 * fencing token. A late holder's transaction does not begin, and the call ends with a
	 * {@link io.holdfast.LeaseLostException}, also if the method has caught that.
	 * <p>
	 * It covers the rows that are read and written under the lock; not mails, files or
	 * other services, and not earlier reads. Read-only transactions are not checked:
	 * databases refuse their writes, except H2. A call within a transaction above READ
	 * COMMITTED ends with an {@link IllegalStateException} if that is read-only or the
	 * database is MariaDB or MySQL, as it may read data of the time before the lock.
	 * Needs spring-jdbc, a {@code DataSource}, its transaction manager, and a table. Not
	 * for the mode {@link LockMode#READ READ}, and not for methods whose result is a
	 * future, a reactive type or a suspending function's, as their code leaves the
	 * thread.
	 * @return whether to have late holders refused
	 * @see io.holdfast.jdbc.Fences
	 */
	boolean fenced() default false;

	/**
	 * The condition under which the lock is needed, as an expression of the Spring
	 * Expression Language that yields true or false: {@code #count > 0}. Calls for which
	 * it is false run without. It may use the same variables as {@link #key()}.
	 * @return the condition, or empty for always
	 */
	String condition() default "";

	/**
	 * The name of the bean that grants the lock: a {@link io.holdfast.LockService}, where
	 * an application has more than one because it uses more than one Redis. It is looked
	 * up at the first call.
	 * @return the bean's name, or empty for the only or primary one
	 */
	String service() default "";

	/**
	 * The moment of the release: by default not before the transaction is completed that
	 * was active when the lock was taken, if there was one
	 * {@linkplain ReleaseAfter#TRANSACTION that keeps it}.
	 * @return when
	 */
	ReleaseAfter releaseAfter() default ReleaseAfter.TRANSACTION;

}
