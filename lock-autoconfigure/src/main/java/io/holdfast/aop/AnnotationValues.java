package io.holdfast.aop;

import java.time.Duration;

import org.jspecify.annotations.Nullable;

import org.springframework.core.annotation.MergedAnnotation;
import org.springframework.format.datetime.standard.DurationFormatterUtils;
import org.springframework.util.StringUtils;
import org.springframework.util.StringValueResolver;

/**
 * Reads the attributes of an annotation by name.
 *
 * @param annotatedMethod the annotation
 * @param resolver resolves placeholders
 */
record AnnotationValues(AnnotatedMethod annotatedMethod, StringValueResolver resolver) {

	/** Return the values without resolving placeholders. */
	MergedAnnotation<?> plain() {
		return this.annotatedMethod.annotation();
	}

	/**
	 * Return a text attribute with placeholders resolved.
	 * @return the text; empty only if the attribute is not set
	 */
	String text(String attribute) {
		String resolved = resolve(attribute);
		refuseIf(!written(attribute).isEmpty() && !StringUtils.hasText(resolved), attribute, "is blank",
				"Give it a value, or leave the attribute out");
		return resolved;
	}

	/**
	 * Return the name, which is plain text.
	 * @return the name; empty only if the attribute is not set
	 */
	String name() {
		String name = text("name");
		// Parameters are not available: #sku would be plain text, and null in #{...}.
		refuseIf(name.contains("#") || written("name").replace("#{", "").contains("#"), "name",
				"has a '#', although parameters are not known in it: all calls would share one key",
				"Write key = \"#sku\" for what differs from call to call, beside or instead of the name; "
						+ "as plain text, a '#' has to be in quotes in the key");
		return name;
	}

	/**
	 * Return the text of an expression.
	 * @return the expression; empty if the attribute is not set
	 */
	String expression(String attribute) {
		// Resolving #{...} would evaluate the expression now, without arguments.
		refuseIf(written(attribute).contains("#{"), attribute, "has #{...} around an expression",
				"The attribute is an expression already: leave #{ and } out");
		return text(attribute);
	}

	/** Return a positive integer attribute that is given as text. */
	int count(String attribute, int max) {
		refuseIf(written(attribute).contains("#{"), attribute, "has an expression, which is not evaluated here",
				"Write a number, or a placeholder such as ${property:10}");
		NumberFormatException cause = null;
		try {
			int count = Integer.parseInt(resolve(attribute).trim());
			if (count >= 1 && count <= max) {
				return count;
			}
		}
		catch (NumberFormatException ex) {
			cause = ex;
		}
		throw invalidText(attribute, "is not a whole number from 1 to " + max, "Write for example 10").causedBy(cause);
	}

	/** Return a duration, or {@code null} if the attribute is not set. */
	@Nullable Duration duration(String attribute) {
		String resolved = resolve(attribute).trim();
		if (resolved.isEmpty()) {
			return null;
		}
		if (resolved.equals("0")) {
			return Duration.ZERO;
		}
		boolean unit = !resolved.chars().allMatch((c) -> Character.isDigit(c) || c == '+');
		String cure = "Write for example 10s, 500ms or PT10S"
				+ (attribute.equals("waitTime") ? "; or 0 to try once, -1 to wait without limit" : "");
		try {
			Duration duration = DurationFormatterUtils.detectAndParse(resolved);
			if (unit && !duration.isNegative()) {
				return duration;
			}
			throw invalidText(attribute, unit ? "is negative" : "has no unit", cure);
		}
		catch (IllegalArgumentException | ArithmeticException ex) {
			throw invalidText(attribute, "is not a duration", cure).causedBy(ex);
		}
	}

	/** Return the exception for a text attribute, with its resolved placeholders. */
	InvalidDeclarationException invalidText(String attribute, String problem, String cure) {
		String resolved = resolve(attribute).trim();
		return invalid(attribute, (written(attribute).equals(resolved) ? "" : "(" + resolved + ") ") + problem, cure);
	}

	/** Refuse an attribute if a condition is true. */
	void refuseIf(boolean senseless, String attribute, String problem, String cure) {
		if (senseless) {
			throw invalid(attribute, problem, cure);
		}
	}

	/** Return the exception for an attribute. */
	InvalidDeclarationException invalid(String attribute, String problem, String cure) {
		Object value = plain().getValue(attribute).orElseThrow();
		return this.annotatedMethod.invalid(attribute, value, problem, cure);
	}

	private String written(String attribute) {
		return plain().getString(attribute);
	}

	/** Return a text attribute with placeholders resolved, which may be blank. */
	String resolve(String attribute) {
		String text = written(attribute);
		if (text.isEmpty()) {
			return text;
		}
		String resolved;
		try {
			resolved = this.resolver.resolveStringValue(text);
		}
		catch (IllegalArgumentException ex) {
			throw unresolved(attribute).causedBy(ex);
		}
		if (resolved == null) {
			return "";
		}
		// Without a strict configurer, Spring leaves unknown placeholders unresolved.
		if (resolved.contains("${")) {
			throw unresolved(attribute);
		}
		return resolved;
	}

	private InvalidDeclarationException unresolved(String attribute) {
		return invalid(attribute, "has a placeholder that cannot be resolved",
				"Set the property, or write a default into the placeholder, as in ${property:default}");
	}

}
