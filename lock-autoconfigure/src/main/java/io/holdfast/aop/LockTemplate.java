package io.holdfast.aop;

import java.time.Duration;

import io.holdfast.LockRequest;
import io.holdfast.annotation.DistributedLock;
import org.jspecify.annotations.Nullable;

import org.springframework.expression.spel.support.StandardEvaluationContext;
import org.springframework.util.StringUtils;
import org.springframework.util.StringValueResolver;

/**
 * What {@link DistributedLock @DistributedLock} asks for, but for the arguments of the
 * call. Thread-safe.
 *
 * @param declaration the annotation
 * @param name what to lock, or what stands before the key's value
 * @param key what to lock, or {@code null} for the name alone
 * @param waitTime how long to wait, negative for no limit, {@code null} for the default
 * @param leaseTime how long the lease lasts, or {@code null} for the default
 */
record LockTemplate(Declaration<DistributedLock> declaration, String name, @Nullable KeyExpression key,
		@Nullable Duration waitTime, @Nullable Duration leaseTime) {

	/**
	 * Read an annotation.
	 * @param declaration the annotation
	 * @param resolver resolves placeholders
	 * @param delegates how expressions find beans and types
	 * @return what it asks for
	 * @throws InvalidDeclarationException if it is not valid
	 */
	static LockTemplate parse(Declaration<DistributedLock> declaration, StringValueResolver resolver,
			StandardEvaluationContext delegates) {
		Attributes attributes = new Attributes(declaration, resolver);
		DistributedLock annotation = declaration.annotation();
		String name = attributes.text("name", annotation.name());
		KeyExpression key = null;
		if (StringUtils.hasLength(annotation.key())) {
			key = KeyExpression.parse("key", attributes.expression("key", annotation.key()), declaration, delegates);
		}
		else if (name.isEmpty()) {
			name = declaration.qualifiedMethodName();
		}
		Duration waitTime = attributes.wait("waitTime", annotation.waitTime());
		Duration leaseTime = attributes.duration("leaseTime", annotation.leaseTime());
		LockTemplate template = new LockTemplate(declaration, name, key, waitTime, leaseTime);
		template.check();
		return template;
	}

	/** Finds what a request refuses by asking for one. */
	private void check() {
		String example = this.name.isEmpty() ? this.declaration.qualifiedMethodName() : this.name;
		LockRequest request;
		try {
			request = LockRequest.of(example);
		}
		catch (IllegalArgumentException ex) {
			throw this.declaration.invalid("name", this.declaration.annotation().name(),
					"cannot be locked: " + ex.getMessage(), "Write another name", ex);
		}
		try {
			settle(request);
		}
		catch (IllegalArgumentException ex) {
			throw this.declaration.invalid("leaseTime", this.declaration.annotation().leaseTime(), "is out of bounds",
					"Write a time from 100ms to 365d, or leave it out for the default", ex);
		}
	}

	/**
	 * The request of a call.
	 * @param target the object that is called
	 * @param arguments the arguments
	 * @return the request
	 * @throws IllegalArgumentException if the call yields no key that can be locked
	 */
	LockRequest request(@Nullable Object target, @Nullable Object[] arguments) {
		if (this.key == null) {
			return settle(LockRequest.of(this.name));
		}
		String value = this.key.evaluate(target, arguments);
		LockRequest request;
		try {
			request = LockRequest.of(this.name.isEmpty() ? value : this.name + ":" + value);
		}
		catch (IllegalArgumentException ex) {
			throw new IllegalArgumentException(this.declaration.describe("key", this.declaration.annotation().key())
					+ " yields a key that cannot be locked: " + ex.getMessage(), ex);
		}
		return settle(request);
	}

	private LockRequest settle(LockRequest request) {
		DistributedLock annotation = this.declaration.annotation();
		LockRequest settled = request.mode(annotation.mode()).renewal(annotation.renewal());
		if (this.waitTime != null) {
			settled = this.waitTime.isNegative() ? settled.waitForever() : settled.waitTime(this.waitTime);
		}
		return (this.leaseTime != null) ? settled.leaseTime(this.leaseTime) : settled;
	}

}
