package io.holdfast.annotation;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

import org.springframework.core.annotation.AliasFor;

/**
 * Runs a scheduled job on one instance: the first instance to acquire the lock runs the
 * job, and the other instances skip the run at once.
 *
 * <pre class="code">
 * &#064;Scheduled(cron = "0 0 * * * *")
 * &#064;ScheduledLock(name = "report", minHold = "1m")
 * public void report() { ... }
 * </pre>
 *
 * <p>
 * A {@link DistributedLock @DistributedLock} with {@code waitTime = "0"} and
 * {@link OnTimeout#SKIP}; its documentation applies to this annotation, too. The lock is
 * renewed while the job runs. If the job's instance dies, the job runs again when it is
 * due next. While Redis is down, each run fails with a
 * {@link io.holdfast.LeaseStoreException}.
 *
 * @since 0.1.0
 */
@Target({ ElementType.METHOD, ElementType.ANNOTATION_TYPE })
@Retention(RetentionPolicy.RUNTIME)
@Documented
@DistributedLock(waitTime = "0", onTimeout = OnTimeout.SKIP)
public @interface ScheduledLock {

	/**
	 * The name of the lock.
	 * @return the name, or empty for class and method, such as
	 * {@code com.acme.Jobs.report}
	 */
	@AliasFor(annotation = DistributedLock.class)
	String name() default "";

	/**
	 * The minimum time for which other instances are kept out, even if the job ends
	 * sooner. Choose a time longer than the difference between the clocks of the
	 * instances or, with a fixed rate or delay, a little shorter than the period. The
	 * time does not apply to a run that fails. Written as {@code 30s}, {@code 1m30s} or
	 * {@code PT1M}.
	 * @return the minimum time, or empty for none
	 */
	@AliasFor(annotation = DistributedLock.class)
	String minHold() default "";

	/**
	 * The maximum time for which the lease is renewed, as a guard against a job that
	 * hangs. Written like {@link #minHold()}.
	 * @return the maximum time, or empty for the default of the lock service
	 */
	@AliasFor(annotation = DistributedLock.class)
	String maxHold() default "";

	/**
	 * The duration of the lease without renewal. If the instance of a running job dies,
	 * other instances are kept out for this time at most. Written like
	 * {@link #minHold()}.
	 * @return the lease time, or empty for the default of the lock service
	 */
	@AliasFor(annotation = DistributedLock.class)
	String leaseTime() default "";

	/**
	 * The time between the loss of the lease for the job and the earliest grant to
	 * another instance, at most a third of the {@link #leaseTime()}. Written like
	 * {@link #minHold()}.
	 * @return the margin, or empty for the default of the lock service
	 */
	@AliasFor(annotation = DistributedLock.class)
	String lossMargin() default "";

	/**
	 * The condition under which the lock is needed, as a boolean expression of the Spring
	 * Expression Language. A run for which the condition is false runs without the lock.
	 * @return the condition, or empty for always
	 */
	@AliasFor(annotation = DistributedLock.class)
	String condition() default "";

	/**
	 * The name of the {@link io.holdfast.LockService} bean that grants the lock, for
	 * applications with several.
	 * @return the bean's name, or empty for the only or primary bean
	 */
	@AliasFor(annotation = DistributedLock.class)
	String service() default "";

}
