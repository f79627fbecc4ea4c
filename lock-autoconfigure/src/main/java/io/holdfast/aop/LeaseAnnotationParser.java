package io.holdfast.aop;

import java.time.Duration;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.BiFunction;
import java.util.function.Supplier;

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
import org.springframework.util.StringValueResolver;

/**
 * Parses annotations, and refuses invalid ones with an
 * {@link InvalidDeclarationException}. Thread-safe.
 */
final class LeaseAnnotationParser {

	/** Value of an integer attribute that is not set. */
	private static final int NO_LIMIT = -1;

	/** Maximum limit, as for requests. */
	private static final int MAX_LIMIT = 1_000_000_000;

	/** Shared evaluation context of expressions. */
	final StandardEvaluationContext delegates = new StandardEvaluationContext();

	/** Application's defaults by type of annotation. */
	final Map<Class<?>, OnStoreFailure> onStoreFailure = new ConcurrentHashMap<>();

	/** Resolves placeholders. */
	StringValueResolver resolver = (text) -> text;

	/** Supplies the application's default times. */
	Supplier<LeaseBeanPostProcessor.Defaults> defaults = () -> LeaseBeanPostProcessor.Defaults.NONE;

	/**
	 * Parse an annotation for a lock. Throws {@link InvalidDeclarationException} if it
	 * cannot be applied.
	 */
	LeasedMethod lock(LeaseAnnotationHandler handler, AnnotatedMethod annotatedMethod) {
		AnnotationValues attributes = new AnnotationValues(annotatedMethod, this.resolver);
		LockMode mode = attributes.plain().getEnum("mode", LockMode.class);
		LockRequest plain = LockRequest.of("example").mode(mode).name(purpose(attributes));
		LockRequest request = withLossMargin(attributes, withTerms(attributes, plain));
		return leasedMethod(handler, attributes, isFenced(attributes, mode) ? request.fenced() : request);
	}

	private static boolean isFenced(AnnotationValues attributes, LockMode mode) {
		boolean fenced = attributes.plain().getBoolean("fenced");
		attributes.refuseIf(fenced && mode == LockMode.READ, "fenced",
				"and mode = READ are both given, but readers change nothing", "Leave one of them out");
		AnnotatedMethod method = attributes.annotatedMethod();
		attributes.refuseIf(fenced && ReturnKind.of(method) != ReturnKind.PLAIN, "fenced",
				"is not possible, because the code of " + method.method().getName()
						+ " leaves the thread of its transactions",
				"Annotate a method that returns when its work is done, or call Fences.check(lease) in each transaction");
		return fenced;
	}

	/**
	 * Parse an annotation for permits. Throws {@link InvalidDeclarationException} if it
	 * cannot be applied.
	 */
	LeasedMethod semaphore(LeaseAnnotationHandler handler, AnnotatedMethod annotatedMethod) {
		AnnotationValues attributes = new AnnotationValues(annotatedMethod, this.resolver);
		int limit = limit(attributes);
		int permits = permits(attributes, limit);
		SemaphoreRequest plain = SemaphoreRequest.of("example", limit).permits(permits).name(purpose(attributes));
		Fairness fairness = attributes.plain().getEnum("fairness", Fairness.class);
		SemaphoreRequest request = withTerms(attributes,
				(fairness != Fairness.DEFAULT) ? plain.fair(fairness == Fairness.FAIR) : plain);
		return leasedMethod(handler, attributes, request);
	}

	private static boolean isSkip(AnnotationValues attributes) {
		return attributes.plain().getEnum("onTimeout", OnTimeout.class) == OnTimeout.SKIP;
	}

	/**
	 * Set and check the times of waiting and holding. The service's defaults apply to
	 * times that are not set.
	 */
	private <R extends LeaseRequest<R>> R withTerms(AnnotationValues attributes, R plain) {
		R request = plain.forCode().autoRenew(attributes.plain().getBoolean("autoRenew"));
		request = withTime(attributes, "leaseTime", request, LeaseRequest<R>::leaseTime,
				"Write a time from 100ms to 365d, or leave it out for the default");
		request = withTime(attributes, "maxHold", request, LeaseRequest<R>::maxHold,
				"Write a time of at least 100ms, or leave it out for the default");
		request = withTime(attributes, "minHold", request, LeaseRequest<R>::minHold,
				"Write a time up to 365d, or leave it out for none");
		if (attributes.resolve("waitTime").trim().equals("-1")) {
			request = request.waitForever();
		}
		else {
			Duration waitTime = attributes.duration("waitTime");
			request = (waitTime != null) ? request.waitTime(waitTime) : request;
		}
		attributes.refuseIf(request.maxHold() != null && !request.isAutoRenew(), "maxHold",
				"has no effect, because autoRenew = false: there is no renewal to stop", "Leave one of them out");
		if (isLonger(request.leaseTime(), request.maxHold())) {
			throw attributes.invalidText("maxHold", "is shorter than leaseTime = \"" + attributes.resolve("leaseTime")
					+ "\", for which the lease lasts without any renewal", "Lower leaseTime, or raise maxHold");
		}
		refuseLongerMinHold(attributes, request, "maxHold", request.maxHold(), "");
		refuseLongerMinHold(attributes, request, "leaseTime", request.isAutoRenew() ? null : request.leaseTime(),
				", with which the lease ends, because autoRenew = false");
		refuseLongerThanLongest(attributes, request.leaseTime());
		return isSkip(attributes) ? request.optional() : request;
	}

	/** Set a time if it is given. The setters of requests check the bounds. */
	private static <R extends LeaseRequest<R>> R withTime(AnnotationValues attributes, String attribute, R request,
			BiFunction<R, Duration, R> setter, String cure) {
		Duration time = attributes.duration(attribute);
		try {
			return (time != null) ? setter.apply(request, time) : request;
		}
		catch (IllegalArgumentException ex) {
			throw attributes.invalidText(attribute, "is out of bounds", cure).causedBy(ex);
		}
	}

	/** Set the loss margin. Refuses a margin that leaves no time for two renewals. */
	private LockRequest withLossMargin(AnnotationValues attributes, LockRequest request) {
		Duration margin = withTime(attributes, "lossMargin", LockRequest.of("example"), LockRequest::lossMargin,
				"Write a time up to a third of the lease time, or leave it out for the default")
			.lossMargin();
		// Without a lease time, maxHold limits the default lease time.
		String bound = (request.leaseTime() != null) ? "leaseTime" : "maxHold";
		Duration longest = (request.leaseTime() != null) ? request.leaseTime() : request.maxHold();
		if (isAboveThird(margin, longest)) {
			throw attributes.invalidText("lossMargin",
					"is more than a third of " + bound + " = \"" + attributes.resolve(bound) + "\"",
					"Lower lossMargin, or raise " + bound);
		}
		if (attributes.text("service").isEmpty()) {
			refuseMarginOfDefaults(attributes, margin, bound, longest);
		}
		return (margin != null) ? request.lossMargin(margin) : request;
	}

	private void refuseMarginOfDefaults(AnnotationValues attributes, @Nullable Duration margin, String bound,
			@Nullable Duration longest) {
		Duration lease = (margin != null && bound.equals("maxHold")) ? this.defaults.get().lockLease() : null;
		if (lease != null && isAboveThird(margin, lease)) {
			throw attributes.invalidText("lossMargin",
					"is more than a third of holdfast.lock.lease-time (" + lease.toMillis() + "ms)",
					"Lower lossMargin, or give a leaseTime");
		}
		Duration usual = (margin == null && longest != null) ? this.defaults.get().lockMargin() : null;
		if (usual != null && longest != null && isAboveThird(usual, longest)) {
			throw attributes.invalidText(bound,
					"is less than three times holdfast.lock.loss-margin (" + usual.toMillis() + "ms)",
					"Raise it, or give a lossMargin of " + longest.toMillis() / 3 + "ms at most");
		}
	}

	private static boolean isAboveThird(@Nullable Duration margin, @Nullable Duration leaseTime) {
		return margin != null && isLonger(margin.multipliedBy(3), leaseTime);
	}

	private static void refuseLongerMinHold(AnnotationValues attributes, LeaseRequest<?> request, String bound,
			@Nullable Duration value, String why) {
		if (isLonger(request.minHold(), value)) {
			throw attributes.invalidText("minHold",
					"is longer than " + bound + " = \"" + attributes.resolve(bound) + "\"" + why,
					"Lower minHold, or raise " + bound);
		}
	}

	private void refuseLongerThanLongest(AnnotationValues attributes, @Nullable Duration leaseTime) {
		Duration longest = (leaseTime != null) ? this.defaults.get().longestLease() : null;
		if (longest != null && isLonger(leaseTime, longest)) {
			throw attributes.invalidText("leaseTime",
					"is longer than holdfast.redis.longest-lease (" + longest.toMillis()
							+ "ms), after which holdfast.redis.fail-over-grace counts every lease as ended",
					"Lower leaseTime, as the lease is renewed while it is held, or raise that property, for all applications that share locks");
		}
	}

	private static boolean isLonger(@Nullable Duration time, @Nullable Duration bound) {
		return time != null && bound != null && time.compareTo(bound) > 0;
	}

	private static int limit(AnnotationValues attributes) {
		int limit = attributes.plain().getInt("limit");
		boolean text = !attributes.plain().getString("limitString").isEmpty();
		attributes.annotatedMethod()
			.refuseIf(limit == NO_LIMIT && !text, "has neither limit nor limitString",
					"Say how many permits there are in all, for example limit = 10 or limitString = \"${my.limit:10}\"");
		attributes.refuseIf(limit != NO_LIMIT && text, "limit",
				"and limitString = \"" + attributes.plain().getString("limitString") + "\" are both given",
				"Leave one of them out");
		if (text) {
			return attributes.count("limitString", MAX_LIMIT);
		}
		attributes.refuseIf(limit < 1 || limit > MAX_LIMIT, "limit", "is not from 1 to " + MAX_LIMIT,
				"Say how many permits there are in all");
		return limit;
	}

	private static int permits(AnnotationValues attributes, int limit) {
		int permits = attributes.plain().getInt("permits");
		attributes.refuseIf(permits < 1, "permits", "is not at least 1", "Say how many permits a call needs");
		attributes.refuseIf(permits > limit, "permits",
				"is more than the limit of " + limit + ", so that the method could never run",
				"Raise the limit, or ask for fewer permits");
		return permits;
	}

	/** Return the name for events and meters, the same for all keys of a method. */
	private static String purpose(AnnotationValues attributes) {
		String name = attributes.name();
		return name.isEmpty() ? attributes.annotatedMethod().qualifiedMethodName() : name;
	}

	private LeasedMethod leasedMethod(LeaseAnnotationHandler handler, AnnotationValues attributes,
			LeaseRequest<?> example) {
		boolean lock = example instanceof LockRequest;
		AnnotatedMethod annotatedMethod = attributes.annotatedMethod();
		OnStoreFailure onStoreFailure = attributes.plain().getEnum("onStoreFailure", OnStoreFailure.class);
		NotAcquiredHandler declaredHandler = notAcquiredHandler(attributes, (onStoreFailure == OnStoreFailure.FALLBACK)
				? HoldfastException.class : lock ? LockNotAcquiredException.class : PermitNotAcquiredException.class);
		CallExpression condition = expression(attributes, Use.CONDITION);
		String name = attributes.name();
		boolean keyed = !attributes.expression(Use.KEY.attribute).isEmpty();
		LeaseRequest<?> requestTemplate = checked(attributes,
				(keyed && name.isEmpty()) ? "example" : purpose(attributes), example);
		ReturnKind returnKind = ReturnKind.of(annotatedMethod);
		boolean scheduled = annotatedMethod.isScheduled();
		return new LeasedMethod(handler, annotatedMethod, returnKind, scheduled && returnKind == ReturnKind.REACTIVE,
				condition, expression(attributes, Use.KEY), name.isEmpty() ? "" : name + ":", requestTemplate,
				declaredHandler, onStoreFailure(attributes, onStoreFailure, declaredHandler),
				attributes.plain().getEnum("onLoss", OnLoss.class),
				lock ? attributes.plain().getEnum("releaseAfter", ReleaseAfter.class) : ReleaseAfter.METHOD,
				attributes.text("service"),
				scheduled && example instanceof LockRequest request && hasTurns(attributes, request));
	}

	/**
	 * Return whether each instance runs the method in its turn: calls wait for the lock,
	 * and no minHold is set.
	 */
	private boolean hasTurns(AnnotationValues attributes, LockRequest request) {
		Duration declared = request.waitTime();
		Duration wait = (declared != null) ? declared : this.defaults.get().lockWaitTime();
		return !wait.isZero() && attributes.duration("minHold") == null && request.mode() != LockMode.READ;
	}

	private @Nullable CallExpression expression(AnnotationValues attributes, Use use) {
		String text = attributes.expression(use.attribute);
		return text.isEmpty() ? null : CallExpression.parse(use, text, attributes.annotatedMethod(), this.delegates);
	}

	private OnStoreFailure onStoreFailure(AnnotationValues attributes, OnStoreFailure declared,
			NotAcquiredHandler handler) {
		Class<?> type = attributes.plain().getType();
		attributes.refuseIf(declared == OnStoreFailure.PROCEED && type == DistributedLock.class, "onStoreFailure",
				"is not possible, as a method never runs without its lock",
				"Write FALLBACK and name a fallback, or leave it out to throw");
		attributes.refuseIf(declared == OnStoreFailure.FALLBACK && !(handler instanceof FallbackHandler),
				"onStoreFailure", "has no fallback", "Name one by the attribute fallback");
		if (declared != OnStoreFailure.DEFAULT) {
			return declared;
		}
		OnStoreFailure usual = this.onStoreFailure.getOrDefault(type, OnStoreFailure.THROW);
		boolean possible = usual != OnStoreFailure.FALLBACK
				|| (handler instanceof FallbackHandler fallback && fallback.handles(LeaseStoreException.class));
		return possible ? usual : OnStoreFailure.THROW;
	}

	private static NotAcquiredHandler notAcquiredHandler(AnnotationValues attributes,
			Class<? extends HoldfastException> failure) {
		boolean skip = isSkip(attributes);
		String fallback = attributes.text("fallback");
		if (fallback.isEmpty()) {
			return skip ? NotAcquiredHandler.empty(attributes) : NotAcquiredHandler.THROW;
		}
		attributes.refuseIf(skip, "fallback", "and onTimeout = SKIP are both given", "Leave one of them out");
		return FallbackHandler.find(attributes, fallback, failure);
	}

	private static LeaseRequest<?> checked(AnnotationValues attributes, String key, LeaseRequest<?> example) {
		try {
			return example.only(key);
		}
		catch (IllegalArgumentException ex) {
			throw attributes.invalid("name", "cannot be a key: " + ex.getMessage(), "Write another name").causedBy(ex);
		}
	}

}
