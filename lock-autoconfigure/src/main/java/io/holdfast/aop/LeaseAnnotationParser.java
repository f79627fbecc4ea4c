package io.holdfast.aop;

import java.time.Duration;
import java.util.function.BiFunction;

import io.holdfast.HoldfastException;
import io.holdfast.LeaseRequest;
import io.holdfast.LeaseStoreException;
import io.holdfast.LockMode;
import io.holdfast.LockNotAcquiredException;
import io.holdfast.LockRequest;
import io.holdfast.PermitNotAcquiredException;
import io.holdfast.SemaphoreRequest;
import io.holdfast.annotation.DistributedLock;
import io.holdfast.annotation.Fairness;
import io.holdfast.annotation.OnLoss;
import io.holdfast.annotation.OnStoreFailure;
import io.holdfast.annotation.OnTimeout;
import io.holdfast.annotation.ReleaseAfter;
import io.holdfast.aop.CallExpression.Use;
import org.jspecify.annotations.Nullable;

import org.springframework.expression.spel.support.StandardEvaluationContext;
import org.springframework.util.StringUtils;

/**
 * Parses annotations, and refuses invalid ones with an
 * {@link InvalidDeclarationException}. Thread-safe.
 */
final class LeaseAnnotationParser {

	/** Value of an integer attribute that is not set. */
	private static final int NO_LIMIT = -1;

	/** Text before the reason in the message of a request that refuses a time. */
	private static final String WHICH = ", which ";

	/** Maximum limit, as for requests. */
	private static final int MAX_LIMIT = 1_000_000_000;

	/** Shared evaluation context of expressions. */
	final StandardEvaluationContext delegates = new StandardEvaluationContext();

	LeaseBeanPostProcessor.Defaults defaults = LeaseBeanPostProcessor.Defaults.NONE;

	/**
	 * Parse an annotation for a lock. Throws {@link InvalidDeclarationException} if it
	 * cannot be applied.
	 */
	LeasedMethod lock(LeaseAnnotationHandler handler, AnnotatedMethod annotated) {
		LockMode mode = annotated.annotation().getEnum("mode", LockMode.class);
		LockRequest plain = LockRequest.of("example").mode(mode).name(purpose(annotated));
		LockRequest request = withLossMargin(annotated, withTerms(annotated, plain));
		return leasedMethod(handler, annotated, isFenced(annotated, mode) ? request.fenced() : request);
	}

	private static boolean isFenced(AnnotatedMethod annotated, LockMode mode) {
		boolean fenced = annotated.annotation().getBoolean("fenced");
		annotated.refuseIf(fenced && mode == LockMode.READ, "fenced",
				"and mode = READ are both given, but readers change nothing", "Leave one of them out");
		annotated.refuseIf(fenced && ReturnKind.of(annotated) != ReturnKind.PLAIN, "fenced",
				"is not possible, because the code of " + annotated.method().getName()
						+ " leaves the thread of its transactions",
				"Annotate a method that returns when its work is done, or call Fences.check(lease) in each transaction");
		return fenced;
	}

	/**
	 * Parse an annotation for permits. Throws {@link InvalidDeclarationException} if it
	 * cannot be applied.
	 */
	LeasedMethod semaphore(LeaseAnnotationHandler handler, AnnotatedMethod annotated) {
		int limit = limit(annotated);
		int permits = permits(annotated, limit);
		SemaphoreRequest plain = SemaphoreRequest.of("example", limit).permits(permits).name(purpose(annotated));
		Fairness fairness = annotated.annotation().getEnum("fairness", Fairness.class);
		SemaphoreRequest request = withTerms(annotated,
				(fairness != Fairness.DEFAULT) ? plain.fair(fairness == Fairness.FAIR) : plain);
		return leasedMethod(handler, annotated, request);
	}

	private static boolean isSkip(AnnotatedMethod annotated) {
		return annotated.annotation().getEnum("onTimeout", OnTimeout.class) == OnTimeout.SKIP;
	}

	/**
	 * Set and check the times of waiting and holding. The service's defaults apply to
	 * times that are not set.
	 */
	private <R extends LeaseRequest<R>> R withTerms(AnnotatedMethod annotated, R plain) {
		R request = plain.forCode().autoRenew(annotated.annotation().getBoolean("autoRenew"));
		request = withTime(annotated, "leaseTime", request, LeaseRequest<R>::leaseTime,
				"Write a time from 100ms to 365d, or leave it out for the default");
		request = withTime(annotated, "maxHold", request, LeaseRequest<R>::maxHold,
				"Write a time of at least 100ms, or leave it out for the default");
		request = withTime(annotated, "minHold", request, LeaseRequest<R>::minHold,
				"Write a time up to 365d, or leave it out for none");
		if (annotated.resolve("waitTime").trim().equals("-1")) {
			request = request.waitForever();
		}
		else {
			Duration waitTime = annotated.duration("waitTime");
			request = (waitTime != null) ? request.waitTime(waitTime) : request;
		}
		refuseLongerThanLongest(annotated, request.leaseTime());
		return isSkip(annotated) ? request.optional() : request;
	}

	/**
	 * Set a time if it is given. The setters of requests check the bounds, and the times
	 * set before.
	 * @param cure the remedy for a time out of bounds
	 */
	private static <R extends LeaseRequest<R>> R withTime(AnnotatedMethod annotated, String attribute, R request,
			BiFunction<R, Duration, R> setter, String cure) {
		Duration time = annotated.duration(attribute);
		try {
			return (time != null) ? setter.apply(request, time) : request;
		}
		catch (IllegalArgumentException ex) {
			String message = String.valueOf(ex.getMessage());
			int remedy = message.indexOf(": ");
			throw ((remedy < 0) ? annotated.invalidText(attribute, "is out of bounds", cure)
					: annotated.invalidText(attribute,
							message.substring(message.indexOf(WHICH) + WHICH.length(), remedy),
							StringUtils.capitalize(message.substring(remedy + 2))))
				.causedBy(ex);
		}
	}

	/** Set the loss margin. Refuses a margin that leaves no time for two renewals. */
	private LockRequest withLossMargin(AnnotatedMethod annotated, LockRequest request) {
		Duration margin = withTime(annotated, "lossMargin", LockRequest.of("example"), LockRequest::lossMargin,
				"Write a time up to a third of the lease time, or leave it out for the default")
			.lossMargin();
		// Without a lease time, maxHold limits the default lease time.
		String bound = (request.leaseTime() != null) ? "leaseTime" : "maxHold";
		Duration longest = (request.leaseTime() != null) ? request.leaseTime() : request.maxHold();
		if (isAboveThird(margin, longest)) {
			throw annotated.invalidText("lossMargin",
					"is more than a third of " + bound + " = \"" + annotated.resolve(bound) + "\"",
					"Lower lossMargin, or raise " + bound);
		}
		if (annotated.text("service").isEmpty()) {
			refuseMarginOfDefaults(annotated, margin, bound, longest);
		}
		return (margin != null) ? request.lossMargin(margin) : request;
	}

	private void refuseMarginOfDefaults(AnnotatedMethod annotated, @Nullable Duration margin, String bound,
			@Nullable Duration longest) {
		Duration lease = (margin != null && bound.equals("maxHold")) ? this.defaults.lockLease() : null;
		if (lease != null && isAboveThird(margin, lease)) {
			throw annotated.invalidText("lossMargin",
					"is more than a third of holdfast.lock.lease-time (" + lease.toMillis() + "ms)",
					"Lower lossMargin, or give a leaseTime");
		}
		Duration usual = (margin == null && longest != null) ? this.defaults.lockMargin() : null;
		if (usual != null && longest != null && isAboveThird(usual, longest)) {
			throw annotated.invalidText(bound,
					"is less than three times holdfast.lock.loss-margin (" + usual.toMillis() + "ms)",
					"Raise it, or give a lossMargin of " + longest.toMillis() / 3 + "ms at most");
		}
	}

	private static boolean isAboveThird(@Nullable Duration margin, @Nullable Duration leaseTime) {
		return margin != null && isLonger(margin.multipliedBy(3), leaseTime);
	}

	private void refuseLongerThanLongest(AnnotatedMethod annotated, @Nullable Duration leaseTime) {
		Duration longest = (leaseTime != null) ? this.defaults.longestLease() : null;
		if (longest != null && isLonger(leaseTime, longest)) {
			throw annotated.invalidText("leaseTime",
					"is longer than holdfast.redis.longest-lease (" + longest.toMillis()
							+ "ms), after which holdfast.redis.fail-over-grace counts every lease as ended",
					"Lower leaseTime, as the lease is renewed while it is held, or raise that property, for all applications that share locks");
		}
	}

	private static boolean isLonger(@Nullable Duration time, @Nullable Duration bound) {
		return time != null && bound != null && time.compareTo(bound) > 0;
	}

	private static int limit(AnnotatedMethod annotated) {
		int limit = annotated.annotation().getInt("limit");
		boolean text = !annotated.annotation().getString("limitString").isEmpty();
		annotated.refuseIf(limit == NO_LIMIT && !text, "has neither limit nor limitString",
				"Say how many permits there are in all, for example limit = 10 or limitString = \"${my.limit:10}\"");
		annotated.refuseIf(limit != NO_LIMIT && text, "limit",
				"and limitString = \"" + annotated.annotation().getString("limitString") + "\" are both given",
				"Leave one of them out");
		if (text) {
			return annotated.count("limitString", MAX_LIMIT);
		}
		annotated.refuseIf(limit < 1 || limit > MAX_LIMIT, "limit", "is not from 1 to " + MAX_LIMIT,
				"Say how many permits there are in all");
		return limit;
	}

	private static int permits(AnnotatedMethod annotated, int limit) {
		int permits = annotated.annotation().getInt("permits");
		annotated.refuseIf(permits < 1, "permits", "is not at least 1", "Say how many permits a call needs");
		annotated.refuseIf(permits > limit, "permits",
				"is more than the limit of " + limit + ", so that the method could never run",
				"Raise the limit, or request fewer permits");
		return permits;
	}

	/** Return the name for events and meters, the same for all keys of a method. */
	private static String purpose(AnnotatedMethod annotated) {
		String name = annotated.name();
		return name.isEmpty() ? annotated.qualifiedMethodName() : name;
	}

	private LeasedMethod leasedMethod(LeaseAnnotationHandler handler, AnnotatedMethod annotated,
			LeaseRequest<?> example) {
		boolean lock = example instanceof LockRequest;
		OnStoreFailure onStoreFailure = annotated.annotation().getEnum("onStoreFailure", OnStoreFailure.class);
		NotAcquiredHandler declaredHandler = notAcquiredHandler(annotated, (onStoreFailure == OnStoreFailure.FALLBACK)
				? HoldfastException.class : lock ? LockNotAcquiredException.class : PermitNotAcquiredException.class);
		CallExpression condition = expression(annotated, Use.CONDITION);
		String name = annotated.name();
		boolean keyed = !annotated.expression(Use.KEY.attribute).isEmpty();
		LeaseRequest<?> requestTemplate = checked(annotated, (keyed && name.isEmpty()) ? "example" : purpose(annotated),
				example);
		ReturnKind returnKind = ReturnKind.of(annotated);
		boolean scheduled = annotated.isScheduled();
		return new LeasedMethod(handler, annotated, returnKind, scheduled && returnKind == ReturnKind.REACTIVE,
				condition, expression(annotated, Use.KEY), name.isEmpty() ? "" : name + ":", requestTemplate,
				declaredHandler, onStoreFailure(annotated, onStoreFailure, declaredHandler),
				annotated.annotation().getEnum("onLoss", OnLoss.class),
				lock ? annotated.annotation().getEnum("releaseAfter", ReleaseAfter.class) : ReleaseAfter.METHOD,
				annotated.text("service"),
				scheduled && example instanceof LockRequest request && hasTurns(annotated, request));
	}

	/**
	 * Return whether each instance runs the method in its turn: calls wait for the lock,
	 * and no minHold is set.
	 */
	private boolean hasTurns(AnnotatedMethod annotated, LockRequest request) {
		Duration declared = request.waitTime();
		Duration wait = (declared != null) ? declared : this.defaults.lockWaitTime();
		return !wait.isZero() && annotated.duration("minHold") == null && request.mode() != LockMode.READ;
	}

	private @Nullable CallExpression expression(AnnotatedMethod annotated, Use use) {
		String text = annotated.expression(use.attribute);
		return text.isEmpty() ? null : CallExpression.parse(use, text, annotated, this.delegates);
	}

	private OnStoreFailure onStoreFailure(AnnotatedMethod annotated, OnStoreFailure declared,
			NotAcquiredHandler handler) {
		Class<?> type = annotated.annotation().getType();
		annotated.refuseIf(declared == OnStoreFailure.PROCEED && type == DistributedLock.class, "onStoreFailure",
				"is not possible, as a method never runs without its lock",
				"Write FALLBACK and name a fallback, or leave it out to throw");
		annotated.refuseIf(declared == OnStoreFailure.FALLBACK && !(handler instanceof FallbackHandler),
				"onStoreFailure", "has no fallback", "Name one by the attribute fallback");
		if (declared != OnStoreFailure.DEFAULT) {
			return declared;
		}
		OnStoreFailure usual = (type == DistributedLock.class) ? this.defaults.onLockFailure()
				: this.defaults.onSemaphoreFailure();
		boolean possible = usual != OnStoreFailure.FALLBACK
				|| (handler instanceof FallbackHandler fallback && fallback.handles(LeaseStoreException.class));
		return possible ? usual : OnStoreFailure.THROW;
	}

	private static NotAcquiredHandler notAcquiredHandler(AnnotatedMethod annotated,
			Class<? extends HoldfastException> failure) {
		boolean skip = isSkip(annotated);
		String fallback = annotated.text("fallback");
		if (fallback.isEmpty()) {
			return skip ? NotAcquiredHandler.empty(annotated) : NotAcquiredHandler.THROW;
		}
		annotated.refuseIf(skip, "fallback", "and onTimeout = SKIP are both given", "Leave one of them out");
		return FallbackHandler.find(annotated, fallback, failure);
	}

	private static LeaseRequest<?> checked(AnnotatedMethod annotated, String key, LeaseRequest<?> example) {
		try {
			return example.only(key);
		}
		catch (IllegalArgumentException ex) {
			throw annotated.invalid("name", "cannot be a key: " + ex.getMessage(), "Write another name").causedBy(ex);
		}
	}

}
