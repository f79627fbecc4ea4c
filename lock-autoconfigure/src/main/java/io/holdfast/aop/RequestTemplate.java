package io.holdfast.aop;

import java.time.Duration;
import java.util.function.Function;

import io.holdfast.LockRequest;
import io.holdfast.annotation.DistributedLock;
import org.jspecify.annotations.Nullable;

import org.springframework.expression.spel.support.StandardEvaluationContext;
import org.springframework.util.StringUtils;

/**
 * What an annotation asks for, but for the arguments of the call. Thread-safe.
 *
 * @param <R> the type of the requests
 * @param declaration the annotation
 * @param name the key, or what stands before the expression's value
 * @param key the expression for the key, or {@code null} for the name alone
 * @param requests gives the whole request for a key, or refuses the key with an
 * {@link IllegalArgumentException}
 */
record RequestTemplate<R>(Declaration<?> declaration, String name, @Nullable KeyExpression key,
		Function<String, R> requests) {

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
		return new RequestTemplate<>(declaration, prefix, expression, requests);
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
