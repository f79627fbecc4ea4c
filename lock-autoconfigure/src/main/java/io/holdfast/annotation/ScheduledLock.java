package io.holdfast.annotation;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

import org.springframework.core.annotation.AliasFor;

/**
 * Runs a scheduled job on one instance: the first one that comes runs it, the others skip
 * the run at once.
 *
 * <pre class="code">
 * &#064;Scheduled(cron = "0 0 * * * *")
 * &#064;ScheduledLock(name = "report", minHold = "1m")
 * public void report() { ... }
 * </pre>
 *
 * <p>
 * It is a {@link DistributedLock @DistributedLock} with {@code waitTime = "0"} and
 * {@link OnTimeout#SKIP}; everything that is said there holds here. The lock is renewed
 * for as long as the job lives. If its instance dies, the job runs again when it is due
 * next. While Redis fails, the job ends with a {@link io.holdfast.LeaseStoreException}.
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
	 * @return the name, or empty for class and method, as {@code com.acme.Jobs.report}
	 */
	@AliasFor(annotation = DistributedLock.class)
	String name() default "";

	/**
	 * The shortest time that other instances are kept out, even if the job ends sooner:
	 * longer than the clocks of the instances differ or, with a fixed rate or delay, a
	 * little shorter than the period. It does not count for a run that fails. Written as
	 * {@code 30s}, {@code 1m30s} or {@code PT1M}.
	 * @return the shortest time, or empty for none
	 */
	@AliasFor(annotation = DistributedLock.class)
	String minHold() default "";

	/**
	 * The longest time that the lock is renewed: a guard against a job that hangs.
	 * Written like {@link #minHold()}.
	 * @return the longest time, or empty for the default of the lock service
	 */
	@AliasFor(annotation = DistributedLock.class)
	String maxHold() default "";

	/**
	 * The time that others wait at most if the instance of a running job dies. Written
	 * like {@link #minHold()}.
	 * @return the lease time, or empty for the default of the lock service
	 */
	@AliasFor(annotation = DistributedLock.class)
	String leaseTime() default "";

	/**
	 * The time before others may have the lock at which the job counts as lost, at most a
	 * third of the {@link #leaseTime()}. Written like {@link #minHold()}.
	 * @return the margin, or empty for the default of the lock service
	 */
	@AliasFor(annotation = DistributedLock.class)
	String lossMargin() default "";

	/**
	 * The condition under which the lock is needed, as an expression of the Spring
	 * Expression Language. A run for which it is false takes no lock.
	 * @return the condition, or empty for always
	 */
	@AliasFor(annotation = DistributedLock.class)
	String condition() default "";

	/**
	 * The name of the bean that grants the lock: a {@link io.holdfast.LockService}, where
	 * an application has more than one.
	 * @return the bean's name, or empty for the only or primary one
	 */
	@AliasFor(annotation = DistributedLock.class)
	String service() default "";

}
