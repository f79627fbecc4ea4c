package io.holdfast.aop;

import java.time.Duration;
import java.util.function.Function;

import io.holdfast.LockRequest;
import io.holdfast.SemaphoreRequest;
import io.holdfast.annotation.DistributedLock;
import io.holdfast.annotation.Semaphore;
import org.jspecify.annotations.Nullable;

import org.springframework.expression.spel.support.StandardEvaluationContext;
import org.springframework.util.StringUtils;

/**
 * What an annotation asks for, but for the arguments of the call. Thread-safe.
 *
 * @param <R> the type of the requests
 * @param declaration the annotation
 * @param resultKind how the method gives its result
 * @param name the key, or what stands before the expression's value
 * @param key the expression for the key, or {@code null} for the name alone
 * @param requests gives the whole request for a key, or refuses the key with an
 * {@link IllegalArgumentException}
 */
record RequestTemplate<R>(Declaration<?> declaration, ResultKind resultKind, String name, @Nullable KeyExpression key,
		Function<String, R> requests) {

	/** What cannot be left out of an annotation needs a value for "not given". */
	private static final int NO_LIMIT = -1;

	/** As for requests. */
	private static final int MAX_LIMIT = 1_000_000_000;

	/**
	 * Read an annotation.
	 * @param declaration the annotation
	 * @param attributes what reads its texts
	 * @param delegates how expressions find beans and types
	 * @return what it asks for
	 * @throws InvalidDeclarationException if it is not valid
	 */
	static RequestTemplate<LockRequest> ofLock(Declaration<DistributedLock> declaration, Attributes attributes,
			StandardEvaluationContext delegates) {
		DistributedLock annotation = declaration.annotation();
		Duration waitTime = attributes.wait("waitTime", annotation.waitTime());
		Duration leaseTime = attributes.lease("leaseTime", annotation.leaseTime());
		return parse(attributes, annotation.name(), annotation.key(), delegates, (key) -> {
			LockRequest request = LockRequest.of(key).mode(annotation.mode()).renewal(annotation.renewal());
			request = (waitTime != null) ? request.waitTime(waitTime) : request;
			return (leaseTime != null) ? request.leaseTime(leaseTime) : request;
		});
	}

	/**
	 * Read an annotation.
	 * @param declaration the annotation
	 * @param attributes what reads its texts
	 * @param delegates how expressions find beans and types
	 * @return what it asks for
	 * @throws InvalidDeclarationException if it is not valid
	 */
	static RequestTemplate<SemaphoreRequest> ofSemaphore(Declaration<Semaphore> declaration, Attributes attributes,
			StandardEvaluationContext delegates) {
		Semaphore annotation = declaration.annotation();
		int limit = limit(declaration, attributes);
		int permits = permits(declaration, limit);
		Duration waitTime = attributes.wait("waitTime", annotation.waitTime());
		Duration leaseTime = attributes.lease("leaseTime", annotation.leaseTime());
		Boolean fair = attributes.bool("fair", annotation.fair());
		return parse(attributes, annotation.name(), annotation.key(), delegates, (key) -> {
			SemaphoreRequest request = SemaphoreRequest.of(key, limit).permits(permits).renewal(annotation.renewal());
			request = (waitTime != null) ? request.waitTime(waitTime) : request;
			request = (leaseTime != null) ? request.leaseTime(leaseTime) : request;
			return (fair != null) ? request.fair(fair) : request;
		});
	}

	private static int limit(Declaration<Semaphore> declaration, Attributes attributes) {
		int limit = declaration.annotation().limit();
		String text = declaration.annotation().limitString();
		if (limit == NO_LIMIT && text.isEmpty()) {
			throw declaration.invalid("has neither limit nor limitString",
					"Say how many permits there are in all, for example limit = 10 or limitString = \"${my.limit:10}\"",
					null);
		}
		if (limit != NO_LIMIT && !text.isEmpty()) {
			throw declaration.invalid("limit", limit, "and limitString = \"" + text + "\" are both given",
					"Leave one of them out", null);
		}
		if (!text.isEmpty()) {
			return attributes.count("limitString", text, MAX_LIMIT);
		}
		if (limit < 1 || limit > MAX_LIMIT) {
			throw declaration.invalid("limit", limit, "is not from 1 to " + MAX_LIMIT,
					"Say how many permits there are in all", null);
		}
		return limit;
	}

	private static int permits(Declaration<Semaphore> declaration, int limit) {
		int permits = declaration.annotation().permits();
		if (permits < 1) {
			throw declaration.invalid("permits", permits, "is not at least 1", "Say how many permits a call needs",
					null);
		}
		if (permits > limit) {
			throw declaration.invalid("permits", permits,
					"is more than the limit of " + limit + ", so that the method could never run",
					"Raise the limit, or ask for fewer permits", null);
		}
		return permits;
	}

	private static <R> RequestTemplate<R> parse(Attributes attributes, String name, String key,
			StandardEvaluationContext delegates, Function<String, R> requests) {
		Declaration<?> declaration = attributes.declaration();
		String prefix = attributes.text("name", name);
		KeyExpression expression = null;
		if (StringUtils.hasLength(key)) {
			expression = KeyExpression.parse("key", attributes.expression("key", key), declaration, delegates);
		}
		else if (prefix.isEmpty()) {
			prefix = declaration.qualifiedMethodName();
		}
		try {
			requests.apply(prefix.isEmpty() ? "example" : prefix);
		}
		catch (IllegalArgumentException ex) {
			throw declaration.invalid("name", name, "cannot be a key: " + ex.getMessage(), "Write another name", ex);
		}
		return new RequestTemplate<>(declaration, ResultKind.of(declaration), prefix, expression, requests);
	}

	/**
	 * The request of a call.
	 * @param target the object that is called
	 * @param arguments the arguments
	 * @return the request
	 * @throws IllegalArgumentException if the call yields no key, or one that is refused
	 */
	R request(@Nullable Object target, @Nullable Object[] arguments) {
		if (this.key == null) {
			return this.requests.apply(this.name);
		}
		String value = this.key.evaluate(target, arguments);
		try {
			return this.requests.apply(this.name.isEmpty() ? value : this.name + ":" + value);
		}
		catch (IllegalArgumentException ex) {
			throw new IllegalArgumentException(this.key + " yields text that cannot be a key: " + ex.getMessage(), ex);
		}
	}

}
