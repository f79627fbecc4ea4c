package io.holdfast.annotation;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

import org.springframework.aot.hint.annotation.Reflective;
import org.springframework.core.annotation.AliasFor;

/**
 * Runs a method with permits of a semaphore that all instances of an application share,
 * so that it runs only so many times at once in all of them together: the permits are
 * acquired before the method and come back after it, however it ends.
 *
 * <pre class="code">
 * &#064;Semaphore(name = "geocoder", limit = 10, waitTime = "2s")
 * public Place locate(String address) { ... }
 * </pre>
 *
 * <p>
 * If the permits are not acquired within the {@link #waitTime() wait time}, which is
 * <em>none</em> unless it is declared or configured, the method is not run and its caller
 * gets a {@link io.holdfast.PermitNotAcquiredException}, unless {@link #onTimeout()} or
 * {@link #fallback()} says otherwise. If the lease is lost while the method runs, a
 * warning is logged at once, and {@link #onLoss()} may do more. While it runs,
 * {@link io.holdfast.PermitLease#current()} is its lease.
 *
 * <p>
 * Permits are not re-entrant: a call from within such a method to one of the same
 * semaphore takes permits of its own, and waits for itself if there are no more.
 *
 * <h2>Which semaphore</h2>
 * <p>
 * {@link #key()} alone: its value. {@link #name()} alone: the name. Both:
 * {@code name:value}. Neither: the bean's class and the method's name, as
 * {@code com.acme.Places.locate}, also behind proxies; overloaded methods then share a
 * semaphore. So do all methods with the same key, wherever they are; they should declare
 * the same limit, since each is judged by its own. A limit that an operator
 * {@linkplain io.holdfast.SemaphoreAdmin#setLimit sets} comes before those declared.
 * Locks are apart: one of the same key has nothing to do with a semaphore.
 *
 * <h2>Where it is declared</h2>
 * <p>
 * On a method, or on a type for all its public methods (of an interface: those of each
 * class that implements it), inherited ones included, but not those of {@code Object}.
 * Each then has a semaphore of its own unless {@code name} or {@code key} says otherwise.
 * On a class, on an interface that it implements, or as a meta-annotation whose
 * attributes may be set with {@link org.springframework.core.annotation.AliasFor
 * &#064;AliasFor}. A declaration on a method comes before one on a type, and a class
 * before its interfaces.
 *
 * <p>
 * The permits are taken by the bean's proxy: a method that calls another one of <em>its
 * own object</em> passes no proxy, and takes none. Private, static and (with class-based
 * proxies) final methods never pass one; there the annotation is refused at start-up, as
 * are limits, numbers of permits, expressions and durations that make no sense.
 *
 * <p>
 * A method that returns a {@code CompletionStage}, a {@code CompletableFuture} or a
 * reactive type, such as {@code Mono} and {@code Flux}, has its permits until that is
 * completed or fails, or a subscription is cancelled. A caller that cancels a future ends
 * its wait, but not the method's own future. No thread is blocked by the wait; the method
 * is then called on a thread of Holdfast's that may block, for a reactive type by each
 * subscription anew. It is refused on methods that return another {@code Future}, or a
 * type that cannot be made from these.
 *
 * <p>
 * With {@link DistributedLock @DistributedLock} on the same method, the permits are
 * awaited first and the lock then, each for its own wait time; they are released in the
 * reverse order. So no call holds the lock while it waits for permits. Both are outside
 * of transactions, caches and aspects of the method: released after the commit. In a
 * transaction of the caller, permits come back when the method has ended. They are inside
 * of {@code @Async} (taken on the asynchronous thread), {@code @Retryable} (by each
 * attempt), {@code @ConcurrencyLimit}, which limits a method in one instance only, and
 * the annotations of Resilience4j and Spring Retry.
 *
 * <p>
 * All texts may hold <code>${&hellip;}</code> placeholders.
 *
 * @see io.holdfast.SemaphoreService
 * @since 0.1.0
 */
@Target({ ElementType.METHOD, ElementType.TYPE })
@Retention(RetentionPolicy.RUNTIME)
@Documented
@Reflective
public @interface Semaphore {

	/**
	 * The number of permits that there are in all, unless an operator has set another
	 * limit: from 1 to 1,000,000,000. Either this or {@link #limitString()} must be
	 * given.
	 * @return the limit, or -1 if it is given as text
	 */
	int limit() default -1;

	/**
	 * The {@link #limit()} as text, such as <code>${geocoder.limit:10}</code>.
	 * Expressions (<code>#{&hellip;}</code>) are not evaluated.
	 * @return the limit, or empty if it is given as number
	 */
	String limitString() default "";

	/**
	 * The number of permits that a call needs, all at once: from 1 to the declared limit.
	 * @return the number of permits
	 */
	int permits() default 1;

	/**
	 * The {@link #key()}.
	 * @return the expression, or empty for the semaphore of the {@link #name()}
	 */
	@AliasFor("key")
	String value() default "";

	/**
	 * The key of the semaphore, as an expression of the Spring Expression Language, to
	 * have one for each value: {@code #tenant}, {@code 'mail:' + #account.server}. It may
	 * use and yield the same as {@link DistributedLock#key()}, but not several values.
	 * @return the expression, or empty for the semaphore of the {@link #name()}
	 */
	@AliasFor("value")
	String key() default "";

	/**
	 * The key of the semaphore, as plain text without parameters; in front of the value
	 * of {@link #key()} if there is one.
	 * @return the name, or empty for none
	 */
	String name() default "";

	/**
	 * The time to wait for the permits: {@code 10s}, {@code 500ms}, {@code 1m30s},
	 * {@code PT10S}; {@code 0} tries once, {@code -1} waits without limit.
	 * @return the longest wait, or empty for the default of the semaphore service,
	 * {@code holdfast.semaphore.wait-time}, which tries once unless it is set
	 */
	String waitTime() default "";

	/**
	 * The time that the lease lasts when it is not renewed, after which the permits come
	 * back if their holder dies: from {@code 100ms} to {@code 365d}, written like
	 * {@link #waitTime()}.
	 * @return the lease time, or empty for the default of the semaphore service
	 */
	String leaseTime() default "";

	/**
	 * Set whether the lease is renewed while the method runs. Without renewal, the
	 * permits come back after the {@link #leaseTime()} even if the method still runs.
	 * @return whether to renew
	 */
	boolean autoRenew() default true;

	/**
	 * Set whether calls are served in their order. {@link Fairness#FAIR}: permits are
	 * granted only when no other call waits before, where instances may take turns.
	 * {@link Fairness#UNFAIR}: the call passes all that wait if enough permits are free
	 * for it. Calls that need many permits can starve while others pass them.
	 * @return the order
	 */
	Fairness fairness() default Fairness.DEFAULT;

	/**
	 * The longest time that a renewed lease may be held in all: after that its renewal
	 * stops, and the lease ends with the rest of its lease time; a longer default lease
	 * time is shortened to it. A guard against methods that hang. Written like
	 * {@link #waitTime()}, at least {@code 100ms}; not with {@code autoRenew = false},
	 * where there is nothing to stop.
	 * @return the longest time, or empty for no limit
	 */
	String maxHold() default "";

	/**
	 * The shortest time that the permits are kept back, even if the method ends sooner,
	 * up to {@code 365d}. That bounds how often the method runs, not only how many calls
	 * run at once. No caller waits for that time to pass: the method returns when it is
	 * done, and the release takes effect later. It counts for runs that fail, too. A
	 * retry by advice of the method that finds no permit for this reason fails as the
	 * first run did, also with {@code SKIP} or a {@link #fallback()}. It cannot be longer
	 * than {@link #maxHold()}, nor than a lease that is not renewed. Written like
	 * {@link #waitTime()}.
	 * @return the shortest time, or empty for none
	 */
	String minHold() default "";

	/**
	 * The outcome of a call when the permits are not to be had within the
	 * {@link #waitTime() wait time}, or because the application is shutting down, or
	 * because an operator has set a limit below the permits of the call. Trouble with the
	 * store is a matter of {@link #onStoreFailure()}. Exceptions of the method itself are
	 * the caller's, also those of a lock inside of it.
	 * @return the outcome; not {@link OnTimeout#SKIP SKIP} for methods whose result is
	 * never null and has no empty value: primitive, or not nullable in Kotlin or by
	 * JSpecify
	 */
	OnTimeout onTimeout() default OnTimeout.THROW;

	/**
	 * The name of a method of the same class that is called instead of this one in the
	 * cases of {@link #onTimeout()}, and of {@link #onStoreFailure()} if that says so. It
	 * has the same parameters, or one more at the end for the
	 * {@link io.holdfast.PermitNotAcquiredException} or a supertype of it, and a return
	 * type that fits. It may be private, static or inherited; it is called on the object
	 * itself, past the bean's proxy. Its exceptions are the caller's.
	 * @return the method's name, or empty for none
	 */
	String fallback() default "";

	/**
	 * The outcome of a call when the permits cannot be asked for, because the store fails
	 * or does not answer within {@code holdfast.redis.outage-patience} and the
	 * {@link #waitTime() wait time}. A guard of a downstream service may be
	 * {@linkplain OnStoreFailure#PROCEED open} then.
	 * @return the outcome
	 */
	OnStoreFailure onStoreFailure() default OnStoreFailure.DEFAULT;

	/**
	 * The outcome of a call when the lease is lost while the method runs.
	 * @return the outcome
	 */
	OnLoss onLoss() default OnLoss.NOTIFY;

	/**
	 * The condition under which the permits are needed, as an expression of the Spring
	 * Expression Language that yields true or false: {@code #count > 0}. Calls for which
	 * it is false run without. It may use the same variables as
	 * {@link DistributedLock#key()}.
	 * @return the condition, or empty for always
	 */
	String condition() default "";

	/**
	 * The name of the bean that grants the permits: a
	 * {@link io.holdfast.SemaphoreService}, where an application has more than one
	 * because it uses more than one Redis. It is looked up at the first call.
	 * @return the bean's name, or empty for the only or primary one
	 */
	String service() default "";

}
