package io.holdfast.annotation;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

import org.springframework.aot.hint.annotation.Reflective;
import org.springframework.core.annotation.AliasFor;

/**
 * Runs a method with permits of a semaphore that all instances of an application share.
 * The semaphore limits the number of calls that run at once in all instances together.
 * The permits are acquired before the method and released after the method, also if the
 * method fails.
 *
 * <pre class="code">
 * &#064;Semaphore(name = "geocoder", limit = 10, waitTime = "2s")
 * public Place locate(String address) { ... }
 * </pre>
 *
 * <p>
 * If the permits are not acquired within the {@link #waitTime() wait time}, the method
 * does not run. Its caller then gets a {@link io.holdfast.PermitNotAcquiredException},
 * unless {@link #onTimeout()} or {@link #fallback()} is set. By default, calls do
 * <em>not</em> wait. If the lease is lost while the method runs, a warning is logged, and
 * {@link #onLoss()} applies. While the method runs,
 * {@link io.holdfast.PermitLease#current()} returns its lease.
 *
 * <p>
 * Permits are not re-entrant: a nested call with the same semaphore acquires further
 * permits. If no permits are left, the nested call waits for its own caller, until its
 * wait time is over.
 *
 * <h2>Which semaphore</h2>
 * <p>
 * The key of the semaphore is the value of {@link #key()} if only {@code key} is set, the
 * {@link #name()} if only {@code name} is set, and {@code name:value} if both are set. If
 * neither is set, the key is the bean's class and the method's name, such as
 * {@code com.acme.Places.locate}, also behind proxies, or the interface of a bean without
 * a class of its own, such as a repository; overloaded methods then share a semaphore.
 * All methods with the same key share a semaphore, also in different classes and
 * applications. They should declare the same limit, because each call is granted or
 * refused by its own limit. A limit that an operator
 * {@linkplain io.holdfast.SemaphoreAdmin#setLimit sets} replaces the declared limits. A
 * lock and a semaphore with the same key are independent of each other.
 *
 * <h2>Where it is declared</h2>
 * <p>
 * The annotation stands on a method, or on a type for all public methods of the type,
 * including inherited methods, but not those of {@code Object}. On an interface, it
 * applies to all public methods of each implementing class. Each method of an annotated
 * type has a semaphore of its own unless {@code name} or {@code key} is set. The type may
 * be a class or an interface that the class implements. The annotation may be a
 * meta-annotation whose attributes are set with
 * {@link org.springframework.core.annotation.AliasFor &#064;AliasFor}. A method's
 * annotation, also in an interface, overrides those of types. Otherwise, a class's
 * annotation overrides those of its interfaces.
 *
 * <p>
 * The bean's proxy acquires the permits: a method that calls another method of <em>its
 * own object</em> bypasses the proxy, and acquires no permits. Calls of private, static
 * and (with class-based proxies) final methods always bypass the proxy: the annotation is
 * refused on such methods at startup, as are invalid limits, numbers of permits,
 * expressions and durations.
 *
 * <p>
 * If the method returns a {@code CompletionStage}, a {@code CompletableFuture} or a
 * reactive type, such as {@code Mono} and {@code Flux}, the permits are held until this
 * result is completed or fails, or its subscription is cancelled. The wait blocks no
 * thread. The method is then called on a Holdfast thread and may block. For a reactive
 * type, each subscription acquires permits and calls the method again. A caller that
 * cancels its future ends the wait for permits, but does not cancel the method's own
 * future. The annotation is refused on methods that return another {@code Future}, or a
 * type that cannot be created from the supported types.
 *
 * <p>
 * With {@link DistributedLock @DistributedLock} on the same method, the permits are
 * acquired before the lock, each within its own wait time, and released after the lock.
 * No call therefore holds the lock while it waits for permits. Permits and lock are
 * outside the method's transaction, cache and aspects without an order, and are therefore
 * released after the commit. A transaction of the caller does not keep permits: they are
 * released when the method has ended. Permits are inside method security, aspects with an
 * order, {@code @Async} (acquired on the asynchronous thread), {@code @Retryable}
 * (acquired by each attempt), {@code @ConcurrencyLimit}, which limits a method in one
 * instance only, and the annotations of Resilience4j and Spring Retry.
 *
 * <p>
 * All attributes of type {@code String} may contain <code>${&hellip;}</code>
 * placeholders.
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
	 * The limit of the semaphore, from 1 to 1,000,000,000, unless an operator has set
	 * another limit. Either {@code limit} or {@link #limitString()} must be set.
	 * @return the limit, or -1 if {@link #limitString()} is set
	 */
	int limit() default -1;

	/**
	 * The {@link #limit()} as text, such as <code>${geocoder.limit:10}</code>.
	 * Expressions (<code>#{&hellip;}</code>) are not evaluated.
	 * @return the limit, or empty if {@link #limit()} is set
	 */
	String limitString() default "";

	/**
	 * The number of permits that a call needs, from 1 to the declared limit. All permits
	 * or none are acquired.
	 * @return the number of permits
	 */
	int permits() default 1;

	/**
	 * Alias of {@link #key()}.
	 * @return the expression, or empty for the semaphore of the {@link #name()}
	 */
	@AliasFor("key")
	String value() default "";

	/**
	 * The key of the semaphore, as an expression of the Spring Expression Language. Each
	 * value has its own semaphore: {@code #tenant}, {@code 'mail:' + #account.server}.
	 * The same variables and values are allowed as for {@link DistributedLock#key()},
	 * except collections and arrays.
	 * @return the expression, or empty for the semaphore of the {@link #name()}
	 */
	@AliasFor("value")
	String key() default "";

	/**
	 * The key of the semaphore, as plain text without parameters. If {@link #key()} is
	 * set, the name is put in front of its value.
	 * @return the name, or empty for none
	 */
	String name() default "";

	/**
	 * The time to wait for the permits: {@code 10s}, {@code 500ms}, {@code 1m30s},
	 * {@code PT10S}; {@code 0} tries once, {@code -1} waits without limit.
	 * @return the maximum wait, or empty for the default of the semaphore service,
	 * {@code holdfast.semaphore.wait-time}, which is 0 unless it is set
	 */
	String waitTime() default "";

	/**
	 * The duration of the lease without renewal, from {@code 100ms} to {@code 365d},
	 * written like {@link #waitTime()}. If the holder dies, the permits come back after
	 * this time.
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
	 * The order in which calls are served. With {@link Fairness#FAIR}, a call gets
	 * permits only when no earlier call waits; between instances, the order is
	 * approximate, because instances take turns. With {@link Fairness#UNFAIR}, a call
	 * overtakes all waiting calls if enough permits are free for the call; a waiting call
	 * that needs many permits can then starve.
	 * @return the order
	 */
	Fairness fairness() default Fairness.DEFAULT;

	/**
	 * The maximum time of a renewed lease, as a guard against methods that hang. After
	 * this time the lease is not renewed any more, and ends with the rest of its lease
	 * time. A longer default lease time is shortened to {@code maxHold}. Written like
	 * {@link #waitTime()}, at least {@code 100ms}. Not allowed with
	 * {@code autoRenew = false}.
	 * @return the maximum time, or empty for no limit
	 */
	String maxHold() default "";

	/**
	 * The minimum time for which the permits are taken, even if the method ends sooner,
	 * up to {@code 365d}. It makes the semaphore a rate limit as well as a limit on
	 * concurrency. No caller waits for this time: the method returns when it is done, and
	 * the release takes effect when the time is over. The time applies to runs that fail,
	 * too. If a retry, by an annotation on the same method, finds no permit because of
	 * this time, it fails with the exception of the first run, even with {@code SKIP} or
	 * a {@link #fallback()}. The time must not exceed {@link #maxHold()}, nor the lease
	 * time of a lease without renewal. Written like {@link #waitTime()}.
	 * @return the minimum time, or empty for none
	 */
	String minHold() default "";

	/**
	 * The outcome of a call whose permits are not acquired within the {@link #waitTime()
	 * wait time}, because too many requests wait, because the application is shutting
	 * down, or because an operator's limit is below the permits of the call. For failures
	 * of the store, see {@link #onStoreFailure()}. Exceptions of the method itself are
	 * passed to the caller, including those of other locks and permits that the method
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
	 * one more at the end of type {@link io.holdfast.PermitNotAcquiredException} or a
	 * supertype, and a compatible return type. It may be private, static or inherited. It
	 * is called on the object itself, not on the bean's proxy. Its exceptions are passed
	 * to the caller.
	 * @return the method's name, or empty for none
	 */
	String fallback() default "";

	/**
	 * The outcome of a call whose permits cannot be requested, because the store fails or
	 * does not answer within {@code holdfast.redis.outage-patience} and the
	 * {@link #waitTime() wait time}. A semaphore that only protects another service may
	 * let calls {@linkplain OnStoreFailure#PROCEED proceed}.
	 * @return the outcome
	 */
	OnStoreFailure onStoreFailure() default OnStoreFailure.DEFAULT;

	/**
	 * The outcome of a call whose lease is lost while the method runs.
	 * @return the outcome
	 */
	OnLoss onLoss() default OnLoss.NOTIFY;

	/**
	 * The condition under which the permits are needed, as a boolean expression of the
	 * Spring Expression Language: {@code #count > 0}. A call for which the condition is
	 * false runs without permits. The expression may use the same variables as
	 * {@link DistributedLock#key()}.
	 * @return the condition, or empty for always
	 */
	String condition() default "";

	/**
	 * The name of the {@link io.holdfast.SemaphoreService} bean that grants the permits,
	 * for applications with several because they use several Redis servers. A missing
	 * bean stops the application at start-up.
	 * @return the bean's name, or empty for the only or primary bean
	 */
	String service() default "";

}
