package io.holdfast.aop;

import java.time.Duration;
import java.util.Locale;

import io.holdfast.LockRequest;
import org.jspecify.annotations.Nullable;

import org.springframework.format.datetime.standard.DurationFormatterUtils;
import org.springframework.util.StringUtils;
import org.springframework.util.StringValueResolver;

/**
 * Reads the texts of an annotation.
 *
 * @param declaration the annotation
 * @param resolver resolves placeholders
 */
record Attributes(Declaration<?> declaration, StringValueResolver resolver) {

	/** Longer than any wait: a request takes it as without limit. */
	private static final Duration FOREVER = Duration.ofSeconds(Long.MAX_VALUE);

	/**
	 * A text with its placeholders resolved.
	 * @param attribute the attribute's name
	 * @param text what is written there
	 * @return the text; empty only if nothing was written
	 */
	String text(String attribute, String text) {
		String resolved = resolve(attribute, text);
		if (!text.isEmpty() && !StringUtils.hasText(resolved)) {
			throw this.declaration.invalid(attribute, text, "is blank", "Give it a value, or leave the attribute out",
					null);
		}
		return resolved;
	}

	/**
	 * The text of an expression.
	 * @param attribute the attribute's name
	 * @param text what is written there
	 * @return the expression
	 */
	String expression(String attribute, String text) {
		// Resolving it would evaluate what is inside, now and without arguments.
		if (text.contains("#{")) {
			throw this.declaration.invalid(attribute, text, "has #{...} around an expression",
					"The attribute is an expression already: leave #{ and } out", null);
		}
		return text(attribute, text);
	}

	/**
	 * A positive whole number.
	 * @param attribute the attribute's name
	 * @param text what is written there
	 * @param max the largest that is allowed
	 * @return the number
	 */
	int count(String attribute, String text, int max) {
		if (text.contains("#{")) {
			throw this.declaration.invalid(attribute, text, "has an expression, which is not evaluated here",
					"Write a number, or a placeholder such as ${property:10}", null);
		}
		String resolved = resolve(attribute, text).trim();
		NumberFormatException cause = null;
		try {
			int count = Integer.parseInt(resolved);
			if (count >= 1 && count <= max) {
				return count;
			}
		}
		catch (NumberFormatException ex) {
			cause = ex;
		}
		throw this.declaration.invalid(attribute, text,
				standsFor(text, resolved) + "is not a whole number from 1 to " + max, "Write for example 10", cause);
	}

	/**
	 * A choice between yes and no.
	 * @param attribute the attribute's name
	 * @param text what is written there
	 * @return the choice, or {@code null} for the default
	 */
	@Nullable Boolean bool(String attribute, String text) {
		String resolved = resolve(attribute, text).trim();
		return switch (resolved.toLowerCase(Locale.ROOT)) {
			case "" -> null;
			case "true" -> Boolean.TRUE;
			case "false" -> Boolean.FALSE;
			default ->
				throw this.declaration.invalid(attribute, text, standsFor(text, resolved) + "is neither true nor false",
						"Write true or false, or leave it out for the default", null);
		};
	}

	private @Nullable Duration duration(String attribute, String text) {
		String resolved = resolve(attribute, text).trim();
		if (resolved.isEmpty()) {
			return null;
		}
		if (resolved.equals("0")) {
			return Duration.ZERO;
		}
		Duration duration;
		try {
			duration = DurationFormatterUtils.detectAndParse(resolved);
		}
		catch (IllegalArgumentException | ArithmeticException ex) {
			throw invalidDuration(attribute, text, resolved, "is not a duration", ex);
		}
		if (resolved.chars().allMatch((c) -> Character.isDigit(c) || c == '+')) {
			throw invalidDuration(attribute, text, resolved, "has no unit", null);
		}
		if (duration.isNegative()) {
			throw invalidDuration(attribute, text, resolved, "is negative", null);
		}
		return duration;
	}

	/**
	 * A time to wait, which may be without limit.
	 * @param attribute the attribute's name
	 * @param text what is written there
	 * @return the time, {@link #FOREVER} for no limit, or {@code null} for the default
	 */
	@Nullable Duration wait(String attribute, String text) {
		return resolve(attribute, text).trim().equals("-1") ? FOREVER : duration(attribute, text);
	}

	/**
	 * A lease time.
	 * @param attribute the attribute's name
	 * @param text what is written there
	 * @return the time, or {@code null} for the default
	 */
	@Nullable Duration lease(String attribute, String text) {
		Duration lease = duration(attribute, text);
		try {
			// Requests know the bounds, which are the same for all of them.
			return (lease != null) ? LockRequest.of("example").leaseTime(lease).leaseTime() : null;
		}
		catch (IllegalArgumentException ex) {
			throw this.declaration.invalid(attribute, text, "is out of bounds",
					"Write a time from 100ms to 365d, or leave it out for the default", ex);
		}
	}

	private InvalidDeclarationException invalidDuration(String attribute, String text, String resolved, String problem,
			@Nullable Exception cause) {
		String noWait = attribute.equals("waitTime") ? "; or 0 to try once, -1 to wait without limit" : "";
		return this.declaration.invalid(attribute, text, standsFor(text, resolved) + problem,
				"Write for example 10s, 500ms or PT10S" + noWait, cause);
	}

	/** What a placeholder was replaced with, for messages that begin with the text. */
	private static String standsFor(String text, String resolved) {
		return text.equals(resolved) ? "" : "(" + resolved + ") ";
	}

	private String resolve(String attribute, String text) {
		if (text.isEmpty()) {
			return text;
		}
		String resolved;
		try {
			resolved = this.resolver.resolveStringValue(text);
		}
		catch (IllegalArgumentException ex) {
			throw unresolved(attribute, text, ex);
		}
		if (resolved == null) {
			return "";
		}
		// Without a configurer that is strict, a context leaves what it cannot resolve.
		if (resolved.contains("${")) {
			throw unresolved(attribute, text, null);
		}
		return resolved;
	}

	private InvalidDeclarationException unresolved(String attribute, String text, @Nullable Exception cause) {
		return this.declaration.invalid(attribute, text, "has a placeholder that cannot be resolved",
				"Set the property, or write a default into the placeholder, as in ${property:default}", cause);
	}

}
