package io.holdfast.aop;

import java.time.Duration;
import java.util.function.BiFunction;
import java.util.function.Supplier;

import io.holdfast.LeaseRequest;
import io.holdfast.LockRequest;
import org.jspecify.annotations.Nullable;

/**
 * The declared terms of waiting and holding; {@code null} is left to the service.
 *
 * @param waitTime how long to wait
 * @param leaseTime how long the lease lasts when it is not renewed
 * @param maxHold how long a renewed lease may be held in all
 * @param minHold how long others are kept out at least
 * @param autoRenew whether the lease is renewed
 */
record LeaseTimes(@Nullable Duration waitTime, @Nullable Duration leaseTime, @Nullable Duration maxHold,
		@Nullable Duration minHold, boolean autoRenew) {

	/** Longer than any wait: a request takes it as without limit. */
	private static final Duration FOREVER = Duration.ofSeconds(Long.MAX_VALUE);

	/** Requests know the bounds, which are the same for all of them. */
	private static final LockRequest EXAMPLE = LockRequest.of("example");

	/**
	 * Read an annotation's times.
	 * @param longestLease gives the longest lease that will be granted, {@code null} if
	 * there is no such bound
	 * @throws InvalidDeclarationException if one is out of its bounds, or they cannot be
	 * kept together
	 */
	static LeaseTimes of(AnnotationValues attributes, Supplier<@Nullable Duration> longestLease) {
		Duration leaseTime = bounded(attributes, "leaseTime", LockRequest::leaseTime,
				"Write a time from 100ms to 365d, or leave it out for the default");
		Duration maxHold = bounded(attributes, "maxHold", LockRequest::maxHold,
				"Write a time of at least 100ms, or leave it out for the default");
		Duration minHold = bounded(attributes, "minHold", LockRequest::minHold,
				"Write a time up to 365d, or leave it out for none");
		LeaseTimes times = new LeaseTimes(wait(attributes), leaseTime, maxHold, minHold,
				attributes.plain().getBoolean("autoRenew"));
		times.check(attributes, (leaseTime != null) ? longestLease.get() : null);
		return times;
	}

	<R extends LeaseRequest<R>> R applyTo(R request) {
		R result = request.autoRenew(this.autoRenew);
		result = (this.waitTime != null) ? result.waitTime(this.waitTime) : result;
		result = (this.leaseTime != null) ? result.leaseTime(this.leaseTime) : result;
		result = (this.maxHold != null) ? result.maxHold(this.maxHold) : result;
		return (this.minHold != null) ? result.minHold(this.minHold) : result;
	}

	private void check(AnnotationValues attributes, @Nullable Duration longest) {
		if (this.maxHold != null && !this.autoRenew) {
			throw attributes.invalid("maxHold", "has no effect, because autoRenew = false: there is no renewal to stop",
					"Leave one of them out", null);
		}
		if (isLonger(this.leaseTime, this.maxHold)) {
			throw attributes.invalidText("maxHold",
					"is shorter than leaseTime = \"" + attributes.resolve("leaseTime")
							+ "\", for which the lease lasts without any renewal",
					"Lower leaseTime, or raise maxHold", null);
		}
		checkMinHold(attributes, "maxHold", this.maxHold, "");
		if (!this.autoRenew) {
			checkMinHold(attributes, "leaseTime", this.leaseTime,
					", with which the lease ends, because autoRenew = false");
		}
		if (longest != null && isLonger(this.leaseTime, longest)) {
			throw attributes.invalidText("leaseTime",
					"is longer than holdfast.redis.longest-lease (" + longest.toMillis()
							+ "ms), after which holdfast.redis.fail-over-grace counts every lease as ended",
					"Lower leaseTime, as the lease is renewed while it is held, or raise that property, for all applications that share locks",
					null);
		}
	}

	private void checkMinHold(AnnotationValues attributes, String bound, @Nullable Duration value, String why) {
		if (isLonger(this.minHold, value)) {
			throw attributes.invalidText("minHold",
					"is longer than " + bound + " = \"" + attributes.resolve(bound) + "\"" + why,
					"Lower minHold, or raise " + bound, null);
		}
	}

	private static boolean isLonger(@Nullable Duration time, @Nullable Duration bound) {
		return time != null && bound != null && time.compareTo(bound) > 0;
	}

	private static @Nullable Duration wait(AnnotationValues attributes) {
		boolean forever = attributes.resolve("waitTime").trim().equals("-1");
		return forever ? FOREVER : attributes.duration("waitTime");
	}

	private static @Nullable Duration bounded(AnnotationValues attributes, String attribute,
			BiFunction<LockRequest, Duration, LockRequest> use, String cure) {
		Duration duration = attributes.duration(attribute);
		try {
			if (duration != null) {
				use.apply(EXAMPLE, duration);
			}
			return duration;
		}
		catch (IllegalArgumentException ex) {
			throw attributes.invalidText(attribute, "is out of bounds", cure, ex);
		}
	}

}
